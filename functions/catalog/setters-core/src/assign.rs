//! Giving fields new values.

use portico_fn::yaml::{NodeId, ScalarType, Style, Tree, plain_is_ambiguous};

use crate::field_type::FieldType;

/// Replaces the text of a scalar; its comments stay, an explicit tag goes.
///
/// Quotes stay. A bare scalar stays bare, its type inferred anew, so that a number stays a number. But a string stays a
/// string: it gets quotes where the new text would read as another type, unless the field is known to hold none
/// ([`FieldType::Bare`]); and so does whatever stands in a field that is known to hold one. An empty text is `""`.
pub fn assign(tree: &mut Tree, id: NodeId, text: &str, known: Option<FieldType>) {
    let style = tree.style(id);
    let bare = style == Style::Plain;
    let is_text = match known {
        Some(FieldType::Text) => true,
        Some(FieldType::Bare) => false,
        None => {
            let old = tree.scalar_type(id);
            !matches!(old, ScalarType::Null | ScalarType::Bool | ScalarType::Int | ScalarType::Float)
        }
    };
    if text.is_empty() {
        tree.set_text(id, "");
        tree.set_style(id, Style::DoubleQuoted);
    } else if bare && (is_text && plain_is_ambiguous(text) || text.contains('\n')) {
        tree.set_string(id, text);
    } else if tree.text(id) != text || tree.is_forced_string(id) {
        tree.set_text(id, text);
    }
    tree.set_tag(id, None);
}

/// Reads a text as a list of values: a tree whose root is a sequence. `None` when it is no YAML or another value.
pub fn listed(text: &str) -> Option<Tree> {
    let limits = portico_fn::yaml::ParseLimits::default();
    let tree = Tree::parse(text, &limits).ok().flatten()?;
    tree.is_sequence(tree.root()).then_some(tree)
}

/// Replaces the elements of a list by copies of those of another tree's root. Elements of a field that is known to hold
/// strings get quotes where they would read as another type.
pub fn replace_elements(tree: &mut Tree, list: NodeId, from: &Tree, known: Option<FieldType>) {
    let elements: Vec<NodeId> = from.elements(from.root()).map(|element| tree.copy_from(from, element)).collect();
    if known == Some(FieldType::Text) {
        for element in &elements {
            if tree.is_scalar(*element) {
                let text = tree.text(*element).to_owned();
                assign(tree, *element, &text, known);
            }
        }
    }
    tree.set_children(list, &elements);
}

#[cfg(test)]
mod tests {
    use portico_fn::yaml::{EmitOptions, ParseLimits, emit};

    use super::*;

    fn assigned(old: &str, text: &str, known: Option<FieldType>) -> String {
        let mut tree = Tree::parse(format!("a: {old}\n"), &ParseLimits::default()).expect("yaml").expect("a document");
        let a = tree.get(tree.root(), "a").expect("a");
        assign(&mut tree, a, text, known);
        let mut out = String::new();
        emit(&tree, tree.root(), &EmitOptions::default(), &mut out);
        out.strip_prefix("a: ").expect("a").trim_end().to_owned()
    }

    #[test]
    fn numbers_stay_numbers_and_quotes_stay_quotes() {
        assert_eq!(assigned("1 # c", "3", None), "3 # c");
        assert_eq!(assigned("true", "false", None), "false");
        assert_eq!(assigned("\"1\"", "3", None), "\"3\"");
        assert_eq!(assigned("'a' # c", "b", None), "'b' # c");
        assert_eq!(assigned("~", "3", None), "3");
        assert_eq!(assigned("1", "abc", None), "abc");
    }

    #[test]
    fn a_string_stays_a_string() {
        assert_eq!(assigned("abcdef0 # c", "0071335", None), "\"0071335\" # c");
        assert_eq!(assigned("off", "yes", None), "\"yes\"");
        assert_eq!(assigned("x", "9e5", None), "\"9e5\"");
        assert_eq!(assigned("!!str 1", "3", None), "\"3\"");
        assert_eq!(assigned("x", "y-z", None), "y-z");
        assert_eq!(assigned("x", "", None), "\"\"");
        assert_eq!(assigned("x", "null", None), "\"null\"");
    }

    #[test]
    fn what_is_known_of_a_field_decides() {
        assert_eq!(assigned("REPLICAS", "3", Some(FieldType::Bare)), "3");
        assert_eq!(assigned("1", "3", Some(FieldType::Text)), "\"3\"");
        assert_eq!(assigned("1", "1", Some(FieldType::Text)), "\"1\"");
        assert_eq!(assigned("1", "a", Some(FieldType::Text)), "a");
    }

    #[test]
    fn text_of_several_lines_reads_back_as_it_was() {
        for old in ["x", "\"x\"", "'x'", "|-\n  x"] {
            let out = assigned(old, "p\n  q: # r\n", None);
            let tree = Tree::parse(format!("a: {out}\n"), &ParseLimits::default()).expect("yaml").expect("a document");
            assert_eq!(tree.text_at(tree.root(), &["a"]), Some("p\n  q: # r\n"), "{out}");
        }
    }

    #[test]
    fn only_lists_are_lists() {
        assert!(listed("[a, b]").is_some());
        assert!(listed("- a\n- b").is_some());
        for text in ["a", "a: b", "", "null", "[a", "# c"] {
            assert!(listed(text).is_none(), "{text}");
        }
    }
}
