//! The two conditions that tell of a render.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::ContentDigest;

/// False while a render is scheduled or runs, true when the newest content's has ended.
pub const RENDER_FINISHED: &str = "RenderFinished";

/// How the last render ended. Absent while one is scheduled or runs.
pub const RENDERED: &str = "Rendered";

/// Longest text of a condition, in bytes. The custom resource of Porch takes at most 32,768, and refuses the whole
/// status beyond that; the render's log has the whole text.
pub const MESSAGE_BYTES: usize = 8 << 10;

/// Kubernetes' three values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// Nobody knows.
    Unknown,
}

/// Why a condition has its status, in one word for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// Waits for a worker.
    Scheduled,
    /// A worker has it.
    Rendering,
    /// Ended well. kpt's word.
    RenderSuccess,
    /// The pipeline failed. kpt's word.
    RenderFailed,
    /// Stopped by request, with no render to follow.
    Cancelled,
    /// It can't be rendered as it is: unknown function, broken Kptfile.
    InvalidPackage,
    /// It was to have ended by a time, and had not.
    DeadlineExceeded,
    /// The infrastructure failed too often.
    InfrastructureFailed,
}

impl Reason {
    /// As it stands in a condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "Scheduled",
            Self::Rendering => "Rendering",
            Self::RenderSuccess => "RenderSuccess",
            Self::RenderFailed => "RenderFailed",
            Self::Cancelled => "Cancelled",
            Self::InvalidPackage => "InvalidPackage",
            Self::DeadlineExceeded => "DeadlineExceeded",
            Self::InfrastructureFailed => "InfrastructureFailed",
        }
    }

    /// The one that stands in a condition as `word`.
    pub fn parse(word: &str) -> Option<Self> {
        [
            Self::Scheduled,
            Self::Rendering,
            Self::RenderSuccess,
            Self::RenderFailed,
            Self::Cancelled,
            Self::InvalidPackage,
            Self::DeadlineExceeded,
            Self::InfrastructureFailed,
        ]
        .into_iter()
        .find(|reason| reason.as_str() == word)
    }
}

/// A condition of a revision's status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Its type: [`RENDER_FINISHED`], [`RENDERED`], or somebody else's.
    pub kind: Cow<'static, str>,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, in one word.
    pub reason: Cow<'static, str>,
    /// Why, in words; at most [`MESSAGE_BYTES`] for ours.
    pub message: String,
    /// The content that it speaks of.
    pub content: ContentDigest,
    /// What configuration it speaks of, where it does: the digest of the functions and settings under which a package
    /// was found to be invalid. Under another one it is worth another try.
    pub configuration: Option<u64>,
    /// When `status` became what it is, in milliseconds since 1970.
    pub since_ms: u64,
}

/// A text of at most [`MESSAGE_BYTES`]: see [`shortened`].
pub fn bounded(text: &str) -> Cow<'_, str> {
    shortened(text, MESSAGE_BYTES, "\n")
}

/// The head and the tail of a text that is longer than `most` bytes (64 or more), with the number of bytes between, which
/// stands between two of `between`, a blank or a line break.
pub fn shortened<'a>(text: &'a str, most: usize, between: &str) -> Cow<'a, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    // Room for the note between the two, whatever the number.
    let each = most.saturating_sub(64) / 2;
    let head = &text[..text.floor_char_boundary(each)];
    let tail = &text[text.ceil_char_boundary(text.len() - each)..];
    let left_out = text.len() - head.len() - tail.len();
    Cow::Owned(format!("{head}{between}[{left_out} bytes left out]{between}{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_keep_both_ends() {
        let text = format!("first{}last", "é".repeat(40_000));
        let short = bounded(&text);
        assert!(short.len() <= MESSAGE_BYTES);
        assert!(short.starts_with("first") && short.ends_with("last"));
        assert!(short.contains("bytes left out"));
        assert_eq!(bounded("short"), "short");
        let exact = "x".repeat(MESSAGE_BYTES);
        assert_eq!(bounded(&exact), exact);
    }
}
