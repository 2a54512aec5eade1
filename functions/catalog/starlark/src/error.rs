//! What goes wrong with a script, in the words of the upstream function.

use std::fmt::Write as _;

use starlark::ErrorKind;
use starlark::values::ValueError;

/// Why a script gave no resources.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ScriptError {
    /// The text of the result.
    pub message: String,
    /// Where in the script it happened, innermost call last; for stderr. None where the message says it, or where
    /// the script itself chose the message (`fail`).
    pub trace: Option<String>,
}

impl ScriptError {
    pub(crate) fn new(message: impl Into<String>) -> ScriptError {
        ScriptError { message: message.into(), trace: None }
    }

    pub(crate) fn syntax(script: &str, at: &str, message: impl AsRef<str>) -> ScriptError {
        ScriptError::new(format!("{script}:{at}: {}", message.as_ref()))
    }

    /// A refusal of the evaluator's parser that the recogniser had nothing to say about.
    pub(crate) fn from_parser(script: &str, error: &starlark::Error) -> ScriptError {
        let at = position(error).unwrap_or_else(|| "1:1".to_owned());
        let text = error.without_diagnostic().to_string();
        ScriptError::syntax(script, &at, text.strip_prefix("Parse error: ").unwrap_or(&text))
    }

    /// An error of a running script.
    pub(crate) fn from_evaluator(script: &str, error: &starlark::Error) -> ScriptError {
        let message = in_go_words(error.kind());
        match error.kind() {
            ErrorKind::Fail(_) => ScriptError::new(message),
            // resolved before the first statement runs: Go gives the place in the message
            ErrorKind::Scope(_) | ErrorKind::Parser(_) => {
                let at = position(error).unwrap_or_else(|| "1:1".to_owned());
                ScriptError::syntax(script, &at, message)
            }
            _ => {
                let trace = trace(script, error, &message);
                ScriptError { message, trace: Some(trace) }
            }
        }
    }
}

/// `line:column` of an error, both from 1.
fn position(error: &starlark::Error) -> Option<String> {
    let begin = error.span()?.resolve_span().begin;
    Some(format!("{}:{}", begin.line + 1, begin.column + 1))
}

/// How many frames of a call stack are shown at each end.
const FRAMES: usize = 8;

/// The calls that led to an error, in the form of Go's evaluator.
fn trace(script: &str, error: &starlark::Error, message: &str) -> String {
    let mut out = "Traceback (most recent call last):".to_owned();
    let frames = error.call_stack().clone().into_frames();
    let mut caller = "<toplevel>".to_owned();
    for (i, frame) in frames.iter().enumerate() {
        if i == FRAMES && frames.len() > 2 * FRAMES {
            let _ = write!(out, "\n  … {} more calls …", frames.len() - 2 * FRAMES);
        }
        let shown = i < FRAMES || i + FRAMES >= frames.len();
        if shown && let Some(location) = &frame.location {
            let begin = location.resolve_span().begin;
            let _ = write!(out, "\n  {script}:{}:{}: in {caller}", begin.line + 1, begin.column + 1);
        }
        // the evaluator names functions as `script.function`
        frame.name.rsplit('.').next().unwrap_or_default().clone_into(&mut caller);
    }
    if let Some(at) = position(error) {
        let _ = write!(out, "\n  {script}:{at}: in {caller}");
    }
    let _ = write!(out, "\nError: {message}");
    out
}

/// The evaluator's message as Go's evaluator words it.
fn in_go_words(kind: &ErrorKind) -> String {
    match kind {
        ErrorKind::Fail(error) => format!("fail:{error}"),
        ErrorKind::StackOverflow(_) => {
            format!("starlark call stack overflow: more than {} calls are active at once", crate::eval::CALLS)
        }
        ErrorKind::Value(error)
        | ErrorKind::Function(error)
        | ErrorKind::Scope(error)
        | ErrorKind::Parser(error)
        | ErrorKind::Freeze(error)
        | ErrorKind::Native(error)
        | ErrorKind::Other(error) => match error.downcast_ref::<ValueError>() {
            Some(error) => value_error(error),
            None => reworded(&error.to_string()),
        },
        other => other.to_string(),
    }
}

