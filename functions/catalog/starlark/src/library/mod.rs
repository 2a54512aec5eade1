//! The modules that a script may `load`: those of the upstream function.

mod base64;
#[expect(clippy::too_many_arguments, reason = "the parameters of the upstream function")]
mod csv;
#[expect(
    clippy::unnecessary_wraps,
    reason = "functions of the evaluator return a result, whether they can fail or not"
)]
mod hash;
pub(crate) mod json;
#[expect(
    clippy::unnecessary_wraps,
    reason = "functions of the evaluator return a result, whether they can fail or not"
)]
mod krmfn;
#[expect(
    clippy::unnecessary_wraps,
    reason = "functions of the evaluator return a result, whether they can fail or not"
)]
mod math;
#[expect(unsafe_code, reason = "the evaluator's derive implements its marker trait, which is unsafe")]
mod re;
mod refused;
#[cfg(test)]
mod tests;
#[expect(unsafe_code, reason = "the evaluator's derive implements its marker trait, which is unsafe")]
#[expect(
    clippy::unnecessary_wraps,
    clippy::too_many_arguments,
    reason = "functions of the evaluator return a result, and have the parameters of the upstream ones"
)]
mod time;
mod yaml;

use starlark::environment::{FrozenModule, GlobalsBuilder};
use starlark::eval::FileLoader;

/// What a library function refuses, in its own words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Fault(pub(crate) String);

/// Finds a module by the path in `load`.
pub(crate) struct Loader;

impl FileLoader for Loader {
    fn load(&self, path: &str) -> starlark::Result<FrozenModule> {
        let mut globals = GlobalsBuilder::new();
        match path {
            "krmfn.star" => globals.namespace("krmfn", krmfn::register),
            "encoding/base64.star" => globals.namespace("base64", base64::register),
            "encoding/csv.star" => globals.namespace("csv", csv::register),
            "encoding/json.star" => globals.namespace("json", json::register),
            "encoding/yaml.star" => globals.namespace("yaml", yaml::register),
            "hash.star" => globals.namespace("hash", hash::register),
            "math.star" => globals.namespace("math", math::register),
            "re.star" => globals.namespace("re", re::register),
            "time.star" => globals.namespace("time", time::register),
            "bsoup.star" => globals.namespace("bsoup", refused::bsoup),
            "geo.star" => globals.namespace("geo", refused::geo),
            "html.star" => refused::html(&mut globals),
            "http.star" => globals.namespace("http", refused::http),
            "xlsx.star" => globals.namespace("xlsx", refused::xlsx),
            "zipfile.star" => refused::zipfile(&mut globals),
            _ => return Err(unknown(path)),
        }
        FrozenModule::from_globals(&globals.build())
            .map_err(|error| starlark::Error::new_other(anyhow::anyhow!("cannot load {path}: {error:?}")))
    }
}

fn unknown(path: &str) -> starlark::Error {
    starlark::Error::new_other(anyhow::anyhow!("cannot load {path}: there is no such module"))
}
