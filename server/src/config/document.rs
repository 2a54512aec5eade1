//! One strict YAML document as a value of a type.

use std::path::Path;

use portico_krm::yaml::{DecodeError, ParseLimits, SourceFile, from_tree};
use serde::de::DeserializeOwned;

use super::error::ConfigError;

/// Bytes of a configuration file: far more than anybody writes.
pub const LARGEST: u64 = 1 << 20;

/// The bytes of a configuration file; what is no file or too large is refused before it is read.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, ConfigError> {
    let wrong = |source| ConfigError::Unreadable { path: path.display().to_string(), source };
    let metadata = std::fs::metadata(path).map_err(wrong)?;
    if !metadata.is_file() {
        return Err(wrong(std::io::Error::other("it is no file")));
    }
    if metadata.len() > LARGEST {
        return Err(wrong(std::io::Error::other(format!("it has more than {LARGEST} bytes"))));
    }
    std::fs::read(path).map_err(wrong)
}

/// Reads the one document of a file; `None` where there is none. `path` is how messages name it.
pub fn read_document<T: DeserializeOwned>(path: &str, bytes: &[u8]) -> Result<Option<T>, ConfigError> {
    let limits = ParseLimits { bytes: LARGEST as usize, ..ParseLimits::default() };
    let parsed = SourceFile::parse(bytes, &limits).map_err(|errors| {
        let lines: Vec<String> =
            errors.iter().map(|error| format!("{path}:{}: {}", error.position.line, error.message)).collect();
        ConfigError::Syntax(lines.join("\n"))
    })?;
    let mut documents = parsed.into_documents().into_iter();
    let Some(document) = documents.next() else { return Ok(None) };
    if let Some(second) = documents.next() {
        let line = second.tree.position(second.tree.root()).map_or(0, |at| at.line);
        let text = "a configuration file is one document, and this is a second one".to_owned();
        return Err(ConfigError::Field { path: path.to_owned(), line, text });
    }
    from_tree(&document.tree, document.tree.root()).map(Some).map_err(|error| located(path, &error))
}

/// `FILE:LINE: FIELD: what is wrong`.
fn located(path: &str, error: &DecodeError) -> ConfigError {
    let field = if error.path.is_empty() { String::new() } else { format!("`{}`: ", error.path) };
    ConfigError::Field {
        path: path.to_owned(),
        line: error.position.map_or(1, |at| at.line),
        text: format!("{field}{}{}", error.message, meant(&error.message)),
    }
}

/// What an unknown name may have meant: serde names the unknown one in backticks first, and then those that are known.
fn meant(message: &str) -> String {
    if !message.starts_with("unknown field") && !message.starts_with("unknown variant") {
        return String::new();
    }
    let mut names = message.split('`').skip(1).step_by(2);
    let Some(unknown) = names.next().filter(|name| name.len() <= 100) else { return String::new() };
    nearest(unknown, names).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// The name that is spelt nearly as this one.
pub(crate) fn nearest<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let bound = unknown.len().div_ceil(4).min(3);
    let near = known.map(|name| (strsim::damerau_levenshtein(unknown, name), name)).min()?;
    (near.0 <= bound).then_some(near.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Fields {
        store: u8,
        listen: u8,
    }

    impl Default for Fields {
        fn default() -> Self {
            Fields { store: 1, listen: 2 }
        }
    }

    #[test]
    fn an_unknown_field_has_its_line_and_what_it_may_have_meant() {
        let said = |text: &str| read_document::<Fields>("c.yaml", text.as_bytes()).expect_err(text).to_string();
        let message = said("store: 1\nlistne: 3\n");
        assert!(message.starts_with("c.yaml:2: unknown field `listne`, expected `store` or `listen`"), "{message}");
        assert!(message.ends_with("; did you mean `listen`?"), "{message}");
        assert!(said("workers: 3\n").ends_with("expected `store` or `listen`"));
        let read = read_document::<Fields>("c.yaml", b"store: 3\n").expect("right").expect("a document");
        assert_eq!((read.store, read.listen), (3, 2));
        assert!(read_document::<Fields>("c.yaml", b"# nothing\n").expect("right").is_none());
    }

    #[test]
    fn what_is_no_file_or_too_large_is_not_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let error = read_bytes(directory.path()).expect_err("a directory");
        assert_eq!(std::error::Error::source(&error).expect("a source").to_string(), "it is no file");
        let large = directory.path().join("large.yaml");
        std::fs::write(&large, vec![b'#'; LARGEST as usize + 1]).expect("a file");
        assert!(read_bytes(&large).is_err());
        assert!(read_bytes(&directory.path().join("gone.yaml")).is_err());
    }
}