fn value_error(error: &ValueError) -> String {
    match error {
        ValueError::KeyNotFound(key) => format!("key {key} not in dict"),
        ValueError::IndexOutOfBound(index) => format!("index {index} out of range"),
        ValueError::OperationNotSupported { op, typ } => match op.as_str() {
            "call()" => format!("invalid call of non-function ({typ})"),
            "(iter)" => format!("{typ} value is not iterable"),
            "len()" => format!("len: value of type {typ} has no len"),
            "[::]" | "[,]" => format!("invalid slice operand {typ}"),
            "+" | "-" | "~" => format!("unknown unary op: {op}{typ}"),
            _ if op.starts_with('.') => format!("{typ} has no {op} field or method"),
            _ => format!("{op} is not supported by {typ}"),
        },
        ValueError::OperationNotSupportedBinary { op, left, right } => match op.as_str() {
            "[]" => format!("unhandled index operation {left}[{right}]"),
            "compare" | "cmp()" | "<>" => format!("{left} < {right} not implemented"),
            _ => format!("unknown binary op: {left} {op} {right}"),
        },
        ValueError::DivisionByZero => "floored division by zero".to_owned(),
        ValueError::NoAttr(typ, name) => format!("{typ} has no .{name} field or method"),
        ValueError::NoAttrDidYouMean(typ, name, near) => {
            format!("{typ} has no .{name} field or method (did you mean .{near}?)")
        }
        ValueError::NegativeShiftCount => "negative shift count".to_owned(),
        ValueError::CannotMutateImmutableValue => "cannot change a frozen value".to_owned(),
        ValueError::MutationDuringIteration => "cannot change a collection during iteration".to_owned(),
        other => reworded(&other.to_string()),
    }
}

/// Messages whose types the evaluator keeps to itself, told by their shape.
fn reworded(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    match parts.as_slice() {
        ["Variable ", name, " not found"] => format!("undefined: {name}"),
        ["Variable ", name, " not found, did you mean ", near, "?"] => {
            format!("undefined: {name} (did you mean {near}?)")
        }
        ["Local variable ", name, " referenced before assignment"] => {
            format!("local variable {name} referenced before assignment")
        }
        ["Module variable is not set: ", name, ""] => format!("global variable {name} referenced before assignment"),
        ["Value of type ", typ, " is not hashable"] => format!("unhashable type: {typ}"),
        ["Module has no symbol ", name, rest @ ..] => match rest {
            [", did you mean ", near, "?"] => format!("load: name {name} not found in module (did you mean {near}?)"),
            _ => format!("load: name {name} not found in module"),
        },
        ["Argument ", name, " occurs more than once"] => format!("got multiple values for parameter \"{name}\""),
        ["Missing required parameter ", name, rest @ ..] => match rest {
            [" for call to ", function, ..] => format!("function {function} missing argument for {name}"),
            _ => format!("missing argument for {name}"),
        },
        ["Key ", key, " was not found"] => format!("key {key} not in dict"),
        _ => reworded_plain(text),
    }
}

fn reworded_plain(text: &str) -> String {
    if let Some(rest) = text.strip_prefix("Unpacked ")
        && let Some((got, want)) = rest.split_once(" values but expected ")
        && let (Ok(got), Ok(want)) = (got.parse::<i64>(), want.parse::<i64>())
    {
        let which = if got > want { "too many" } else { "not enough" };
        return format!("{which} values to unpack (got {got}, want {want})");
    }
    if text.starts_with("float division by zero") {
        return "floating-point division by zero".to_owned();
    }
    if text.starts_with("Floor division by zero") {
        return "floored division by zero".to_owned();
    }
    if text.starts_with("Modulo by zero") {
        return "integer modulo by zero".to_owned();
    }
    text.to_owned()
}
