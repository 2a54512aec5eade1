//! `search-replace` as a program of its own.
fn main() -> std::process::ExitCode {
    portico_fn::main_of(search_replace::program)
}
