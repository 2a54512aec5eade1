//! `set-enforcement-action` as a program of its own.
fn main() -> std::process::ExitCode {
    portico_fn::main_of(set_enforcement_action::program)
}
