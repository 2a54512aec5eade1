//! A hierarchy of folders in its three forms.

use portico_fn::Resource;
use portico_fn::yaml::{NodeId, Tree};

pub(crate) const KIND: &str = "ResourceHierarchy";
pub(crate) const NEWEST: &str = "blueprints.cloud.google.com/v1alpha3";

/// Folders of one hierarchy. Subtrees can double with each level, and a package is read whole.
const MAX_FOLDERS: usize = 10_000;
/// Levels; Google Cloud itself allows ten.
const MAX_DEPTH: usize = 32;
/// Stands for the children that `spec.subtrees` has under a name.
const SUBTREE: &str = "$subtree";

/// Which form an object has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    /// Layers, each with its names.
    V1,
    /// A tree; parents stand in annotations.
    V2,
    /// A tree; parents stand in the spec.
    V3,
}

impl Generation {
    pub(crate) fn of(api_version: &str) -> Option<Generation> {
        match api_version {
            "cft.dev/v1alpha1" => Some(Generation::V1),
            "cft.dev/v1alpha2" => Some(Generation::V2),
            NEWEST => Some(Generation::V3),
            _ => None,
        }
    }
}

/// What the first folders lie in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Parent {
    Organization(String),
    Folder(String),
}

/// A folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// As people see it.
    pub(crate) name: String,
    pub(crate) children: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hierarchy {
    pub(crate) generation: Generation,
    pub(crate) parent: Parent,
    pub(crate) roots: Vec<Node>,
}

impl Hierarchy {
    /// Reads the spec; the error says which field is wrong.
    pub(crate) fn read(item: &Resource, generation: Generation) -> Result<Hierarchy, String> {
        let mut reader = Reader { item, tree: &item.tree, count: 0 };
        let (parent, roots) = match generation {
            Generation::V1 => {
                let organization = item.string_at(&["spec", "organization"]);
                if organization.is_empty() {
                    return Err("`spec.organization` must name the organization".to_owned());
                }
                (Parent::Organization(organization.to_owned()), reader.layers()?)
            }
            Generation::V2 | Generation::V3 => {
                let parent = parent(item)?;
                let config = reader.at(&["spec", "config"]).ok_or("`spec.config` must hold the folders")?;
                (parent, reader.children(config, "spec.config", 1)?)
            }
        };
        Ok(Hierarchy { generation, parent, roots })
    }
}

fn parent(item: &Resource) -> Result<Parent, String> {
    let external = item.string_at(&["spec", "parentRef", "external"]);
    if external.is_empty() {
        return Err("`spec.parentRef.external` must name the organization or folder that the folders lie in".to_owned());
    }
    match item.string_at(&["spec", "parentRef", "kind"]) {
        "" | "Organization" => Ok(Parent::Organization(external.to_owned())),
        "Folder" => Ok(Parent::Folder(external.to_owned())),
        other => Err(format!("`spec.parentRef.kind` is `{other}`; it must be `Organization` or `Folder`")),
    }
}

struct Reader<'t> {
    item: &'t Resource,
    tree: &'t Tree,
    count: usize,
}

impl Reader<'_> {
    fn at(&self, path: &[&str]) -> Option<NodeId> {
        self.tree.get_path(self.item.root(), path)
    }

    fn node(&mut self, name: &str, path: &str, children: Vec<Node>) -> Result<Node, String> {
        self.count += 1;
        if self.count > MAX_FOLDERS {
            return Err(format!("the hierarchy has more than {MAX_FOLDERS} folders"));
        }
        if super::normalise(name).is_empty() {
            return Err(format!("`{path}`: the folder `{name}` has no letter or digit for the name of its object"));
        }
        Ok(Node { name: name.to_owned(), children })
    }

    /// The children at a node: a list of names and of mappings from a name to its children, or a reference.
    fn children(&mut self, id: NodeId, path: &str, depth: usize) -> Result<Vec<Node>, String> {
        if depth > MAX_DEPTH {
            return Err(format!(
                "`{path}`: folders are nested more than {MAX_DEPTH} deep; does a subtree hold itself?"
            ));
        }
        let tree = self.tree;
        if tree.is_null(id) {
            return Ok(Vec::new());
        }
        if let Some(reference) = tree.get(id, SUBTREE).filter(|_| tree.is_mapping(id)) {
            return self.subtree(reference, path, depth);
        }
        if !tree.is_sequence(id) {
            return Err(format!("`{path}` must be a list of folders, or `{SUBTREE}: NAME`"));
        }
        let mut nodes = Vec::new();
        for (index, element) in tree.elements(id).enumerate() {
            let path = format!("{path}[{index}]");
            if tree.is_mapping(element) {
                for (key, value) in tree.entries(element) {
                    let name = tree.text(key);
                    if name == SUBTREE {
                        nodes.extend(self.subtree(value, &path, depth)?);
                    } else {
                        let children = self.children(value, &format!("{path}.{name}"), depth + 1)?;
                        nodes.push(self.node(name, &path, children)?);
                    }
                }
            } else if tree.is_scalar(element) && !tree.is_null(element) {
                nodes.push(self.node(tree.text(element), &path, Vec::new())?);
            } else {
                return Err(format!("`{path}` must be the name of a folder, or a mapping from a name to its folders"));
            }
        }
        Ok(nodes)
    }

    fn subtree(&mut self, reference: NodeId, path: &str, depth: usize) -> Result<Vec<Node>, String> {
        let name = if self.tree.is_scalar(reference) { self.tree.text(reference) } else { "" };
        let children = self.at(&["spec", "subtrees", name]).filter(|_| !name.is_empty());
        let children = children
            .ok_or_else(|| format!("`{path}` refers to the subtree `{name}`, which `spec.subtrees` has not"))?;
        // A level by itself, so that subtrees that hold each other end.
        self.children(children, &format!("spec.subtrees.{name}"), depth + 1)
    }

    /// Every name of a layer below every name of the one before.
    fn layers(&mut self) -> Result<Vec<Node>, String> {
        let tree = self.tree;
        let layers = self.at(&["spec", "layers"]).filter(|id| tree.is_sequence(*id));
        let layers: Vec<&str> =
            tree.elements(layers.ok_or("`spec.layers` must be the list of layers")?).map(|id| tree.text(id)).collect();
        if layers.len() > MAX_DEPTH {
            return Err(format!("`spec.layers` has more than {MAX_DEPTH} layers"));
        }
        let mut below: Vec<Node> = Vec::new();
        for layer in layers.iter().rev() {
            let path = format!("spec.config.{layer}");
            let names = self.at(&["spec", "config", layer]).filter(|id| tree.is_sequence(*id));
            let names = names.ok_or_else(|| format!("`{path}` must list the folders of the layer `{layer}`"))?;
            let mut nodes = Vec::new();
            for id in tree.elements(names).filter(|id| tree.is_scalar(*id)) {
                // Each copy counts, as each becomes an object.
                self.count += below.iter().map(size).sum::<usize>();
                nodes.push(self.node(tree.text(id), &path, below.clone())?);
            }
            below = nodes;
        }
        Ok(below)
    }
}

fn size(node: &Node) -> usize {
    1 + node.children.iter().map(size).sum::<usize>()
}
