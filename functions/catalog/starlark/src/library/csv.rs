//! `encoding/csv.star`: `read_all`, `write_all`.

use csv::{ReaderBuilder, Terminator, Trim, WriterBuilder};
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::{Heap, Value};

use super::Fault;

/// The one ASCII character that a parameter asks for; `None` where it is empty.
fn ascii(parameter: &str, text: &str) -> Result<Option<u8>, Fault> {
    match text.as_bytes() {
        [] => Ok(None),
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r' | b'"') => Ok(Some(*byte)),
        _ => Err(Fault(format!("csv: expected parameter \"{parameter}\" to be one ASCII character, got \"{text}\""))),
    }
}

#[starlark_module]
pub(super) fn register(module: &mut GlobalsBuilder) {
    /// Rows of a text, each a list of strings.
    fn read_all(
        source: &str,
        #[starlark(default = ",")] comma: &str,
        #[starlark(default = "")] comment: &str,
        #[starlark(default = false)] lazy_quotes: bool,
        #[starlark(default = false)] trim_leading_space: bool,
        #[starlark(default = 0)] fields_per_record: i32,
        #[starlark(default = 0)] skip: i32,
        #[starlark(default = 0)] limit: i32,
    ) -> anyhow::Result<Vec<Vec<String>>> {
        // the reader takes stray quotes as they come, so that lazy quotes are always on
        let _ = lazy_quotes;
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .delimiter(ascii("comma", comma)?.unwrap_or(b','))
            .comment(ascii("comment", comment)?)
            .flexible(true)
            .trim(if trim_leading_space { Trim::All } else { Trim::None })
            .from_reader(source.as_bytes());
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut width = usize::try_from(fields_per_record).unwrap_or(0);
        for (i, record) in reader.records().enumerate() {
            let record = record.map_err(|e| Fault(format!("csv.read_all: {e}")))?;
            if fields_per_record >= 0 {
                if width == 0 {
                    width = record.len();
                }
                if record.len() != width {
                    let line = record.position().map_or(i as u64 + 1, csv::Position::line);
                    return Err(Fault(format!("csv.read_all: record on line {line}: wrong number of fields")).into());
                }
            }
            if i < usize::try_from(skip).unwrap_or(0) {
                continue;
            }
            if usize::try_from(limit).is_ok_and(|limit| limit > 0 && rows.len() == limit) {
                break;
            }
            rows.push(record.iter().map(str::to_owned).collect());
        }
        Ok(rows)
    }

    /// The text of rows, each a list of values.
    fn write_all<'v>(
        source: Value<'v>,
        #[starlark(default = ",")] comma: &str,
        heap: Heap<'v>,
    ) -> starlark::Result<String> {
        let delimiter = ascii("comma", comma).map_err(starlark::Error::new_native)?.unwrap_or(b',');
        let mut writer = WriterBuilder::new()
            .delimiter(delimiter)
            .flexible(true)
            .terminator(Terminator::Any(b'\n'))
            .from_writer(Vec::new());
        for row in source.iterate(heap)? {
            let fields: Vec<String> = row.iterate(heap)?.map(Value::to_str).collect();
            writer.write_record(&fields).map_err(starlark::Error::new_native)?;
        }
        let bytes =
            writer.into_inner().map_err(|e| starlark::Error::new_native(Fault(format!("csv.write_all: {e}"))))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
