//! What the API reads from, and writes into, the files of a package: pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use portico_krm::kptfile::{KPTFILE_NAME, Kptfile};
use portico_krm::splice::{Edited, splice};
use portico_krm::yaml::{ParseLimits, SourceFile, Tree};
use portico_scheduler::model::Files;
use serde::Serialize;

use super::types::{Condition, GitLock, Locator, PackageInitTask, PackageMetadata, ReadinessGate};

/// The file in which functions find the package's name.
const CONTEXT: &str = "package-context.yaml";

/// What a package's Kptfile says that a package revision shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Facts {
    pub(super) metadata: Option<PackageMetadata>,
    pub(super) upstream_lock: Option<Locator>,
    pub(super) readiness_gates: Vec<ReadinessGate>,
    pub(super) conditions: Vec<Condition>,
}

impl Facts {
    /// Those of these files; `None` without a Kptfile that can be read.
    pub(super) fn of(files: &Files) -> Option<Self> {
        let parsed = SourceFile::parse(files.get(KPTFILE_NAME)?, &ParseLimits::default()).ok()?;
        let kptfile = Kptfile::from_tree(parsed.documents().first()?.tree.clone()).ok()?;
        let metadata = PackageMetadata {
            labels: kptfile.metadata.labels.clone(),
            annotations: kptfile.metadata.annotations.clone(),
        };
        let lock = kptfile.upstream_lock.as_ref().map(|lock| Locator {
            kind: lock.origin.clone(),
            git: lock.git.as_ref().map(|git| GitLock {
                repo: git.repo.clone(),
                directory: git.directory.clone(),
                reference: git.reference.clone(),
                commit: git.commit.clone(),
            }),
        });
        let gates = kptfile.info.iter().flat_map(|info| &info.readiness_gates);
        let conditions = kptfile.conditions.iter().map(|condition| Condition {
            kind: condition.kind.clone(),
            status: condition.status.clone(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            last_transition_time: None,
        });
        Some(Self {
            metadata: (metadata != PackageMetadata::default()).then_some(metadata),
            upstream_lock: lock,
            readiness_gates: gates.map(|gate| ReadinessGate { condition_type: gate.clone() }).collect(),
            conditions: conditions.collect(),
        })
    }
}

/// The last folder of a package's name: what its Kptfile calls it.
pub(super) fn short_name(package: &str) -> &str {
    package.rsplit('/').next().unwrap_or(package)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewKptfile<'a> {
    api_version: &'a str,
    kind: &'a str,
    metadata: NewMetadata<'a>,
    info: NewInfo<'a>,
}

#[derive(Serialize)]
struct NewMetadata<'a> {
    name: &'a str,
    annotations: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct NewInfo<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    site: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    keywords: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewContext<'a> {
    api_version: &'a str,
    kind: &'a str,
    metadata: NewMetadata<'a>,
    data: BTreeMap<&'a str, &'a str>,
}

/// An empty package, with the files that `kpt pkg init` makes.
pub(super) fn init(package: &str, task: &PackageInitTask) -> Files {
    let name = short_name(package);
    let local = || BTreeMap::from([("config.kubernetes.io/local-config", "true")]);
    let description = if task.description.is_empty() { "sample description" } else { &task.description };
    let kptfile = NewKptfile {
        api_version: "kpt.dev/v1",
        kind: "Kptfile",
        metadata: NewMetadata { name, annotations: local() },
        info: NewInfo { site: &task.site, description, keywords: &task.keywords },
    };
    let context = NewContext {
        api_version: "v1",
        kind: "ConfigMap",
        metadata: NewMetadata { name: "kptfile.kpt.dev", annotations: local() },
        data: BTreeMap::from([("name", name)]),
    };
    // Plain texts under text keys: nothing that YAML could refuse.
    let yaml = |text: Result<String, serde_yaml::Error>| Bytes::from(text.unwrap_or_default());
    let readme = format!("# {name}\n\n{description}\n");
    Arc::new(BTreeMap::from([
        (KPTFILE_NAME.to_owned(), yaml(serde_yaml::to_string(&kptfile))),
        (CONTEXT.to_owned(), yaml(serde_yaml::to_string(&context))),
        ("README.md".to_owned(), Bytes::from(readme)),
    ]))
}

