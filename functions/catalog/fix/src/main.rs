//! `fix` as a program of its own.
fn main() -> std::process::ExitCode {
    portico_fn::main_of(fix::program)
}
