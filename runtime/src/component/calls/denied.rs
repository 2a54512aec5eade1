//! What functions do not get: files and sockets. The interfaces are there, so that programs link; whoever asks for a
//! directory is shown none, and whoever asks for a socket is refused. So there is nothing that a method of theirs could be
//! called on, and nothing behind the methods.

use wasmtime::component::{Linker, LinkerInstance, Resource, ResourceType};
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, IpAddressFamily};

use super::{Guest, define, interface};
use crate::component::world::World;

/// Of these there are none.
enum Descriptor {}
enum DirectoryEntries {}
enum TcpSocket {}
enum UdpSocket {}
enum IncomingDatagrams {}
enum OutgoingDatagrams {}
enum Addresses {}

/// A network is only a name for what may be done with it: nothing.
struct Network;

const DESCRIPTOR: [&str; 27] = [
    "advise",
    "append-via-stream",
    "create-directory-at",
    "get-flags",
    "get-type",
    "is-same-object",
    "link-at",
    "metadata-hash",
    "metadata-hash-at",
    "open-at",
    "read",
    "read-directory",
    "read-via-stream",
    "readlink-at",
    "remove-directory-at",
    "rename-at",
    "set-size",
    "set-times",
    "set-times-at",
    "stat",
    "stat-at",
    "symlink-at",
    "sync",
    "sync-data",
    "unlink-file-at",
    "write",
    "write-via-stream",
];

const TCP_SOCKET: [&str; 28] = [
    "accept",
    "address-family",
    "finish-bind",
    "finish-connect",
    "finish-listen",
    "hop-limit",
    "is-listening",
    "keep-alive-count",
    "keep-alive-enabled",
    "keep-alive-idle-time",
    "keep-alive-interval",
    "local-address",
    "receive-buffer-size",
    "remote-address",
    "send-buffer-size",
    "set-hop-limit",
    "set-keep-alive-count",
    "set-keep-alive-enabled",
    "set-keep-alive-idle-time",
    "set-keep-alive-interval",
    "set-listen-backlog-size",
    "set-receive-buffer-size",
    "set-send-buffer-size",
    "shutdown",
    "start-bind",
    "start-connect",
    "start-listen",
    "subscribe",
];

const UDP_SOCKET: [&str; 13] = [
    "address-family",
    "finish-bind",
    "local-address",
    "receive-buffer-size",
    "remote-address",
    "send-buffer-size",
    "set-receive-buffer-size",
    "set-send-buffer-size",
    "set-unicast-hop-limit",
    "start-bind",
    "stream",
    "subscribe",
    "unicast-hop-limit",
];

pub(super) fn add(linker: &mut Linker<World>) -> wasmtime::Result<()> {
    let mut types = interface(linker, "filesystem/types")?;
    unmade::<Descriptor>(&mut types, "descriptor", &DESCRIPTOR)?;
    unmade::<DirectoryEntries>(&mut types, "directory-entry-stream", &["read-directory-entry"])?;
    // About an error of a stream, and no stream of ours fails.
    types.func_new("filesystem-error-code", |_, _, _, _| Err(nothing()))?;
    define(&mut interface(linker, "filesystem/preopens")?, "get-directories", |_: &mut Guest<'_>, ()| {
        Ok((Vec::<(Resource<Descriptor>, String)>::new(),))
    })?;

    unmade::<TcpSocket>(&mut interface(linker, "sockets/tcp")?, "tcp-socket", &TCP_SOCKET)?;
    define(
        &mut interface(linker, "sockets/tcp-create-socket")?,
        "create-tcp-socket",
        |_: &mut Guest<'_>, (_,): (IpAddressFamily,)| Ok((Err::<Resource<TcpSocket>, _>(ErrorCode::AccessDenied),)),
    )?;

    let mut udp = interface(linker, "sockets/udp")?;
    unmade::<UdpSocket>(&mut udp, "udp-socket", &UDP_SOCKET)?;
    unmade::<IncomingDatagrams>(&mut udp, "incoming-datagram-stream", &["receive", "subscribe"])?;
    unmade::<OutgoingDatagrams>(&mut udp, "outgoing-datagram-stream", &["check-send", "send", "subscribe"])?;
    define(
        &mut interface(linker, "sockets/udp-create-socket")?,
        "create-udp-socket",
        |_: &mut Guest<'_>, (_,): (IpAddressFamily,)| Ok((Err::<Resource<UdpSocket>, _>(ErrorCode::AccessDenied),)),
    )?;

    interface(linker, "sockets/network")?.resource(
        "network",
        ResourceType::host::<Network>(),
        |mut guest, network| {
            guest.data_mut().table.delete(Resource::<Network>::new_own(network)).map(drop)?;
            Ok(())
        },
    )?;
    define(&mut interface(linker, "sockets/instance-network")?, "instance-network", |guest: &mut Guest<'_>, ()| {
        Ok((guest.data_mut().table.push(Network)?,))
    })?;

    let mut lookup = interface(linker, "sockets/ip-name-lookup")?;
    unmade::<Addresses>(&mut lookup, "resolve-address-stream", &["resolve-next-address", "subscribe"])?;
    define(&mut lookup, "resolve-addresses", |_: &mut Guest<'_>, _: (Resource<Network>, String)| {
        Ok((Err::<Resource<Addresses>, _>(ErrorCode::AccessDenied),))
    })?;
    Ok(())
}

/// A resource that nothing here makes, with its methods.
fn unmade<T: 'static>(
    interface: &mut LinkerInstance<'_, World>,
    resource: &str,
    methods: &[&str],
) -> wasmtime::Result<()> {
    interface.resource(resource, ResourceType::host::<T>(), |_, _| Ok(()))?;
    for method in methods {
        interface.func_new(&format!("[method]{resource}.{method}"), |_, _, _, _| Err(nothing()))?;
    }
    Ok(())
}

fn nothing() -> wasmtime::Error {
    wasmtime::Error::msg("there is nothing that this could be called on")
}
