#![doc = include_str!("../README.md")]
#![expect(clippy::doc_markdown, reason = "the README names kinds as Kubernetes spells them")]

mod edit;
mod fields;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use portico_fn::{FieldSpec, KubeObject, Output, Resource, Results, Runner, RunnerConfig, config, run};
use serde::Deserialize;

use crate::edit::{Editor, Labels};

/// The program: bytes of a `ResourceList` in, bytes of a `ResourceList` out.
pub fn program(input: Vec<u8>) -> Output {
    run(&function(), input)
}

/// The function, ready for [`portico_fn::as_main`] or [`portico_fn::run`].
pub fn function() -> impl portico_fn::Processor {
    portico_fn::with_runner::<SetLabels>()
}

/// The configuration.
#[derive(Clone, Debug, Default)]
pub struct SetLabels {
    labels: Labels,
    additional: Vec<FieldSpec>,
    options: Options,
}

/// Choices that the catalog's function does not have.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Options {
    /// Selectors get the labels as well as the objects. Selectors of workloads cannot be changed in a cluster.
    set_selector_labels: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { set_selector_labels: true }
    }
}

/// The parts of the object form that need no exact message.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Extras {
    additional_label_fields: Option<Vec<FieldSpec>>,
    field_specs: Option<Vec<FieldSpec>>,
    options: Options,
}

impl Runner for SetLabels {
    const KIND: &'static str = "SetLabels";
    const LEGACY_KINDS: &'static [&'static str] = &["SetLabelConfig"];

    fn from_data(data: BTreeMap<String, String>) -> Result<SetLabels, String> {
        Ok(SetLabels { labels: data, ..SetLabels::default() })
    }

    fn from_object(object: &Resource) -> Result<SetLabels, String> {
        let labels = config::go_string_map(object, "labels", "setlabels.SetLabels")?;
        let extras: Extras = config::decode(object).map_err(|error| error.to_string())?;
        let additional = match (extras.additional_label_fields, extras.field_specs) {
            (Some(_), Some(_)) => {
                return Err("`fieldSpecs` has been deprecated, please rename it to `additionalLabelFields`".to_owned());
            }
            (new, old) => new.or(old).unwrap_or_default(),
        };
        Ok(SetLabels { labels, additional, options: extras.options })
    }

    fn run(&mut self, config: RunnerConfig<'_>, items: &mut [Resource], results: &mut Results) -> bool {
        let mut items: Vec<&mut Resource> = items.iter_mut().filter(|item| !item.is_local_config()).collect();
        if items.is_empty() {
            results.info("no input resources");
            return true;
        }
        if config.is_missing() {
            return false;
        }
        if self.labels.is_empty() {
            results.warning("no `labels` arguments are given in FunctionConfig");
            return true;
        }
        let mut editor = Editor {
            labels: &self.labels,
            selectors: self.options.set_selector_labels,
            additional: &self.additional,
            count: 0,
        };
        let mut passed = true;
        for item in &mut items {
            if let Err(error) = editor.edit(item) {
                results.field_error(item, &error);
                passed = false;
            }
        }
        let count = editor.count;
        results.info(format!("set {count} labels in total"));
        passed
    }
}
