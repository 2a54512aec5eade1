//! Setters and substitutions, as the `openAPI` of an old Kptfile defines them.

use std::collections::BTreeMap;

use portico_fn::Resource;
use portico_fn::yaml::{NodeId, Tree};

const PREFIX: &str = "io.k8s.cli.";
const SETTERS: &str = "setters.";
const SUBSTITUTIONS: &str = "substitutions.";

/// Substitutions inside each other.
const MAX_DEPTH: usize = 32;
/// Bytes of an expanded pattern: substitutions can double with each level.
const MAX_PATTERN: usize = 4 << 10;

/// What a Kptfile defines.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    /// Values by the setter's name; lists as block text.
    pub(crate) setters: BTreeMap<String, String>,
    substitutions: BTreeMap<String, Substitution>,
}

#[derive(Debug)]
struct Substitution {
    pattern: String,
    /// Markers in the pattern, and the names of what stands for them.
    values: Vec<(String, String)>,
}

impl Definitions {
    pub(crate) fn read(kptfile: &Resource) -> Result<Definitions, String> {
        let tree = &kptfile.tree;
        let mut definitions = Definitions::default();
        let Some(all) = tree.get_path(kptfile.root(), &["openAPI", "definitions"]) else { return Ok(definitions) };
        if !tree.is_mapping(all) {
            return Err(format!("`{}`: `openAPI.definitions` must be a mapping", crate::shown(kptfile)));
        }
        for (key, definition) in tree.entries(all) {
            let key = tree.text(key);
            if let Some(setter) = tree.get_path(definition, &["x-k8s-cli", "setter"]) {
                let name = tree.text_at(setter, &["name"]).filter(|name| !name.is_empty());
                let name = name.unwrap_or_else(|| short(key)).to_owned();
                definitions.setters.insert(name, value(tree, setter));
            } else if let Some(substitution) = tree.get_path(definition, &["x-k8s-cli", "substitution"]) {
                let pattern = tree.text_at(substitution, &["pattern"]).unwrap_or_default().to_owned();
                let values = tree.get(substitution, "values").filter(|values| tree.is_sequence(*values));
                let values = values.into_iter().flat_map(|values| tree.elements(values));
                let part = |value, field: &str| tree.text_at(value, &[field]).unwrap_or_default();
                let values = values.map(|v| (part(v, "marker").to_owned(), short(part(v, "ref")).to_owned()));
                let values = values.filter(|(marker, _)| !marker.is_empty()).collect();
                definitions.substitutions.insert(short(key).to_owned(), Substitution { pattern, values });
            }
        }
        Ok(definitions)
    }

    /// What stands behind `kpt-set: ` for a setter or substitution: the pattern in terms of setters.
    pub(crate) fn pattern(&self, name: &str) -> Result<String, String> {
        self.expand(name, 0)
    }

    fn expand(&self, name: &str, depth: usize) -> Result<String, String> {
        let Some(substitution) = self.substitutions.get(name).filter(|_| !self.setters.contains_key(name)) else {
            return Ok(format!("${{{name}}}"));
        };
        if depth == MAX_DEPTH {
            return Err(format!("the substitution `{name}` refers to itself, or is nested more than {MAX_DEPTH} deep"));
        }
        let mut pattern = String::new();
        let mut rest = substitution.pattern.as_str();
        // From left to right, so that what was put in is not searched again.
        while let Some((at, marker, value)) = substitution
            .values
            .iter()
            .filter_map(|(marker, value)| Some((rest.find(marker.as_str())?, marker, value)))
            .min_by_key(|(at, ..)| *at)
        {
            pattern.push_str(&rest[..at]);
            pattern.push_str(&self.expand(value, depth + 1)?);
            rest = &rest[at + marker.len()..];
            if pattern.len() > MAX_PATTERN {
                return Err(format!("the substitution `{name}` becomes longer than {MAX_PATTERN} bytes"));
            }
        }
        pattern.push_str(rest);
        Ok(pattern)
    }
}

/// A name without what all names begin with: `#/definitions/io.k8s.cli.setters.x` is `x`.
pub(crate) fn short(name: &str) -> &str {
    let name = name.strip_prefix("#/definitions/").unwrap_or(name);
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    name.strip_prefix(SETTERS).or_else(|| name.strip_prefix(SUBSTITUTIONS)).unwrap_or(name)
}

/// The value of a setter: of a list its elements, of an enumeration what the chosen name stands for.
fn value(tree: &Tree, setter: NodeId) -> String {
    if let Some(list) = tree.get(setter, "listValues").filter(|list| tree.is_sequence(*list) && !tree.is_empty(*list)) {
        let elements: Vec<&str> = tree.elements(list).map(|id| tree.text(id)).collect();
        return block_list(&elements);
    }
    let value = tree.text_at(setter, &["value"]).unwrap_or_default();
    tree.text_at(setter, &["enumValues", value]).unwrap_or(value).to_owned()
}

/// A list as the text of a setter. Elements that would read as something else are quoted.
pub(crate) fn block_list(elements: &[&str]) -> String {
    let lines: Vec<String> = elements.iter().map(|element| format!("- {}\n", as_scalar(element))).collect();
    lines.concat()
}

fn as_scalar(text: &str) -> String {
    let plain = !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
        && text.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
    if plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "''").replace(['\n', '\r'], " ")) }
}
