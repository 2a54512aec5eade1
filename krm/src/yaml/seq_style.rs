//! How a document writes sequences, found in its text as kyaml does.

/// Where the `-` of a sequence under a key stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SeqStyle {
    /// At the column of the key.
    #[default]
    Compact,
    /// Two columns further.
    Wide,
}

impl SeqStyle {
    /// The value of the annotation `internal.config.kubernetes.io/seqindent`.
    pub fn as_str(self) -> &'static str {
        match self {
            SeqStyle::Compact => "compact",
            SeqStyle::Wide => "wide",
        }
    }

    /// The style of a document: that of the first `- ` below a line `key:` at the same column or two more.
    pub fn of(document: &str) -> SeqStyle {
        // The part before any `#` of the last line that is no comment.
        let mut above = "";
        let bytes = document.as_bytes();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]) {
            let line = &document[start..end];
            start = end + 1;
            let unindented = line.trim_start_matches(' ');
            if unindented.starts_with("- ") && !above.is_empty() {
                let key = above.trim_matches(' ');
                if key.ends_with(':') && key.bytes().filter(|b| *b == b':').count() == 1 {
                    let column = above.len() - above.trim_start_matches(' ').len();
                    let offset = (line.len() - unindented.len()).checked_sub(column);
                    match offset {
                        Some(0) => return SeqStyle::Compact,
                        Some(2) => return SeqStyle::Wide,
                        _ => {}
                    }
                }
            }
            if !unindented.starts_with('#') {
                above = &line[..memchr::memchr(b'#', line.as_bytes()).unwrap_or(line.len())];
            }
        }
        SeqStyle::Compact
    }
}
