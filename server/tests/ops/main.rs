//! A whole server in this process: its listener, limits, credentials, files that change, and its end.

mod access;
mod harness;
mod life;
mod limits;
mod reload;
mod tls;
