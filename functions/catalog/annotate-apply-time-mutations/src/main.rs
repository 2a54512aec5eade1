//! `annotate-apply-time-mutations` as a program of its own.
fn main() -> std::process::ExitCode {
    portico_fn::main_of(annotate_apply_time_mutations::program)
}
