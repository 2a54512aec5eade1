//! Requests and outcomes in the form that is sent.

use std::collections::BTreeMap;
use std::sync::Arc;

use portico_krm::kptfile::{Experiments, StatusMode};
use portico_krm::yaml::ParseLimits;
use serde::{Deserialize, Serialize};

use super::wire::Bytes;
use crate::changes::ChangeOptions;
use crate::grant::Grants;
use crate::image::ImagePrefix;
use crate::limits::{Limits, StepProfile};
use crate::outcome::Failure;
use crate::package::{File, OtherPath, PackageFiles, PackageNode};
use crate::renderer::{CallOptions, RenderOptions};
use crate::report::StepReport;
use crate::write_back::WriteStyle;

/// [`PackageFiles`] without what only writing needs.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WirePackage {
    name: String,
    root: String,
    files: Vec<(String, Bytes)>,
    packages: Vec<PackageNode>,
    others: BTreeMap<String, OtherPath>,
}

impl WirePackage {
    pub(super) fn of(files: &PackageFiles) -> Self {
        let contents = files.files.iter().map(|(path, file)| (path.clone(), Bytes(Arc::clone(&file.bytes))));
        Self {
            name: files.name.clone(),
            root: files.root.clone(),
            files: contents.collect(),
            packages: files.packages.clone(),
            others: files.others.clone(),
        }
    }

    pub(super) fn files(self) -> PackageFiles {
        let file = |bytes: Bytes| File { bytes: bytes.0, fingerprint: None };
        PackageFiles {
            name: self.name,
            root: self.root,
            files: self.files.into_iter().map(|(path, bytes)| (path, file(bytes))).collect(),
            packages: self.packages,
            others: self.others,
            warnings: Vec::new(),
        }
    }
}

/// [`RenderOptions`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WireOptions {
    limits: Limits,
    profiles: Vec<StepProfile>,
    image_prefix: ImagePrefix,
    grants: Grants,
    style: WriteStyle,
    #[serde(with = "StatusModeForm")]
    status: StatusMode,
    out_of_place: bool,
    attribution: bool,
    conditions: bool,
    changes: Option<ChangeOptions>,
}

impl WireOptions {
    pub(super) fn of(options: &RenderOptions) -> Self {
        let RenderOptions { call, style, status, out_of_place, attribution, experiments, changes } = options;
        // Programs of the host can't run in a worker, so that it is not told whether they may.
        let CallOptions { limits, profiles, image_prefix, allow_exec: _, grants } = call;
        let Experiments { conditions } = *experiments;
        Self {
            limits: limits.clone(),
            profiles: profiles.clone(),
            image_prefix: image_prefix.clone(),
            grants: grants.clone(),
            style: *style,
            status: *status,
            out_of_place: *out_of_place,
            attribution: *attribution,
            conditions,
            changes: changes.clone(),
        }
    }

    pub(super) fn options(self) -> RenderOptions {
        RenderOptions {
            call: CallOptions {
                limits: self.limits,
                profiles: self.profiles,
                image_prefix: self.image_prefix,
                allow_exec: false,
                grants: self.grants,
            },
            style: self.style,
            status: self.status,
            out_of_place: self.out_of_place,
            attribution: self.attribution,
            experiments: Experiments { conditions: self.conditions },
            changes: self.changes,
        }
    }
}

/// For `#[serde(with = …)]`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "ParseLimits")]
pub(crate) struct ParseLimitsForm {
    depth: u32,
    bytes: usize,
    nodes: usize,
    documents: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "StatusMode")]
enum StatusModeForm {
    Full,
    Conditions,
    None,
}

/// [`Outcome`](crate::Outcome).
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WireOutcome {
    pub(super) changes: Vec<WireChange>,
    /// One `ResourceList`; `None` when there are no resources.
    pub(super) resources: Option<String>,
    pub(super) steps: Vec<StepReport>,
    pub(super) packages: usize,
    pub(super) failure: Option<Failure>,
    pub(super) stores: u64,
    pub(super) saved_on_failure: bool,
}

