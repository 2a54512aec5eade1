//! The sandbox from outside: small guests in WebAssembly text, run through the public interface.

mod cache;
mod cancel;
mod combinations;
mod components;
mod determinism;
mod granted;
mod guests;
mod limits;
mod modules;
mod run;
mod stores;
mod wasi;
