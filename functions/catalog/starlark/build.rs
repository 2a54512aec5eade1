//! Gives the WASI program the stack that its limits are measured for.

/// Bytes of stack in the guest's memory: enough for `syntax::NESTING`, `eval::CALLS` and `convert::DEPTH` at once.
const STACK: u32 = 4 << 20;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|f| f == "wasm") {
        println!("cargo::rustc-link-arg-bins=-zstack-size={STACK}");
    }
}
