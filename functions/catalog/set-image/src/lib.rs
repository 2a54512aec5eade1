#![doc = include_str!("../README.md")]

mod image;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use portico_fn::yaml::{Kind, NodeId, Style, Tree};
use portico_fn::{FieldError, FieldSpec, Output, Resource, Results, Runner, RunnerConfig, config, run};
use serde::Deserialize;

use crate::image::Matcher;

/// The program: bytes of a `ResourceList` in, bytes of a `ResourceList` out.
#[expect(clippy::needless_pass_by_value, reason = "programs own their input: some give it back as it is")]
pub fn program(input: Vec<u8>) -> Output {
    run(&function(), &input)
}

/// The function, ready for [`portico_fn::as_main`] or [`portico_fn::run`].
pub fn function() -> impl portico_fn::Processor {
    portico_fn::with_runner::<SetImage>()
}

/// The configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SetImage {
    image: Image,
    additional_image_fields: Vec<FieldSpec>,
}

/// Which image, and what becomes of it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Image {
    pub(crate) name: String,
    pub(crate) new_name: String,
    pub(crate) new_tag: String,
    pub(crate) digest: String,
}

/// Where containers of each type name their images; both lists are walked.
const POD: (&str, &str) = ("", "spec");
const WORKLOAD: (&str, &str) = ("apps", "spec/template/spec");
const TYPES: [(&str, (&str, &str)); 5] = [
    ("Pod", POD),
    ("Deployment", WORKLOAD),
    ("StatefulSet", WORKLOAD),
    ("ReplicaSet", WORKLOAD),
    ("DaemonSet", WORKLOAD),
];

impl Runner for SetImage {
    const KIND: &'static str = "SetImage";

    fn from_data(data: BTreeMap<String, String>) -> Result<SetImage, String> {
        let mut image = Image::default();
        for (key, value) in data {
            match key.as_str() {
                "name" => image.name = value,
                "newName" => image.new_name = value,
                "newTag" => image.new_tag = value,
                "digest" => image.digest = value,
                _ => return Err(format!("ConfigMap has wrong field name {key}")),
            }
        }
        Ok(SetImage { image, additional_image_fields: Vec::new() })
    }

    fn from_object(object: &Resource) -> Result<SetImage, String> {
        config::decode(object).map_err(|error| error.to_string())
    }

    fn run(&mut self, _: RunnerConfig<'_>, items: &mut [Resource], results: &mut Results) -> bool {
        let mut count = 0;
        let mut passed = true;
        match self.image.check().and_then(|()| Matcher::new(&self.image)) {
            Ok(matcher) => {
                for item in items.iter_mut() {
                    if let Err(error) = self.edit(item, &matcher, &mut count) {
                        results.field_error(item, &error);
                        passed = false;
                    }
                }
            }
            Err(message) => {
                results.error(format!("invalid FunctionConfig: {message}"));
                passed = false;
            }
        }
        results.info(format!("summary: updated a total of {count} image(s)"));
        passed
    }
}

impl Image {
    fn check(&self) -> Result<(), String> {
        if self.name.is_empty() {
            return Err("must specify `name`".to_owned());
        }
        if [&self.new_name, &self.new_tag, &self.digest].iter().all(|part| part.is_empty()) {
            return Err("must specify one of `newName`, `newTag`, or `digest`".to_owned());
        }
        Ok(())
    }
}

impl SetImage {
    /// Every image that matches counts, whether it changes or not.
    fn edit(&self, object: &mut Resource, matcher: &Matcher<'_>, count: &mut usize) -> Result<(), FieldError> {
        if object.kind() == "CustomResourceDefinition" {
            return Ok(());
        }
        // a specification without a group is one for every group; the pods here are those of the core
        let own = TYPES.iter().find(|(kind, (group, _))| *kind == object.kind() && *group == object.group());
        let own = own.into_iter().flat_map(|(kind, (group, pod))| {
            ["containers", "initContainers"].map(|list| FieldSpec {
                group: (*group).to_owned(),
                version: "v1".to_owned(),
                kind: (*kind).to_owned(),
                path: format!("{pod}/{list}[]/image"),
                create: false,
            })
        });
        for spec in own.chain(self.additional_image_fields.iter().cloned()) {
            for target in spec.targets(object, Kind::Scalar)? {
                if let Some(new) = matcher.replace(object.tree.text(target)) {
                    *count += 1;
                    set(&mut object.tree, target, &new);
                }
            }
        }
        Ok(())
    }
}

/// Sets the text, in the quotes that it has.
fn set(tree: &mut Tree, target: NodeId, new: &str) {
    if tree.text(target) == new {
        return;
    }
    if tree.style(target) == Style::Plain { tree.set_string(target, new) } else { tree.set_text(target, new) }
}
