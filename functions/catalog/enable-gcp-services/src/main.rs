//! `enable-gcp-services` as a program of its own.
fn main() -> std::process::ExitCode {
    portico_fn::main_of(enable_gcp_services::program)
}
