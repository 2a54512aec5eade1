//! Files in pieces: how large packages pass in messages of a bounded size.

use std::collections::BTreeMap;

use bytes::Bytes;
use portico_runtime::package::PackageLimits;
use tonic::Status;

use crate::grpc::proto::v1::{FileChunk, Files};

/// About how many bytes of files a message has that is sent.
const PIECE: usize = 1 << 20;

/// What each chunk takes beside its path and data, at most.
const CHUNK: usize = 32;

/// Puts the pieces that come together.
#[derive(Debug)]
pub(super) struct Incoming {
    files: BTreeMap<String, Vec<u8>>,
    /// The file whose end has not come yet.
    open: Option<String>,
    bytes: u64,
    limits: PackageLimits,
}

impl Incoming {
    /// For a package of at most so much.
    pub(super) fn new(limits: PackageLimits) -> Self {
        Self { files: BTreeMap::new(), open: None, bytes: 0, limits }
    }

    /// Takes what a message brought.
    pub(super) fn add(&mut self, files: Files) -> Result<(), Status> {
        files.chunks.into_iter().try_for_each(|chunk| self.chunk(chunk))
    }

    fn chunk(&mut self, chunk: FileChunk) -> Result<(), Status> {
        let FileChunk { path, data, more, deleted } = chunk;
        let wrong = |text: String| Err(Status::invalid_argument(text));
        if deleted {
            return wrong(format!("file `{}`: `deleted` is for answers", shown(&path)));
        }
        match &self.open {
            Some(open) if *open != path => {
                return wrong(format!("file `{}` has not ended where `{}` begins", shown(open), shown(&path)));
            }
            None if self.files.contains_key(&path) => {
                return wrong(format!("file `{}` comes twice", shown(&path)));
            }
            _ => {}
        }
        self.bytes = self.bytes.saturating_add(data.len() as u64);
        let too_much = |name: &str, limit: u64| {
            Err(Status::resource_exhausted(format!("the package is larger than the limit `{name}` of {limit}")))
        };
        if self.bytes > self.limits.package_bytes {
            return too_much("package.bytes", self.limits.package_bytes);
        }
        let file = self.files.entry(path.clone()).or_default();
        file.extend_from_slice(&data);
        // Each file costs memory, be it empty.
        if self.files.len() as u64 > self.limits.files {
            return too_much("package.files", self.limits.files);
        }
        self.open = more.then_some(path);
        Ok(())
    }

    /// The files, when the last piece has come.
    pub(super) fn finish(self) -> Result<BTreeMap<String, Vec<u8>>, Status> {
        match self.open {
            Some(open) => Err(Status::invalid_argument(format!("file `{}` has not ended", shown(&open)))),
            None => Ok(self.files),
        }
    }
}

/// A path in a message: it may hold anything.
fn shown(path: &str) -> String {
    path.chars().take(200).flat_map(char::escape_debug).collect()
}

/// Files (`None`: deleted) as messages, in order.
pub(super) fn pieces(files: impl IntoIterator<Item = (String, Option<Bytes>)>) -> impl Iterator<Item = Files> {
    let mut chunks = files.into_iter().flat_map(|(path, content)| chunks_of(path, content)).peekable();
    std::iter::from_fn(move || {
        let (mut message, mut size) = (vec![chunks.next()?], 0);
        while let Some(next) = chunks.peek() {
            let last = message.last().map_or(0, |chunk: &FileChunk| chunk.data.len() + chunk.path.len());
            size += last + CHUNK;
            if size + next.data.len() + next.path.len() > PIECE {
                break;
            }
            message.extend(chunks.next());
        }
        Some(Files { chunks: message })
    })
}

fn chunks_of(path: String, content: Option<Bytes>) -> impl Iterator<Item = FileChunk> {
    let deleted = content.is_none();
    let mut rest = Some(content.unwrap_or_default());
    std::iter::from_fn(move || {
        let mut data = rest.take()?;
        if data.len() > PIECE {
            rest = Some(data.split_off(PIECE));
        }
        Some(FileChunk { path: path.clone(), data, more: rest.is_some(), deleted })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(files: &[(&str, usize)]) -> BTreeMap<String, Vec<u8>> {
        files.iter().map(|(path, length)| ((*path).to_owned(), vec![b'x'; *length])).collect()
    }

    #[test]
    fn what_is_cut_comes_together_again() {
        let mut files = whole(&[("empty", 0), ("small", 10), ("exact", PIECE), ("one more", PIECE + 1)]);
        files.extend((0..3_000).map(|n| (format!("many/{n}"), vec![b'y'; 1_000])));
        files.insert("large".to_owned(), vec![b'z'; 5 * PIECE + 7]);
        let mut incoming = Incoming::new(PackageLimits::default());
        let mut messages = 0;
        for message in pieces(files.iter().map(|(path, data)| (path.clone(), Some(Bytes::from(data.clone()))))) {
            let size: usize = message.chunks.iter().map(|chunk| chunk.data.len() + chunk.path.len()).sum();
            assert!(size <= PIECE + 16, "{size}");
            messages += 1;
            incoming.add(message).unwrap();
        }
        assert!(messages < 16, "{messages}");
        assert_eq!(incoming.finish().unwrap(), files);
    }

    #[test]
    fn pieces_that_make_no_files_are_refused() {
        let chunk = |path: &str, more| FileChunk { path: path.to_owned(), more, ..FileChunk::default() };
        for wrong in [
            vec![chunk("a", true), chunk("b", false)],
            vec![chunk("a", false), chunk("a", false)],
            vec![FileChunk { deleted: true, ..chunk("a", false) }],
        ] {
            let mut incoming = Incoming::new(PackageLimits::default());
            assert!(incoming.add(Files { chunks: wrong }).is_err());
        }
        let mut unfinished = Incoming::new(PackageLimits::default());
        unfinished.add(Files { chunks: vec![chunk("a\n\u{202e}", true)] }).unwrap();
        let error = unfinished.finish().unwrap_err();
        assert_eq!(error.message(), "file `a\\n\\u{202e}` has not ended");
    }

    #[test]
    fn a_package_is_bounded_while_it_comes() {
        let limits = PackageLimits { files: 2, package_bytes: 10, ..PackageLimits::default() };
        let chunk = |path: &str, length| FileChunk {
            path: path.to_owned(),
            data: vec![0; length].into(),
            more: false,
            deleted: false,
        };
        let mut incoming = Incoming::new(limits.clone());
        incoming.add(Files { chunks: vec![chunk("a", 5), chunk("b", 5)] }).unwrap();
        assert!(incoming.add(Files { chunks: vec![chunk("c", 0)] }).unwrap_err().message().contains("package.files"));
        let mut incoming = Incoming::new(limits);
        let error = incoming.add(Files { chunks: vec![chunk("a", 11)] }).unwrap_err();
        assert!(error.message().contains("package.bytes"), "{error}");
    }
}
