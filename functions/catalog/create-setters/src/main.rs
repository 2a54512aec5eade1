//! `create-setters` as a program of its own.
fn main() -> std::process::ExitCode {
    portico_fn::main_of(create_setters::program)
}
