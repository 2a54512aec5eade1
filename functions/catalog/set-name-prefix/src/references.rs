//! Which fields name other objects.

use portico_fn::Resource;
use portico_fn::yaml::{NodeId, Tree};

use crate::rename::Key;

const CNRM: &str = ".cnrm.cloud.google.com";

/// A reference in an object.
pub(crate) struct Reference {
    /// The node with the name.
    pub(crate) node: NodeId,
    /// The object that is meant.
    pub(crate) target: Key,
}

/// A field of a type; its kind and group where the reference does not say them.
struct Field {
    path: &'static [&'static str],
    default: Option<(&'static str, &'static str)>,
}

const fn of(path: &'static [&'static str], group: &'static str, kind: &'static str) -> Field {
    Field { path, default: Some((group, kind)) }
}

const fn any(path: &'static [&'static str]) -> Field {
    Field { path, default: None }
}

const IAM: &str = "iam.cnrm.cloud.google.com";
const RESOURCE_MANAGER: &str = "resourcemanager.cnrm.cloud.google.com";
const ACCOUNT: &str = "IAMServiceAccount";

const NODE_POOL: &[Field] = &[
    of(&["spec", "clusterRef"], "container.cnrm.cloud.google.com", "ContainerCluster"),
    of(&["spec", "nodeConfig", "serviceAccountRef"], IAM, ACCOUNT),
];
const POLICY_MEMBER: &[Field] =
    &[of(&["spec", "memberFrom", "serviceAccountRef"], IAM, ACCOUNT), any(&["spec", "resourceRef"])];
const PARTIAL_POLICY: &[Field] = &[
    any(&["spec", "resourceRef"]),
    of(&["spec", "bindings", "members", "memberFrom", "serviceAccountRef"], IAM, ACCOUNT),
];
const IN_FOLDER: &[Field] = &[of(&["spec", "folderRef"], RESOURCE_MANAGER, "Folder")];
const OF_PROJECT: &[Field] = &[of(&["spec", "projectRef"], RESOURCE_MANAGER, "Project")];
const ROLE_BINDING: &[Field] = &[any(&["roleRef"]), any(&["subjects"])];
const IDENTITY_BINDING: &[Field] =
    &[any(&["spec", "resourceRef"]), of(&["spec", "serviceAccountRef"], "", "ServiceAccount")];

fn fields_of(group: &str, kind: &str) -> &'static [Field] {
    match (group.strip_suffix(CNRM), kind) {
        (Some("container"), "ContainerNodePool") => NODE_POOL,
        (Some("iam"), "IAMPolicyMember") => POLICY_MEMBER,
        (Some("iam"), "IAMPartialPolicy") => PARTIAL_POLICY,
        (Some("resourcemanager"), "Folder" | "Project") => IN_FOLDER,
        (Some("serviceusage"), "Service") => OF_PROJECT,
        (None, "RoleBinding") if group == "rbac.authorization.k8s.io" => ROLE_BINDING,
        (None, "WorkloadIdentityBinding") if group == "config.porch.kpt.dev" => IDENTITY_BINDING,
        _ => &[],
    }
}

/// The references of an object: its namespace, its owners, and the fields of its type.
pub(crate) fn references_of(item: &Resource) -> Vec<Reference> {
    let tree = &item.tree;
    let mut found = Vec::new();
    if let Some(node) = tree.get_path(item.root(), &["metadata", "namespace"]) {
        let (group, kind) = (String::new(), "Namespace".to_owned());
        found.push(Reference {
            node,
            target: Key { group, kind, namespace: String::new(), name: item.namespace().to_owned() },
        });
    }
    let owners = any(&["metadata", "ownerReferences"]);
    for field in fields_of(item.group(), item.kind()).iter().chain([&owners]) {
        let mut nodes = Vec::new();
        collect(tree, item.root(), field.path, &mut nodes);
        found.extend(nodes.into_iter().filter_map(|node| reference(item, node, field)));
    }
    found
}

/// The nodes at a path, through lists. Its depth is that of the path.
fn collect(tree: &Tree, at: NodeId, path: &[&str], found: &mut Vec<NodeId>) {
    let elements: Vec<NodeId> = if tree.is_sequence(at) { tree.elements(at).collect() } else { vec![at] };
    for element in elements {
        match path.split_first() {
            None => found.push(element),
            Some((key, rest)) => {
                if let Some(next) = tree.get(element, key) {
                    collect(tree, next, rest, found);
                }
            }
        }
    }
}

/// Reads `kind`, `apiVersion` or `apiGroup`, `namespace` and `name`. What is `external` is not in the package.
fn reference(item: &Resource, at: NodeId, field: &Field) -> Option<Reference> {
    let tree = &item.tree;
    if tree.get(at, "external").is_some() {
        return None;
    }
    let node = tree.get(at, "name")?;
    let text = |key: &str| tree.text_at(at, &[key]).filter(|text| !text.is_empty());
    let kind = text("kind").or(field.default.map(|(_, kind)| kind))?;
    let group = match (text("apiVersion"), text("apiGroup")) {
        (Some(api_version), _) => portico_fn::group(api_version),
        (None, Some(group)) => group,
        (None, None) => field.default.map_or("", |(group, _)| group),
    };
    let whole_cluster = matches!(kind, "ClusterRole" | "Namespace");
    let namespace = if whole_cluster { "" } else { text("namespace").unwrap_or_else(|| item.namespace()) };
    let [group, kind, namespace] = [group, kind, namespace].map(str::to_owned);
    Some(Reference { node, target: Key { group, kind, namespace, name: tree.text(node).to_owned() } })
}
