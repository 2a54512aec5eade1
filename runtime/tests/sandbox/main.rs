//! The sandbox from outside: small guests in WebAssembly text, run through the public interface.

mod guests;
mod run;
