//! From bytes to bytes: what surrounds a function.

use std::io::{Read, Write};
use std::process::ExitCode;

use portico_krm::yaml::ParseLimits;
use portico_krm::{ResourceList, ResourceListError, ResourceListFault};

/// Whether the function is content with the package. Both answers write the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Exit code 0.
    Pass,
    /// Exit code 1; the results should say why.
    Fail,
}

impl From<bool> for Verdict {
    fn from(pass: bool) -> Verdict {
        if pass { Verdict::Pass } else { Verdict::Fail }
    }
}

/// Anything that ends a function early; its text goes to stderr. Messages about the package belong into the results
/// of the list instead.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// A function: it reads and edits a list. Closures of that form are functions.
pub trait Processor {
    /// Does the work. The list is written whatever comes back.
    fn process(&self, list: &mut ResourceList) -> Result<Verdict, Error>;
}

impl<F> Processor for F
where
    F: Fn(&mut ResourceList) -> Result<Verdict, Error>,
{
    fn process(&self, list: &mut ResourceList) -> Result<Verdict, Error> {
        self(list)
    }
}

/// What a run of a function gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The `ResourceList`; empty when the input was none.
    pub stdout: Vec<u8>,
    /// One line when the function failed, else empty.
    pub stderr: String,
    /// 0 or 1.
    pub exit_code: u8,
}

/// Runs a function on the bytes of a `ResourceList`, as [`as_main`] does. Bytes that are given away are freed early.
pub fn run(function: &impl Processor, input: impl AsRef<[u8]>) -> Output {
    let mut list = match parse(input) {
        Ok(list) => list,
        Err(refused) => return refused,
    };
    let verdict = function.process(&mut list);
    sort_items(&mut list);
    let stdout = list.to_yaml().into();
    match verdict {
        Ok(Verdict::Pass) => Output { stdout, stderr: String::new(), exit_code: 0 },
        Ok(Verdict::Fail) => Output { stdout, stderr: failure(&"error: function failure"), exit_code: 1 },
        Err(error) => Output { stdout, stderr: failure(&error), exit_code: 1 },
    }
}

/// Like [`run`], with the manners of the older framework that part of the catalog is written with: the items keep their
/// order, and stderr tells the error results of a failure, a line each (`[error]: message`).
pub fn run_in_order(function: &impl Processor, input: impl AsRef<[u8]>) -> Output {
    let mut list = match parse(input) {
        Ok(list) => list,
        Err(refused) => return refused,
    };
    let verdict = function.process(&mut list);
    let stdout = list.to_yaml().into();
    match verdict {
        Ok(Verdict::Pass) => Output { stdout, stderr: String::new(), exit_code: 0 },
        Ok(Verdict::Fail) => {
            let errors = list.results.iter().filter(|result| result.is_error());
            let stderr = errors.fold(String::new(), |lines, error| lines + &error.to_string() + "\n");
            Output { stdout, stderr, exit_code: 1 }
        }
        Err(error) => Output { stdout, stderr: failure(&error), exit_code: 1 },
    }
}

/// Like [`run_in_order`], with the manners of the TypeScript SDK: a function that finds fault with the package says so
/// in its results alone, and stderr stays empty.
pub fn run_silently(function: &impl Processor, input: impl AsRef<[u8]>) -> Output {
    let found_fault = std::cell::Cell::new(false);
    let watched = |list: &mut ResourceList| {
        let verdict = function.process(list)?;
        found_fault.set(verdict == Verdict::Fail);
        Ok(verdict)
    };
    let output = run_in_order(&watched, input);
    if found_fault.get() { Output { stderr: String::new(), ..output } } else { output }
}

fn parse(input: impl AsRef<[u8]>) -> Result<ResourceList, Output> {
    ResourceList::parse(input, &ParseLimits::UNBOUNDED).map_err(|error| Output {
        stdout: Vec::new(),
        stderr: failure(&refusal(&error)),
        exit_code: 1,
    })
}

/// Another kind is told in the very words of the Go SDK, anything else with its place.
fn refusal(error: &ResourceListError) -> String {
    match &error.fault {
        fault @ ResourceListFault::UnexpectedKind(_) => fault.to_string(),
        _ => error.to_string(),
    }
}

fn failure(error: &dyn std::fmt::Display) -> String {
    format!("failed to evaluate function: {error}\n")
}

/// Sorts the items as the Go SDK does, by the text `apiVersion kind namespace name`; equal ones keep their order.
/// Files do not follow this order (the orchestrator places items by path and index), raw output does.
fn sort_items(list: &mut ResourceList) {
    list.items.sort_by_cached_key(|item| {
        format!("{} {} {} {}", item.api_version(), item.kind(), item.namespace(), item.name())
    });
}

/// A function from bytes to bytes; what [`run`] makes of a [`Processor`].
pub type Program = fn(Vec<u8>) -> Output;

/// The `main` of a function: `ResourceList` on stdin, `ResourceList` on stdout, a failure as one line on stderr and
/// exit code 1. The list is written even when the function failed.
pub fn as_main(function: &impl Processor) -> ExitCode {
    main_of(|input| run(function, input))
}

/// The `main` of a program that works on bytes.
pub fn main_of(program: impl FnOnce(Vec<u8>) -> Output) -> ExitCode {
    let mut input = Vec::new();
    let output = match std::io::stdin().lock().read_to_end(&mut input) {
        Ok(_) => program(input),
        Err(error) => Output { stdout: Vec::new(), stderr: failure(&error), exit_code: 1 },
    };
    let written = write_all(std::io::stdout().lock(), &output.stdout);
    let told = write_all(std::io::stderr().lock(), output.stderr.as_bytes());
    if written.and(told).is_err() {
        return ExitCode::FAILURE;
    }
    ExitCode::from(output.exit_code)
}

fn write_all(mut stream: impl Write, bytes: &[u8]) -> std::io::Result<()> {
    stream.write_all(bytes)?;
    stream.flush()
}
