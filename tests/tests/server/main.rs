//! `portico serve` as a process: its start, its signals, its tour.

mod process;
mod tour;
