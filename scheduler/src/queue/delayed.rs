//! Entries that wait for a point in time: a heap in which every entry knows its place.

use super::entry::Entry;
use super::slab::{Node as _, Slab};
use crate::time::Time;

/// The earliest stands first.
#[derive(Debug, Default)]
pub(super) struct Delayed {
    heap: Vec<(Time, u32)>,
}

impl Delayed {
    /// The point in time of the earliest.
    pub(super) fn next(&self) -> Option<Time> {
        self.heap.first().map(|first| first.0)
    }

    pub(super) fn insert<K>(&mut self, entries: &mut Slab<Entry<K>>, at: u32, due: Time) {
        self.heap.push((due, at));
        self.rise(entries, self.heap.len() - 1);
    }

    /// Moves an entry to another point in time.
    pub(super) fn change<K>(&mut self, entries: &mut Slab<Entry<K>>, at: u32, due: Time) {
        let place = place(entries, at);
        self.heap[place].0 = due;
        self.rise(entries, place);
        self.sink(entries, place);
    }

    pub(super) fn remove<K>(&mut self, entries: &mut Slab<Entry<K>>, at: u32) {
        let place = place(entries, at);
        self.heap.swap_remove(place);
        if place < self.heap.len() {
            self.rise(entries, place);
            self.sink(entries, place);
        } else if self.heap.is_empty() {
            self.heap = Vec::new();
        }
    }

    /// An entry whose time has come.
    pub(super) fn pop_due<K>(&mut self, entries: &mut Slab<Entry<K>>, now: Time) -> Option<u32> {
        let (due, at) = *self.heap.first()?;
        (due <= now).then(|| {
            self.remove(entries, at);
            at
        })
    }

    fn rise<K>(&mut self, entries: &mut Slab<Entry<K>>, mut place: usize) {
        while place > 0 && self.heap[place] < self.heap[(place - 1) / 2] {
            self.heap.swap(place, (place - 1) / 2);
            self.settle(entries, place);
            place = (place - 1) / 2;
        }
        self.settle(entries, place);
    }

    fn sink<K>(&mut self, entries: &mut Slab<Entry<K>>, mut place: usize) {
        // It may have risen before: then the one that stands here is in order.
        loop {
            let left = 2 * place + 1;
            let Some(least) = (left..self.heap.len().min(left + 2)).min_by_key(|child| self.heap[*child]) else {
                break;
            };
            if self.heap[place] <= self.heap[least] {
                break;
            }
            self.heap.swap(place, least);
            self.settle(entries, place);
            place = least;
        }
        self.settle(entries, place);
    }

    fn settle<K>(&self, entries: &mut Slab<Entry<K>>, place: usize) {
        entries[self.heap[place].1].links_mut(0).set_number(place as u32);
    }
}

fn place<K>(entries: &Slab<Entry<K>>, at: u32) -> usize {
    entries[at].links(0).number() as usize
}
