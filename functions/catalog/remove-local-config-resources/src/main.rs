//! `remove-local-config-resources` as a program of its own.
fn main() -> std::process::ExitCode {
    portico_fn::main_of(remove_local_config_resources::program)
}
