//! Compiles the protocol files, without any program besides this one.

use std::error::Error;
use std::path::PathBuf;

const FILES: [&str; 3] = ["evaluator.proto", "portico/v1/failure.proto", "portico/v1/render.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("`OUT_DIR` is not set")?);
    let descriptors = protox::compile(FILES, ["proto"])?;
    // With comments: what the generators of Go's stubs get, see `tests/go_stubs.rs`.
    std::fs::write(out.join("commented.bin"), prost::Message::encode_to_vec(&descriptors))?;
    // What the reflection service tells; standard types included.
    let set = protox::Compiler::new(["proto"])?
        .include_imports(true)
        .include_source_info(false)
        .open_files(FILES)?
        .encode_file_descriptor_set();
    std::fs::write(out.join("descriptors.bin"), set)?;
    tonic_prost_build::configure().bytes(".evaluator").bytes(".portico.v1").compile_fds(descriptors)?;
    Ok(())
}
