//! Where annotations live.

use std::sync::LazyLock;

use portico_fn::FieldSpec;

const TEMPLATE: &str = "spec/template/metadata/annotations";
const JOB_TEMPLATE: &str = "spec/jobTemplate/metadata/annotations";
const NESTED_TEMPLATE: &str = "spec/jobTemplate/spec/template/metadata/annotations";

/// Group, version, kind and path; an empty part of the type matches everything.
const FIELDS: &[(&str, &str, &str, &str)] = &[
    ("", "", "", "metadata/annotations"),
    ("", "v1", "ReplicationController", TEMPLATE),
    ("", "", "Deployment", TEMPLATE),
    ("", "", "ReplicaSet", TEMPLATE),
    ("", "", "DaemonSet", TEMPLATE),
    ("", "", "StatefulSet", TEMPLATE),
    ("batch", "", "Job", TEMPLATE),
    ("batch", "", "CronJob", JOB_TEMPLATE),
    ("batch", "", "CronJob", NESTED_TEMPLATE),
];

/// The fields that get annotations without being asked for, in the order in which they are set.
pub(crate) fn default_fields() -> &'static [FieldSpec] {
    static SPECS: LazyLock<Vec<FieldSpec>> = LazyLock::new(|| {
        let spec = |(group, version, kind, path): &(&str, &str, &str, &str)| FieldSpec {
            group: (*group).to_owned(),
            version: (*version).to_owned(),
            kind: (*kind).to_owned(),
            path: (*path).to_owned(),
            create: true,
        };
        FIELDS.iter().map(spec).collect()
    });
    &SPECS
}