/// [`Change`](crate::package::Change); no bytes for a deletion.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WireChange {
    pub(super) path: String,
    pub(super) bytes: Option<Bytes>,
}

/// What several share, for `#[serde(with = …)]`: each side has one of its own.
pub(crate) mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<T: Serialize + ?Sized, S: Serializer>(value: &Arc<T>, to: S) -> Result<S::Ok, S::Error> {
        (**value).serialize(to)
    }

    pub(crate) fn deserialize<'de, T: ?Sized, D: Deserializer<'de>>(from: D) -> Result<Arc<T>, D::Error>
    where
        Box<T>: Deserialize<'de>,
    {
        Box::<T>::deserialize(from).map(Arc::from)
    }
}

/// The results of functions, whose types belong to another crate.
pub(crate) mod results {
    use std::collections::BTreeMap;

    use portico_krm::FunctionResult;
    use portico_krm::results::{Field, File, ResourceRef};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Form {
        message: String,
        severity: Option<String>,
        resource_ref: Option<[String; 4]>,
        field: Option<(String, Option<String>, Option<String>)>,
        file: Option<(String, i64)>,
        tags: BTreeMap<String, String>,
    }

    /// For `#[serde(with = …)]`.
    pub(crate) fn serialize<S: Serializer>(results: &[FunctionResult], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(results.iter().map(|result| {
            let FunctionResult { message, severity, resource_ref, field, file, tags } = result.clone();
            Form {
                message,
                severity,
                resource_ref: resource_ref.map(|of| [of.api_version, of.kind, of.name, of.namespace]),
                field: field.map(|field| (field.path, field.current_value, field.proposed_value)),
                file: file.map(|file| (file.path, file.index)),
                tags,
            }
        }))
    }

    /// For `#[serde(with = …)]`.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<FunctionResult>, D::Error> {
        let forms = Vec::<Form>::deserialize(deserializer)?;
        let result = |form: Form| FunctionResult {
            message: form.message,
            severity: form.severity,
            resource_ref: form.resource_ref.map(|[api_version, kind, name, namespace]| ResourceRef {
                api_version,
                kind,
                name,
                namespace,
            }),
            field: form.field.map(|(path, current_value, proposed_value)| Field {
                path,
                current_value,
                proposed_value,
            }),
            file: form.file.map(|(path, index)| File { path, index }),
            tags: form.tags,
        };
        Ok(forms.into_iter().map(result).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::{decode, frame};
    use super::*;
    use crate::grant::{GrantedDirectory, Node, NodeId, Tree};

    #[test]
    fn options_come_back_with_all_that_is_granted() {
        let mut tree = Tree::default();
        let inner = tree.add(NodeId::ROOT, "inner", Node::Directory(Vec::new()));
        tree.add(inner, "file", Node::File(b"content".as_slice().into()));
        tree.add(inner, "link", Node::Link("file".into()));
        let mut grants = Grants::default();
        grants.add_directory(GrantedDirectory::of("/data", tree)).unwrap();
        grants.set_env("NAME", "value").unwrap();
        let mut options = RenderOptions {
            style: WriteStyle::Kpt,
            status: StatusMode::None,
            changes: Some(ChangeOptions::default()),
            ..RenderOptions::default()
        };
        options.call.grants = grants;
        options.call.limits.yaml.depth = 7;
        // Never sent: a worker runs no programs.
        options.call.allow_exec = true;

        let sent = frame(&WireOptions::of(&options)).unwrap();
        let got = decode::<WireOptions>(&sent[8..]).unwrap().options();
        options.call.allow_exec = false;
        assert_eq!(format!("{got:?}"), format!("{options:?}"));
        let trees = |options: &RenderOptions| {
            let directories = options.call.grants.directories().iter();
            directories.map(|directory| format!("{} {:?}", directory.target(), directory.tree)).collect::<Vec<_>>()
        };
        assert_eq!(trees(&got), trees(&options));
        assert_eq!(got.call.grants.env(), options.call.grants.env());
    }
}
