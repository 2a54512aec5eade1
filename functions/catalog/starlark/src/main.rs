//! `starlark` as a program of its own.
fn main() -> std::process::ExitCode {
    portico_fn::main_of(|input| portico_starlark::program(&input))
}
