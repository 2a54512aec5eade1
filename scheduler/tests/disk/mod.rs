//! A disk in memory that fills, loses its power and damages what it holds.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use portico_scheduler::store::embedded::Medium;

/// The unit that a disk writes whole or not at all, in bytes.
const SECTOR: usize = 512;

/// A disk. Clones are the same one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<State>,
    /// Wakes syncs that wait for the gate.
    opened: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// What reads see.
    now: Vec<u8>,
    /// What a power cut leaves at least.
    synced: Vec<u8>,
    /// What it may leave: writes since the last sync.
    pending: Vec<Change>,
    /// Most bytes that it holds.
    room: Option<u64>,
    /// Writes, changes of length and syncs from now until the power is cut.
    power: Option<u64>,
    syncs: u64,
    waiting: bool,
    gate: bool,
}

#[derive(Debug, Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

impl Disk {
    /// A disk that holds these bytes.
    pub(crate) fn holding(bytes: Vec<u8>) -> Self {
        let disk = Self::default();
        *disk.state() = State { now: bytes.clone(), synced: bytes, ..State::default() };
        disk
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }

    /// Everything that it holds.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.state().now.clone()
    }

    /// It holds no more than this; `None`: whatever comes.
    pub(crate) fn set_room(&self, bytes: Option<u64>) {
        self.state().room = bytes;
    }

    /// How much it holds.
    pub(crate) fn len(&self) -> u64 {
        self.state().now.len() as u64
    }

    /// How often it was synced.
    pub(crate) fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// Syncs wait until it is opened again.
    pub(crate) fn close_gate(&self) {
        self.state().gate = true;
    }

    pub(crate) fn open_gate(&self) {
        self.state().gate = false;
        self.0.opened.notify_all();
    }

    /// Whether a sync waits at the gate.
    pub(crate) fn someone_waits(&self) -> bool {
        self.state().waiting
    }

    /// Cuts the power after so many operations.
    pub(crate) fn cut_after(&self, operations: u64) {
        self.state().power = Some(operations);
    }

    /// Whether the power is cut.
    pub(crate) fn is_cut(&self) -> bool {
        self.state().power == Some(0)
    }

    /// What is on the disk when the power is back: all that was synced, and of the rest any sectors in any order.
    pub(crate) fn after_power_cut(&self, random: &mut fastrand::Rng) -> Self {
        let state = self.state();
        let mut bytes = state.synced.clone();
        // Some controllers write in order and stop, others write what they like.
        let ordered = random.bool();
        let stop = random.usize(0..=state.pending.len());
        for (i, change) in state.pending.iter().enumerate() {
            match change {
                _ if ordered && i >= stop => break,
                Change::Length(length) => bytes.resize(*length, 0),
                Change::Write(offset, data) => {
                    for (n, sector) in data.chunks(SECTOR).enumerate() {
                        if ordered || random.bool() {
                            let at = offset + n * SECTOR;
                            if bytes.len() < at + sector.len() {
                                bytes.resize(at + sector.len(), 0);
                            }
                            bytes[at..at + sector.len()].copy_from_slice(sector);
                        }
                    }
                }
            }
        }
        Self::holding(bytes)
    }

    /// Counts an operation; refuses it without power.
    fn operate(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        match &mut state.power {
            Some(0) => Err(io::Error::other("no power")),
            Some(left) => {
                *left -= 1;
                Ok(state)
            }
            None => Ok(state),
        }
    }
}

impl Medium for Disk {
    fn name(&self) -> String {
        "disk".into()
    }

    fn open(&self, builder: &redb::Builder) -> Result<redb::Database, redb::DatabaseError> {
        if self.is_cut() {
            return Err(io::Error::other("no power").into());
        }
        builder.create_with_backend(Backend(self.clone()))
    }

    fn may_create(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Backend(Disk);

impl redb::StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.0.state();
        let start = usize::try_from(offset).unwrap();
        let part = state.now.get(start..start + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(part);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.0.operate()?;
        if state.room.is_some_and(|room| len > room) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let length = usize::try_from(len).unwrap();
        state.now.resize(length, 0);
        state.pending.push(Change::Length(length));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.0.operate()?;
        while state.gate {
            state.waiting = true;
            state = self.0.0.opened.wait(state).unwrap();
        }
        state.waiting = false;
        let state = &mut *state;
        state.synced.clone_from(&state.now);
        state.pending.clear();
        state.syncs += 1;
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.0.operate()?;
        let start = usize::try_from(offset).unwrap();
        let end = start + data.len();
        if state.room.is_some_and(|room| end as u64 > room) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if state.now.len() < end {
            state.now.resize(end, 0);
        }
        state.now[start..end].copy_from_slice(data);
        state.pending.push(Change::Write(start, data.to_owned()));
        Ok(())
    }
}
