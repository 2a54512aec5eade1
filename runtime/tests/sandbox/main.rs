//! The sandbox from outside: small guests in WebAssembly text, run through the public interface.

mod cache;
mod cancel;
mod components;
mod granted;
mod guests;
mod limits;
mod modules;
mod run;
mod stores;
mod wasi;
