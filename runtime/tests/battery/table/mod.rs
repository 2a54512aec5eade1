//! The hostile functions, and how the step of each must end.
//!
//! The same table is rendered through the library (this crate's tests) and through the command line (those of
//! `portico-tests`), so nothing here knows either.

mod calls;
mod component;
mod compute;
mod floods;
mod memory;
mod modules;
mod outputs;
mod paths;
mod results;
mod text;

use std::time::Duration;

/// A function that means harm, and what becomes of it.
pub(crate) struct Row {
    /// What it does, in a few words: the name of its test.
    pub(crate) name: String,
    guest: Box<dyn Fn() -> Vec<u8> + Send + Sync>,
    pub(crate) bounds: Bounds,
    pub(crate) end: End,
    /// What the message of the failed render says, among other things.
    pub(crate) words: Vec<String>,
    /// What becomes of it as a component.
    pub(crate) component: Component,
    /// How often it is run to look at the memory of the process: as often as the contract says, but once where one run
    /// takes long.
    pub(crate) repeats: u32,
}

/// Bounds of a row: those that a command line can set, and two that it cannot. `None` is the default.
#[derive(Clone, Copy, Default)]
pub(crate) struct Bounds {
    pub(crate) fuel: Option<u64>,
    pub(crate) step_time: Option<Duration>,
    pub(crate) render_time: Option<Duration>,
    pub(crate) memory: Option<u64>,
    /// Of the library alone.
    pub(crate) stdout: Option<u64>,
}

/// What becomes of a row whose program was made a component, with the adapter that toolchains use.
#[derive(Clone, Debug)]
pub(crate) enum Component {
    /// The same.
    Same,
    /// It ends in another way.
    Ends(End, Vec<String>),
    /// There is none, and why.
    None(&'static str),
}

/// How a step ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The module is not taken: nothing of the package runs.
    Refused,
    /// Out of fuel.
    Fuel,
    /// Past the deadline of the step.
    StepTime,
    /// Past the deadline of the render.
    RenderTime,
    /// Out of memory.
    Memory,
    /// Out of table elements.
    Table,
    /// Too much on stdout.
    Stdout,
    /// A crash of this kind, as the library names it.
    Trap(&'static str),
    /// Its own exit code, other than 0.
    Exit(i32),
    /// Exit code 0, and an answer that is not taken.
    BadOutput,
    /// A render that passes up to the writing, which refuses.
    BadFiles,
    /// No harm done: the render passes.
    Passes,
    /// In any of these ways: what the adapter makes of it is its own affair.
    Somehow,
}

/// What most rows are run with: two to five milliseconds of work.
const SOME_FUEL: u64 = 4_000_000;

/// As often as the contract says.
const REPEATS: u32 = 100;

/// A deadline that comes soon.
const SOON: Duration = Duration::from_millis(10);

fn row(name: impl Into<String>, guest: impl Fn() -> Vec<u8> + Send + Sync + 'static) -> Row {
    Row {
        name: name.into(),
        guest: Box::new(guest),
        bounds: Bounds { fuel: Some(SOME_FUEL), ..Bounds::default() },
        end: End::Passes,
        words: Vec::new(),
        component: Component::Same,
        repeats: REPEATS,
    }
}

impl Row {
    /// The module: for those that are large, made when it is asked for.
    pub(crate) fn wasm(&self) -> Vec<u8> {
        (self.guest)()
    }

    fn ends(mut self, end: End, words: &[&str]) -> Row {
        self.end = end;
        self.words = words.iter().map(|words| (*words).to_owned()).collect();
        self
    }

    fn bound(mut self, set: impl FnOnce(&mut Bounds)) -> Row {
        set(&mut self.bounds);
        self
    }

    /// As a component it ends otherwise.
    fn component_ends(mut self, end: End, words: &[&str]) -> Row {
        self.component = Component::Ends(end, words.iter().map(|words| (*words).to_owned()).collect());
        self
    }

    /// It cannot be a component.
    fn no_component(mut self, why: &'static str) -> Row {
        self.component = Component::None(why);
        self
    }

    /// The row of the component; an error says why there is none.
    pub(crate) fn into_component(self) -> Result<Row, &'static str> {
        let Row { name, guest, bounds, end, words, component, repeats } = self;
        let (end, words) = match component {
            Component::Same => (end, words),
            Component::Ends(end, words) => (end, words),
            Component::None(why) => return Err(why),
        };
        let guest = Box::new(move || component::of(&guest()));
        Ok(Row { name, guest, bounds, end, words, component: Component::Same, repeats })
    }

    /// One run takes long: a smaller sister of the row is repeated.
    fn once(mut self) -> Row {
        self.repeats = 1;
        self
    }
}

/// Every row, in the order of the contract.
pub(crate) fn rows() -> Vec<Row> {
    let groups = [
        compute::rows(),
        memory::rows(),
        floods::rows(),
        calls::rows(),
        outputs::rows(),
        results::rows(),
        paths::rows(),
        modules::rows(),
    ];
    groups.into_iter().flatten().collect()
}
