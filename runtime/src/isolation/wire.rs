//! What the two sides say to each other: length-prefixed messages in postcard's form.
//!
//! The parent's words are trusted by the worker, the worker's are not by the parent: it reads no more of them than it was
//! told to expect, and [`outcome`](super::outcome) checks what they mean. Both sides are the same version: the worker's
//! first message says which one it is.

use std::io::{Read, Write};
use std::sync::Arc;

use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::values::{WireOptions, WireOutcome, WirePackage};
use crate::child::Confinement;
use crate::report::{Cause, StepReport};

/// Changes when the messages do.
pub(super) const VERSION: u32 = 2;

/// What the parent says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToWorker {
    /// Render this.
    Render(Box<(WirePackage, WireOptions)>),
    /// The answer to [`ToParent::Resolve`].
    Function(Result<Option<WireFunction>, (String, Cause)>),
    /// The answer to [`ToParent::Tags`] and [`ToParent::Names`].
    Words(Vec<String>),
    /// The answer to [`ToParent::Notice`] and [`ToParent::Absence`].
    Notice(Option<String>),
}

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToParent {
    /// First of all: its version, what code it can run, and what it is held to.
    Hello { version: u32, compatibility: u64, confinement: Confinement },
    /// It needs the function of an image.
    Resolve(String),
    /// It needs the published tags of an image.
    Tags(String),
    /// It needs the names of all functions.
    Names,
    /// It needs to know why the function of an image is not there.
    Absence(String),
    /// It needs what a user of the image should know.
    Notice(String),
    /// Something happened.
    Event(Box<WireEvent>),
    /// The render ended.
    Done(Box<Result<WireOutcome, WireError>>),
}

/// A function's code.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WireFunction {
    pub(super) name: String,
    pub(super) code: WireCode,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum WireCode {
    /// It is part of the program, if it has this mark there.
    Embedded { mark: u64 },
    /// The compiled module of this digest; of a component also the instances of modules that a run makes.
    Compiled { digest: [u8; 32], core_instances: Option<u32>, code: Bytes },
    /// The compiled module of this digest, which was sent before.
    Known { digest: [u8; 32] },
}

/// [`Event`](crate::Event), owned.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum WireEvent {
    PackageStarted { path: String, name: String, functions: usize },
    StepStarted(StepReport),
    StepPassed(StepReport),
    StepSkipped { step: StepReport, condition: String },
    StepFailed(StepReport),
    PackageFinished { path: String, name: String, functions: usize },
    Warning(String),
}

/// [`RenderError`](crate::RenderError) without what only the parent finds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum WireError {
    MissingKptfile { path: String },
    Kptfile { message: String, kpt: String },
    Input(String),
    Cancelled,
}

/// Bytes that are moved as a whole, not one by one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bytes(pub(super) Arc<[u8]>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Whole;
        impl Visitor<'_> for Whole {
            type Value = Bytes;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.into()))
            }
        }
        deserializer.deserialize_bytes(Whole)
    }
}

/// A message with its length before it.
pub(super) fn frame<T: Serialize>(message: &T) -> std::io::Result<Vec<u8>> {
    let mut bytes = postcard::to_extend(message, vec![0; 8]).map_err(std::io::Error::other)?;
    let length = (bytes.len() - 8) as u64;
    bytes[..8].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

/// Why there is no next message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoFrame {
    /// The other side closed the pipe, perhaps in the middle of a message.
    Closed,
    /// The message is longer than what is still accepted.
    TooLong,
    /// This process has not got the memory for it.
    NoMemory,
}

/// The next message's bytes, at most `most`, which is asked when the message begins; memory is taken as they come, not on
/// the word of the length.
pub(super) fn read_frame(pipe: &mut impl Read, most: impl FnOnce() -> u64) -> Result<Vec<u8>, NoFrame> {
    let mut length = [0; 8];
    pipe.read_exact(&mut length).map_err(|_| NoFrame::Closed)?;
    let length = u64::from_le_bytes(length);
    if length > most() {
        return Err(NoFrame::TooLong);
    }
    let mut bytes = Vec::new();
    pipe.take(length).read_to_end(&mut bytes).map_err(|error| match error.kind() {
        std::io::ErrorKind::OutOfMemory => NoFrame::NoMemory,
        _ => NoFrame::Closed,
    })?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(NoFrame::Closed) }
}

/// Reads a message; all of its bytes have to be used.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let (message, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(message)
}

/// Writes a message.
pub(super) fn send<T: Serialize>(pipe: &mut impl Write, message: &T) -> std::io::Result<()> {
    pipe.write_all(&frame(message)?)?;
    pipe.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_one_by_one() {
        let mut pipe = Vec::new();
        send(&mut pipe, &ToParent::Resolve("a".into())).unwrap();
        let code = Bytes(Arc::from(&b"code"[..]));
        let function = WireFunction {
            name: "f".into(),
            code: WireCode::Compiled { digest: [7; 32], core_instances: None, code: code.clone() },
        };
        send(&mut pipe, &ToWorker::Function(Ok(Some(function)))).unwrap();
        let mut pipe = &pipe[..];
        let first = decode(&read_frame(&mut pipe, || 100).unwrap());
        assert!(matches!(first, Some(ToParent::Resolve(image)) if image == "a"));
        let second = decode(&read_frame(&mut pipe, || 100).unwrap());
        let Some(ToWorker::Function(Ok(Some(function)))) = second else { panic!("{second:?}") };
        assert!(
            matches!(function.code, WireCode::Compiled { digest: [7, ..], core_instances: None, code: c } if c == code)
        );
        assert_eq!(read_frame(&mut pipe, || 100), Err(NoFrame::Closed));
    }

    #[test]
    fn what_is_too_long_or_breaks_off_is_no_message() {
        let whole = frame(&ToParent::Resolve("some image".into())).unwrap();
        let length = whole.len() as u64 - 8;
        assert_eq!(read_frame(&mut &whole[..], || length - 1), Err(NoFrame::TooLong));
        assert!(read_frame(&mut &whole[..], || length).is_ok());
        for cut in 0..whole.len() {
            assert_eq!(read_frame(&mut &whole[..cut], || u64::MAX), Err(NoFrame::Closed), "{cut}");
        }
        // A length without bytes behind it takes no memory.
        let mut lie = u64::MAX.to_le_bytes().to_vec();
        lie.push(1);
        assert_eq!(read_frame(&mut &lie[..], || u64::MAX), Err(NoFrame::Closed));
    }

    #[test]
    fn any_bytes_can_be_read_without_harm() {
        for seed in 0..2000_u32 {
            let bytes: Vec<u8> = (0..seed % 97)
                .map(|at| seed.wrapping_mul(2_654_435_761).rotate_left(at % 31).wrapping_add(at).to_le_bytes()[0])
                .collect();
            let _: Option<ToParent> = decode(&bytes);
        }
        let padded = [&frame(&ToParent::Names).unwrap()[8..], b"x"].concat();
        assert!(decode::<ToParent>(&padded).is_none());
    }
}
