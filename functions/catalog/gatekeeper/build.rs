//! Gives the WASI program the stack that nested policies and values need.

/// Bytes of stack in the guest's memory: brackets may be 20 levels deep, functions call functions, and objects are
/// up to 500 levels deep.
const STACK: u32 = 8 << 20;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|f| f == "wasm") {
        println!("cargo::rustc-link-arg-bins=-zstack-size={STACK}");
    }
}
