//! The data of a configuration object.

use std::collections::BTreeMap;

use portico_fn::Resource;
use portico_fn::yaml::{EmitOptions, Kind, emit};

/// The entries under `data` of a configuration object of whatever kind, as text: scalars by their spelling, null as the
/// empty text, lists as YAML. Nothing when there is no object or no data; a text that names the field when an entry is
/// a mapping.
pub fn data_of(config: Option<&Resource>) -> Result<BTreeMap<String, String>, String> {
    let mut out = BTreeMap::new();
    let Some(config) = config else { return Ok(out) };
    let tree = &config.tree;
    let Some(data) = tree.get(config.root(), "data").filter(|id| !tree.is_null(*id)) else { return Ok(out) };
    if !tree.is_mapping(data) {
        return Err("`data` of the function configuration must be a mapping".to_owned());
    }
    for (key, value) in tree.entries(data) {
        let key = tree.text(key);
        let text = match tree.kind(value) {
            Kind::Scalar if tree.is_null(value) => String::new(),
            Kind::Scalar => tree.text(value).to_owned(),
            Kind::Sequence => {
                let mut text = String::new();
                emit(tree, value, &EmitOptions::default(), &mut text);
                text
            }
            Kind::Mapping => {
                return Err(format!(
                    "`data.{key}` of the function configuration is a mapping, expected a string or a list"
                ));
            }
            Kind::Alias => {
                return Err(format!(
                    "`data.{key}` of the function configuration is an alias, expected a string or a list"
                ));
            }
        };
        out.insert(key.to_owned(), text);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use portico_fn::yaml::{ParseLimits, Tree};

    use super::*;

    fn data(yaml: &str) -> Result<Vec<(String, String)>, String> {
        let tree = Tree::parse(yaml, &ParseLimits::default()).expect("yaml").expect("a document");
        data_of(Some(&Resource { tree })).map(|data| data.into_iter().collect())
    }

    #[test]
    fn entries_are_text_whatever_their_type() {
        let found = data("kind: Any\ndata:\n  a: 'x'\n  b: 0x1F\n  c:\n  d: [p, q]\n").expect("data");
        let entries: Vec<(&str, &str)> = found.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(entries, [("a", "x"), ("b", "0x1F"), ("c", ""), ("d", "[p, q]\n")]);
        assert_eq!(data("kind: Any\n"), Ok(Vec::new()));
        assert_eq!(data_of(None), Ok(BTreeMap::new()));
    }

    #[test]
    fn a_mapping_is_refused_by_name() {
        let error = data("data:\n  a: {b: c}\n").expect_err("a mapping");
        assert_eq!(error, "`data.a` of the function configuration is a mapping, expected a string or a list");
        assert!(data("data: [a]\n").is_err());
    }
}
