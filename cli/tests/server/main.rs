//! The program as a server, and the commands and the page that speak to it.

mod commands;
mod harness;
mod page;
