//! The command line from the outside: the real binary, the real functions, real files.

mod arguments;
mod authors;
mod check_and_diff;
mod completion;
mod configuration;
mod determinism;
mod eval;
mod examples;
mod exec;
mod functions;
mod grants;
mod interrupts;
mod isolation;
mod limits;
mod messages;
mod output;
mod render;
mod schemas;
mod status;
mod streams;
mod tour;
mod two_renders;
