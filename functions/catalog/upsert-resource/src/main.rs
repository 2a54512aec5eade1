//! `upsert-resource` as a program of its own.
fn main() -> std::process::ExitCode {
    portico_fn::main_of(upsert_resource::program)
}
