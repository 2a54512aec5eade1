//! Where `print` writes.

use std::cell::RefCell;
use std::io::Write as _;

use starlark::any::ProvidesStaticType;

/// Where `print` writes: one line a call.
pub trait Printer {
    /// Writes a line; `text` comes without its line feed and may hold others.
    fn print_line(&self, text: &str);
}

/// The standard error of the process. A line that can't be written is lost: the script does not fail for it.
pub(crate) struct Stderr;

impl Printer for Stderr {
    fn print_line(&self, text: &str) {
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }
}

impl Printer for RefCell<Vec<String>> {
    fn print_line(&self, text: &str) {
        self.borrow_mut().push(text.to_owned());
    }
}

/// Hands the printer to the builtins, through the evaluator.
#[derive(ProvidesStaticType)]
pub(crate) struct Print<'p>(pub(crate) &'p dyn Printer);
