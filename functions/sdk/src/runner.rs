//! Functions that are a configuration and an edit of the items.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use portico_krm::{Resource, ResourceList};

use crate::field::string_map;
use crate::gvk::group;
use crate::process::{Error, Processor, Verdict};
use crate::results::Results;

/// Group of the functions' own configuration kinds.
pub const FUNCTION_GROUP: &str = "fn.kpt.dev";
/// Name of the `ConfigMap` that an orchestrator makes of a Kptfile's `configMap` or of arguments.
const PLACEHOLDER: &str = "function-input";

/// A function whose configuration is read before it runs, by the rules of the Go SDK's runners:
/// the `data` of a `ConfigMap`, or an object of group `fn.kpt.dev` and kind [`Runner::KIND`].
///
/// A runner edits items; it neither adds nor removes any. Use a plain [`Processor`] for that.
pub trait Runner: Default {
    /// The kind of the configuration object.
    const KIND: &'static str;
    /// Kinds that earlier versions had.
    const LEGACY_KINDS: &'static [&'static str] = &[];

    /// The configuration from the `data` of a `ConfigMap`, empty when it has none; the error becomes a result.
    fn from_data(data: BTreeMap<String, String>) -> Result<Self, String>;

    /// The configuration from an object of its own kind; the error becomes a result. See [`crate::config`].
    fn from_object(object: &Resource) -> Result<Self, String>;

    /// Edits the items; false when the function fails.
    fn run(&mut self, config: RunnerConfig<'_>, items: &mut [Resource], results: &mut Results) -> bool;
}

/// The configuration object as the function was given it.
#[derive(Clone, Copy, Debug)]
pub struct RunnerConfig<'a>(Option<&'a Resource>);

impl<'a> RunnerConfig<'a> {
    /// True when there is none, or only the orchestrator's placeholder without data.
    pub fn is_missing(self) -> bool {
        self.0.is_none()
    }

    /// The object.
    pub fn object(self) -> Option<&'a Resource> {
        self.0
    }
}

/// Makes a [`Processor`] of a [`Runner`].
pub fn with_runner<R: Runner>() -> impl Processor {
    RunnerProcessor::<R>(PhantomData)
}

struct RunnerProcessor<R>(PhantomData<fn() -> R>);

impl<R: Runner> Processor for RunnerProcessor<R> {
    fn process(&self, list: &mut ResourceList) -> Result<Verdict, Error> {
        let mut results = Results::from(std::mem::take(&mut list.results));
        let config = list.function_config.as_ref().filter(|config| !is_placeholder(config));
        let read = match config {
            None => {
                results.info("`FunctionConfig` is not given");
                Ok(R::default())
            }
            Some(config) => read_config::<R>(config),
        };
        let passed = match read {
            Ok(mut runner) => runner.run(RunnerConfig(config), &mut list.items, &mut results),
            Err(message) => {
                results.error(message);
                false
            }
        };
        list.results = results.into_vec();
        Ok(passed.into())
    }
}

/// True for what stands for no configuration: an object without kind and name, or the placeholder without data.
fn is_placeholder(config: &Resource) -> bool {
    let nameless = config.kind().is_empty() && config.name().is_empty();
    let empty = || {
        config
            .tree
            .get(config.tree.root(), "data")
            .is_none_or(|data| config.tree.is_null(data) || config.tree.is_empty(data) && !config.tree.is_scalar(data))
    };
    nameless || config.api_version() == "v1" && config.kind() == "ConfigMap" && config.name() == PLACEHOLDER && empty()
}

fn read_config<R: Runner>(config: &Resource) -> Result<R, String> {
    let (group, kind) = (group(config.api_version()), config.kind());
    if group.is_empty() && kind == "ConfigMap" {
        return match config.tree.get(config.tree.root(), "data") {
            None => R::from_data(BTreeMap::new()),
            Some(data) => string_map(&config.tree, data, &["data"])
                .map_err(|error| error.to_string())
                .and_then(|data| R::from_data(data.into_iter().collect())),
        };
    }
    if group == FUNCTION_GROUP && (kind == R::KIND || R::LEGACY_KINDS.contains(&kind)) {
        return R::from_object(config);
    }
    let given = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
    Err(format!("unknown FunctionConfig `{given}`, expect `{}.{FUNCTION_GROUP}` or `ConfigMap.v1`", R::KIND))
}
