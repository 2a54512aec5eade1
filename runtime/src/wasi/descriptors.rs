//! What a function has open: its three streams, and what it opens of granted directories.

use super::abi::Errno;
use super::context::Stream;
use crate::grant::{GrantedDirectory, Node, NodeId, Tree};

/// Descriptors that a function may have open at once, as many as systems give a program by default. Each
/// is a few bytes of the host's memory.
pub(crate) const MAX_DESCRIPTORS: usize = 1024;

/// The descriptors 0, 1 and 2.
const STREAMS: [Stream; 3] = [Stream::Stdin, Stream::Stdout, Stream::Stderr];

/// Something open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Descriptor {
    Stream(Stream),
    Granted(Open),
}

/// A file or a directory of a granted directory, open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Open {
    pub(crate) place: Place,
    /// Where the next read begins.
    pub(crate) position: u64,
    /// Whether it was open when the function started: a granted directory itself.
    pub(crate) beforehand: bool,
}

/// Something in a granted directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Which of the granted directories.
    pub(crate) grant: u32,
    pub(crate) node: NodeId,
}

/// Descriptors by number.
#[derive(Default)]
pub(crate) struct Descriptors {
    directories: Vec<GrantedDirectory>,
    open: Vec<Option<Descriptor>>,
}

impl Descriptors {
    /// The streams, and behind them the granted directories, where the C library looks for them.
    pub(crate) fn new(directories: &[GrantedDirectory]) -> Self {
        let granted = (0..directories.len() as u32).map(|grant| {
            let place = Place { grant, node: NodeId::ROOT };
            Descriptor::Granted(Open { place, position: 0, beforehand: true })
        });
        Self {
            open: STREAMS.into_iter().map(Descriptor::Stream).chain(granted).map(Some).collect(),
            directories: directories.to_vec(),
        }
    }

    /// What is open under this number.
    pub(crate) fn get(&self, fd: u32) -> Result<Descriptor, Errno> {
        self.open.get(fd as usize).copied().flatten().ok_or(Errno::BadF)
    }

    /// What is open of a granted directory; a stream answers with `of_streams`.
    pub(crate) fn granted(&self, fd: u32, of_streams: Errno) -> Result<Open, Errno> {
        match self.get(fd)? {
            Descriptor::Stream(_) => Err(of_streams),
            Descriptor::Granted(open) => Ok(open),
        }
    }

    pub(crate) fn close(&mut self, fd: u32) -> Result<(), Errno> {
        self.get(fd)?;
        self.open[fd as usize] = None;
        Ok(())
    }

    /// Opens something, under the first free number behind the streams'.
    pub(crate) fn add(&mut self, place: Place) -> Result<u32, Errno> {
        let free = self.open.iter().skip(STREAMS.len()).position(Option::is_none);
        let fd = free.map_or(self.open.len(), |index| index + STREAMS.len());
        if fd >= MAX_DESCRIPTORS {
            return Err(Errno::MFile);
        }
        let open = Some(Descriptor::Granted(Open { place, position: 0, beforehand: false }));
        match self.open.get_mut(fd) {
            Some(slot) => *slot = open,
            None => self.open.push(open),
        }
        Ok(fd as u32)
    }

    /// Moves where the next read of a file begins.
    pub(crate) fn set_position(&mut self, fd: u32, to: u64) {
        if let Some(Some(Descriptor::Granted(open))) = self.open.get_mut(fd as usize) {
            open.position = to;
        }
    }

    /// Gives what is open as `from` the number `to`; what was open there is closed. Both are open.
    pub(crate) fn renumber(&mut self, from: u32, to: u32) -> Result<(), Errno> {
        let moved = self.granted(from, Errno::NoSys)?;
        let replaced = self.get(to)?;
        if moved.beforehand || matches!(replaced, Descriptor::Granted(open) if open.beforehand) {
            return Err(Errno::NotSup);
        }
        if from != to {
            self.open[to as usize] = self.open[from as usize].take();
        }
        Ok(())
    }

    /// The directory that something is in, by its number.
    pub(crate) fn directory(&self, grant: u32) -> &GrantedDirectory {
        // Numbers come from `new` and do not change.
        &self.directories[grant as usize]
    }

    /// The tree that something is in.
    pub(crate) fn tree(&self, place: Place) -> &Tree {
        &self.directory(place.grant).tree
    }

    /// A file's content; a directory or a link has none.
    pub(crate) fn content(&self, place: Place) -> Result<&[u8], Errno> {
        match self.tree(place).node(place.node) {
            Node::File(bytes) => Ok(bytes),
            Node::Directory(_) | Node::Link(_) => Err(Errno::IsDir),
        }
    }

    /// Bytes from a file's position to its end.
    pub(crate) fn left(&self, open: Open) -> u64 {
        self.content(open.place).map_or(0, |bytes| (bytes.len() as u64).saturating_sub(open.position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptors() -> Descriptors {
        let mut tree = Tree::default();
        tree.add(NodeId::ROOT, "file", Node::File((*b"text").into()));
        Descriptors::new(&[GrantedDirectory::of("/a", tree)])
    }

    fn file(descriptors: &Descriptors) -> Place {
        let tree = descriptors.tree(Place { grant: 0, node: NodeId::ROOT });
        Place { grant: 0, node: tree.child(NodeId::ROOT, "file").unwrap() }
    }

    #[test]
    fn numbers_are_used_again_but_never_those_of_streams() {
        let mut all = descriptors();
        let file = file(&all);
        assert_eq!((all.add(file), all.add(file)), (Ok(4), Ok(5)));
        all.close(1).unwrap();
        all.close(4).unwrap();
        assert_eq!(all.close(4), Err(Errno::BadF));
        assert_eq!((all.add(file), all.add(file)), (Ok(4), Ok(6)));
        assert_eq!(all.get(1), Err(Errno::BadF));
    }

    #[test]
    fn open_files_are_bounded() {
        let mut all = descriptors();
        let file = file(&all);
        for fd in 4..MAX_DESCRIPTORS as u32 {
            assert_eq!(all.add(file), Ok(fd));
        }
        assert_eq!(all.add(file), Err(Errno::MFile));
        all.close(700).unwrap();
        assert_eq!(all.add(file), Ok(700));
    }

    #[test]
    fn a_file_can_take_the_place_of_a_stream() {
        let mut all = descriptors();
        let fd = all.add(file(&all)).unwrap();
        assert_eq!(all.renumber(fd, 9), Err(Errno::BadF));
        assert_eq!(all.renumber(9, fd), Err(Errno::BadF));
        assert_eq!(all.renumber(0, 1), Err(Errno::NoSys));
        assert_eq!(all.renumber(3, fd), Err(Errno::NotSup));
        assert_eq!(all.renumber(fd, 3), Err(Errno::NotSup));
        assert_eq!(all.renumber(fd, fd), Ok(()));
        assert_eq!(all.renumber(fd, 0), Ok(()));
        assert!(matches!(all.get(0), Ok(Descriptor::Granted(_))));
        assert_eq!(all.get(fd), Err(Errno::BadF));
    }
}
