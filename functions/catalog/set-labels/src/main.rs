//! `set-labels` as a program of its own.
fn main() -> std::process::ExitCode {
    portico_fn::main_of(set_labels::program)
}
