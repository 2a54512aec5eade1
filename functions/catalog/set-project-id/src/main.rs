//! `set-project-id` as a program of its own.
fn main() -> std::process::ExitCode {
    portico_fn::main_of(set_project_id::program)
}
