//! From programs for WASI preview 1 to components for WASI 0.2.

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
};
use wit_component::ComponentEncoder;

/// The same program as a component, made as toolchains make them: with the adapter that gives a program for preview 1
/// its calls. The program must export its memory.
pub(super) fn of(wasm: &[u8]) -> Vec<u8> {
    ComponentEncoder::default()
        .module(wasm)
        .and_then(|encoder| {
            encoder.adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER)
        })
        .and_then(|mut encoder| encoder.encode())
        .unwrap_or_else(|error| panic!("{error:#}"))
}
