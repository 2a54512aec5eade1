//! `delete-annotations` as a program of its own.
fn main() -> std::process::ExitCode {
    portico_fn::main_of(delete_annotations::program)
}
