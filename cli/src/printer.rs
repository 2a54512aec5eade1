//! Who may print what, where: data on standard output, everything else on standard error.

use std::io::{IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use anyhow::Context;

use crate::args::{Color, MessageArgs, Progress};

/// Writes messages.
pub(crate) struct Printer {
    /// The kind of progress; `Auto` is resolved.
    pub(crate) progress: Progress,
    color: bool,
    quiet: bool,
    pub(crate) verbose: u8,
    /// kpt's lines come first, our details behind them.
    pub(crate) kpt_words: bool,
}

const GREEN: Style = AnsiColor::Green.on_default();
const RED: Style = AnsiColor::Red.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();

impl Printer {
    pub(crate) fn new(arguments: &MessageArgs, kpt_words: bool) -> Printer {
        let terminal = std::io::stderr().is_terminal();
        let color = match arguments.color {
            Color::Always => true,
            Color::Never => false,
            // https://no-color.org
            Color::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        };
        let progress = if arguments.progress == Progress::Auto { Progress::Plain } else { arguments.progress };
        Printer { progress, color, quiet: arguments.quiet, verbose: arguments.verbose, kpt_words }
    }

    /// True where lines of progress are wanted as text.
    pub(crate) fn plain(&self) -> bool {
        self.progress == Progress::Plain && !self.quiet
    }

    /// True where progress is wanted as JSON.
    pub(crate) fn json(&self) -> bool {
        self.progress == Progress::Json
    }

    /// A line of progress.
    pub(crate) fn line(&self, text: &str) {
        if self.plain() {
            write_stderr(&format!("{}\n", visible(text)));
        }
    }

    /// A line that begins with a word in brackets, which is coloured.
    pub(crate) fn tagged(&self, tag: &str, text: &str) {
        if !self.plain() {
            return;
        }
        let style = match tag {
            "PASS" => GREEN,
            "FAIL" => RED,
            "WARN" | "SKIP" | "SKIPPED" => YELLOW,
            _ => Style::new(),
        };
        let text = visible(text);
        if self.color {
            write_stderr(&format!("{style}[{tag}]{style:#} {text}\n"));
        } else {
            write_stderr(&format!("[{tag}] {text}\n"));
        }
    }

    /// Something to tell that is no error.
    pub(crate) fn warning(&self, text: &str) {
        if self.json() {
            self.object(&serde_json::json!({"event": "warning", "message": text}));
        } else {
            self.tagged("WARN", text);
        }
    }

    /// One JSON object on a line of its own.
    pub(crate) fn object(&self, value: &serde_json::Value) {
        if self.json() {
            write_stderr(&format!("{value}\n"));
        }
    }

    /// An error; printed whatever the verbosity, unless progress is JSON, which then carries it.
    pub(crate) fn error(&self, text: &str) {
        if self.json() {
            let message = text.strip_prefix("error: ").unwrap_or(text);
            self.object(&serde_json::json!({"event": "error", "message": message}));
        } else if self.color {
            write_stderr(&format!("{RED}{}{RED:#}\n", visible(text)));
        } else {
            write_stderr(&format!("{}\n", visible(text)));
        }
    }
}

/// Characters that a terminal acts on or that turn the direction of text around.
fn acts(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') || (c.is_control() && !matches!(c, '\n' | '\t'))
}

/// Text of a guest or a file, safe for a terminal: characters that act on it are shown as escapes.
pub(crate) fn visible(text: &str) -> String {
    if !text.chars().any(acts) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if acts(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Writes data to standard output. A reader that went away is no error: the exit code speaks of the render.
pub(crate) fn write_stdout(data: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(data).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// An error of a command that takes no flags about messages.
pub(crate) fn bare_error(text: &str) {
    write_stderr(&format!("{}\n", visible(text)));
}

fn write_stderr(text: &str) {
    // Nobody is left to be told when standard error is closed.
    drop(std::io::stderr().lock().write_all(text.as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn control_characters_of_a_guest_cannot_reach_the_terminal() {
        assert_eq!(visible("a\u{1b}[31mb\r\n\tc\u{7}"), "a\\u{1b}[31mb\\u{d}\n\tc\\u{7}");
        assert_eq!(visible("a\u{202e}b\u{9b}"), "a\\u{202e}b\\u{9b}");
        assert_eq!(visible("grün ✓"), "grün ✓");
    }
}
