//! `encoding/json.star`: `encode`, `decode`, `indent`.

use std::fmt::Write as _;

use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::dict::{AllocDict, DictRef};
use starlark::values::list::AllocList;
use starlark::values::structs::StructRef;
use starlark::values::{Heap, Value};

use super::Fault;
use crate::number;

/// How deep a value may be nested to be encoded; a value that holds itself is endless.
const DEPTH: u32 = 300;

#[starlark_module]
pub(super) fn register(module: &mut GlobalsBuilder) {
    /// The value as JSON: no spaces, keys sorted.
    fn encode<'v>(#[starlark(require = pos)] x: Value<'v>, heap: Heap<'v>) -> anyhow::Result<String> {
        let mut out = String::new();
        write_json(x, heap, DEPTH, &mut out)?;
        Ok(out)
    }

    /// The value of a JSON text; `default` where it is no JSON.
    fn decode<'v>(x: &str, default: Option<Value<'v>>, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        match serde_json::from_str(x) {
            Ok(json) => Ok(from_json(&json, heap)),
            Err(error) => default.ok_or_else(|| Fault(format!("json.decode: {error}")).into()),
        }
    }

    /// A JSON text with a line an entry.
    fn indent(
        #[starlark(require = pos)] s: &str,
        #[starlark(require = named, default = "")] prefix: &str,
        #[starlark(require = named, default = "\t")] indent: &str,
    ) -> anyhow::Result<String> {
        let json: serde_json::Value =
            serde_json::from_str(s).map_err(|error| Fault(format!("json.indent: {error}")))?;
        let mut out = String::new();
        write_indented(&json, prefix, indent, 0, &mut out);
        Ok(out)
    }
}

/// A decoded JSON text as values; its depth is bounded by the decoder.
pub(crate) fn from_json<'v>(json: &serde_json::Value, heap: Heap<'v>) -> Value<'v> {
    match json {
        serde_json::Value::Null => Value::new_none(),
        serde_json::Value::Bool(b) => Value::new_bool(*b),
        serde_json::Value::Number(n) => {
            let text = n.to_string();
            number::json_number(&text, heap).unwrap_or_else(|| heap.alloc(text))
        }
        serde_json::Value::String(s) => heap.alloc(s.as_str()),
        serde_json::Value::Array(elements) => heap.alloc(AllocList(elements.iter().map(|e| from_json(e, heap)))),
        serde_json::Value::Object(fields) => {
            heap.alloc(AllocDict(fields.iter().map(|(k, v)| (k.as_str(), from_json(v, heap)))))
        }
    }
}

/// A string in double quotes.
pub(super) fn write_string(text: &str, out: &mut String) {
    // a string always has a JSON form
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

fn write_json<'v>(value: Value<'v>, heap: Heap<'v>, depth: u32, out: &mut String) -> Result<(), Fault> {
    let refuse = |what: &str| Fault(format!("json.encode: {what}"));
    let Some(depth) = depth.checked_sub(1) else {
        return Err(refuse(&format!("value is nested more than {DEPTH} levels deep; does it hold itself?")));
    };
    if value.is_none() {
        out.push_str("null");
    } else if let Some(b) = value.unpack_bool() {
        out.push_str(if b { "true" } else { "false" });
    } else if let Some(text) = value.unpack_str() {
        write_string(text, out);
    } else if let Some(digits) = number::int_text(value) {
        out.push_str(&digits);
    } else if let Some(float) = number::float(value) {
        if !float.is_finite() {
            return Err(refuse(&format!("cannot encode non-finite float {value}")));
        }
        let _ = write!(out, "{value}");
    } else if let Some(dict) = DictRef::from_value(value) {
        let mut fields = Vec::with_capacity(dict.len());
        for (key, value) in dict.iter() {
            let Some(text) = key.unpack_str() else {
                return Err(refuse(&format!("dict has {} key, want string", key.get_type())));
            };
            fields.push((text, value));
        }
        write_fields(fields, heap, depth, out)?;
    } else if let Some(fields) = StructRef::from_value(value) {
        write_fields(fields.iter().map(|(k, v)| (k.as_str(), v)).collect(), heap, depth, out)?;
    } else {
        let elements =
            value.iterate(heap).map_err(|_| refuse(&format!("cannot encode {} as JSON", value.get_type())))?;
        out.push('[');
        for (i, element) in elements.enumerate() {
            if i > 0 {
                out.push(',');
            }
            write_json(element, heap, depth, out)?;
        }
        out.push(']');
    }
    Ok(())
}

fn write_fields<'v>(
    mut fields: Vec<(&str, Value<'v>)>,
    heap: Heap<'v>,
    depth: u32,
    out: &mut String,
) -> Result<(), Fault> {
    fields.sort_by_key(|(key, _)| *key);
    out.push('{');
    for (i, (key, value)) in fields.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        write_string(key, out);
        out.push(':');
        write_json(value, heap, depth, out)?;
    }
    out.push('}');
    Ok(())
}

/// As Go's `json.Indent`: keys stay in their order, empty collections on one line.
fn write_indented(json: &serde_json::Value, prefix: &str, indent: &str, level: usize, out: &mut String) {
    let line = |level: usize, out: &mut String| {
        out.push('\n');
        out.push_str(prefix);
        out.extend(std::iter::repeat_n(indent, level));
    };
    match json {
        serde_json::Value::Array(elements) if !elements.is_empty() => {
            out.push('[');
            for (i, element) in elements.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                line(level + 1, out);
                write_indented(element, prefix, indent, level + 1, out);
            }
            line(level, out);
            out.push(']');
        }
        serde_json::Value::Object(fields) if !fields.is_empty() => {
            out.push('{');
            for (i, (key, value)) in fields.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                line(level + 1, out);
                write_string(key, out);
                out.push_str(": ");
                write_indented(value, prefix, indent, level + 1, out);
            }
            line(level, out);
            out.push('}');
        }
        scalar => {
            let _ = write!(out, "{scalar}");
        }
    }
}
