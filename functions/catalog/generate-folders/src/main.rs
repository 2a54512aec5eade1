//! `generate-folders` as a program of its own.
fn main() -> std::process::ExitCode {
    portico_fn::main_of(generate_folders::program)
}
