//! What host calls see of a running component.

use wasmtime::component::{HasData, ResourceTable};

use super::clock::Time;
use super::streams::Stdio;
use crate::cancel::CancelToken;
use crate::limits::StepLimits;
use crate::sandbox::{Clock, Invocation, Limiter, Stop};
use crate::wasi::{Context, Random};

/// Streams, pollables and the like that a function may hold at the same time. Programs need about ten.
const RESOURCES: usize = 4_096;

/// The data of a component's Store.
pub(crate) struct World {
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) stdio: Stdio,
    pub(crate) random: Random,
    pub(crate) time: Time,
    pub(crate) table: ResourceTable,
    pub(crate) limiter: Limiter,
    pub(crate) cancel: CancelToken,
}

impl World {
    /// The world of a call. `spare` is a buffer from the run before.
    pub(crate) fn new(
        call: Invocation,
        limits: &StepLimits,
        clock: Clock,
        cancel: CancelToken,
        spare: Vec<u8>,
    ) -> Self {
        let Invocation { name, args, grants, stdin, limits: _ } = call;
        let call = Invocation { stdin, ..Invocation::default() };
        let mut table = ResourceTable::new();
        table.set_max_capacity(RESOURCES);
        let mut limiter = Limiter::default();
        limiter.start_step(limits);
        Self {
            args: std::iter::once(name).chain(args).collect(),
            env: grants.env().to_vec(),
            stdio: Stdio::new(Context::new(call, limits, spare)),
            random: Random::default(),
            time: Time::new(clock),
            table,
            limiter,
            cancel,
        }
    }

    /// Asked whenever the epoch moved: may the function go on?
    pub(crate) fn check(&self) -> Result<(), Stop> {
        if self.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        self.time.check()
    }
}

/// The table of resources alone, for calls that need no more.
pub(super) struct Table;

impl HasData for Table {
    type Data<'a> = &'a mut ResourceTable;
}