/// These files as a package of another name: in its Kptfile, and in the file where functions look for it. All other bytes
/// stay; files that can't be read stay as they are.
pub(super) fn renamed(files: &Files, package: &str) -> Files {
    let name = short_name(package);
    let mut new = (**files).clone();
    for (path, field) in [(KPTFILE_NAME, ["metadata", "name"]), (CONTEXT, ["data", "name"])] {
        if let Some(bytes) = files.get(path).and_then(|bytes| with_name(bytes, field, name)) {
            new.insert(path.to_owned(), bytes.into());
        }
    }
    Arc::new(new)
}

fn with_name(bytes: &[u8], field: [&str; 2], name: &str) -> Option<Vec<u8>> {
    let parsed = SourceFile::parse(bytes, &ParseLimits::default()).ok()?;
    let mut tree: Tree = parsed.documents().first()?.tree.clone();
    let id = tree.get_path(tree.root(), &field)?;
    if tree.text(id) == name {
        return None;
    }
    tree.set_string(id, name);
    let rest = (1..parsed.documents().len()).map(Edited::Unchanged);
    let edited: Vec<Edited<'_>> = [Edited::Changed(0, &tree)].into_iter().chain(rest).collect();
    Some(splice(&parsed, &edited))
}

#[cfg(test)]
mod tests {
    use super::super::convert::tests::files;
    use super::*;

    #[test]
    fn an_empty_package_is_one_that_renders() {
        let task = PackageInitTask {
            description: "a: \"b\" # c".into(),
            keywords: vec!["net".into()],
            ..PackageInitTask::default()
        };
        let files = init("net/core", &task);
        let kptfile = Kptfile::parse(&files["Kptfile"]).unwrap();
        assert_eq!(kptfile.metadata.name, "core");
        let info = kptfile.info.unwrap();
        assert_eq!((&*info.description, &info.keywords), ("a: \"b\" # c", &task.keywords));
        assert!(files.contains_key("package-context.yaml") && files.contains_key("README.md"));
    }

    #[test]
    fn a_clone_has_its_own_name_and_keeps_its_other_bytes() {
        let kptfile = "# ours\napiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: old # theirs\n";
        let context = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\ndata:\n  name: old\n";
        let old = files(&[("Kptfile", kptfile.as_bytes()), (CONTEXT, context.as_bytes()), ("x", &[0xff])]);
        let new = renamed(&old, "net/new");
        assert_eq!(new["Kptfile"], kptfile.replace("name: old", "name: new"));
        assert_eq!(new[CONTEXT], context.replace("name: old", "name: new"));
        assert_eq!(new["x"], old["x"]);
        let broken = files(&[("Kptfile", b"a: [")]);
        assert_eq!(renamed(&broken, "new"), broken);
    }

    #[test]
    fn what_a_kptfile_says_is_read() {
        let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\n  labels: {team: x}\ninfo:\n  \
                       readinessGates:\n  - conditionType: Ready\nstatus:\n  conditions:\n  - type: Ready\n    status: \
                       \"False\"\n    reason: Waits\n";
        let facts = Facts::of(&files(&[("Kptfile", kptfile.as_bytes())])).unwrap();
        assert_eq!(facts.metadata.unwrap().labels, [("team".to_owned(), "x".to_owned())].into());
        assert_eq!(facts.readiness_gates[0].condition_type, "Ready");
        assert_eq!((&*facts.conditions[0].kind, &*facts.conditions[0].status), ("Ready", "False"));
        assert_eq!(Facts::of(&files(&[("a.yaml", b"a: b")])), None);
    }
}
