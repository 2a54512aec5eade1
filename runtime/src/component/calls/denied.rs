//! What functions do not get: files and sockets. The interfaces are there, so that programs link; whoever asks for a
//! directory is shown none, and whoever asks for a socket is refused. The methods of both come from wasmtime-wasi and are
//! out of reach, since nothing here makes anything that they could be called on.

use wasmtime::component::{Linker, Resource, ResourceType};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystem};
use wasmtime_wasi::p2::bindings::sockets::ip_name_lookup::ResolveAddressStream;
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, IpAddress, IpAddressFamily};
use wasmtime_wasi::p2::bindings::{filesystem, sockets};
use wasmtime_wasi::p2::{DynPollable, Network, TcpSocket, UdpSocket};
use wasmtime_wasi::sockets::WasiSockets;

use super::{Guest, define, interface};
use crate::component::world::World;

/// Answers to a name, of which there are none.
type Stream = Resource<ResolveAddressStream>;

pub(super) fn add(linker: &mut Linker<World>) -> wasmtime::Result<()> {
    filesystem::types::add_to_linker::<World, WasiFilesystem>(linker, World::files)?;
    let mut preopens = interface(linker, "filesystem/preopens")?;
    define(&mut preopens, "get-directories", |_: &mut Guest<'_>, ()| {
        Ok((Vec::<(Resource<Descriptor>, String)>::new(),))
    })?;

    let options = sockets::network::LinkOptions::default();
    sockets::network::add_to_linker::<World, WasiSockets>(linker, &options, World::sockets)?;
    sockets::tcp::add_to_linker::<World, WasiSockets>(linker, World::sockets)?;
    sockets::udp::add_to_linker::<World, WasiSockets>(linker, World::sockets)?;

    let mut tcp = interface(linker, "sockets/tcp-create-socket")?;
    define(&mut tcp, "create-tcp-socket", |_: &mut Guest<'_>, (_,): (IpAddressFamily,)| {
        Ok((Err::<Resource<TcpSocket>, _>(ErrorCode::AccessDenied),))
    })?;
    let mut udp = interface(linker, "sockets/udp-create-socket")?;
    define(&mut udp, "create-udp-socket", |_: &mut Guest<'_>, (_,): (IpAddressFamily,)| {
        Ok((Err::<Resource<UdpSocket>, _>(ErrorCode::AccessDenied),))
    })?;

    // A network is only a name for what may be done with it: nothing.
    let mut instance = interface(linker, "sockets/instance-network")?;
    define(&mut instance, "instance-network", |guest: &mut Guest<'_>, ()| {
        Ok((sockets::instance_network::Host::instance_network(&mut guest.data_mut().sockets())?,))
    })?;

    let mut lookup = interface(linker, "sockets/ip-name-lookup")?;
    lookup.resource("resolve-address-stream", ResourceType::host::<ResolveAddressStream>(), |_, _| Ok(()))?;
    define(&mut lookup, "resolve-addresses", |_: &mut Guest<'_>, _: (Resource<Network>, String)| {
        Ok((Err::<Stream, _>(ErrorCode::AccessDenied),))
    })?;
    define(&mut lookup, "[method]resolve-address-stream.resolve-next-address", |_: &mut Guest<'_>, _: (Stream,)| {
        Ok((Err::<Option<IpAddress>, _>(ErrorCode::AccessDenied),))
    })?;
    define(&mut lookup, "[method]resolve-address-stream.subscribe", |_: &mut Guest<'_>, _: (Stream,)| {
        Err::<(Resource<DynPollable>,), _>(wasmtime::Error::msg("there is no name lookup to wait for"))
    })?;
    Ok(())
}
