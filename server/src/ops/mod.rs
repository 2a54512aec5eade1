//! The server as a process: listeners, limits of requests, health, reloading, the end.

mod address;
mod admission;
mod body;
mod front;
mod health;
mod limits;
mod listen;
mod live;
mod log;
pub mod metrics;
mod refusal;
mod reload;
mod serve;
mod signals;
mod site;
mod stall;
mod tls;
pub(crate) mod traces;

pub use self::address::Address;
pub use self::health::{CheckResult, Health};
pub use self::limits::RequestLimits;
pub use self::log::{Log, LogError, init_log};
pub use self::serve::{Addresses, Ended, Program, Server, StartError};
pub use self::signals::Stop;
pub use self::tls::{TlsError, TlsFiles};
