//! Texts that hold a document themselves, as the values of a `ConfigMap` do.

use portico_fn::yaml::{EmitOptions, Kind, NodeId, ParseLimits, ScalarType, Style, Tree, emit_document, emit_json};

/// Deepest nesting of a document inside a text.
const MAX_DEPTH: u32 = 200;

/// A document that stood in a text.
pub(crate) struct Embedded {
    pub(crate) tree: Tree,
    form: Form,
    /// The text ended with a line break.
    ends_line: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Yaml,
    /// On one line, or one value a line.
    Json {
        pretty: bool,
    },
}

impl Embedded {
    /// Reads a text; `None` when it holds no mapping and no list.
    pub(crate) fn read(text: &str) -> Option<Embedded> {
        let limits = ParseLimits { depth: MAX_DEPTH, ..ParseLimits::default() };
        let tree = Tree::parse(text, &limits).ok()??;
        if !matches!(tree.kind(tree.root()), Kind::Mapping | Kind::Sequence) {
            return None;
        }
        let form = if is_json(&tree) { Form::Json { pretty: text.contains("\n  ") } } else { Form::Yaml };
        Some(Embedded { tree, form, ends_line: text.ends_with('\n') })
    }

    /// Writes it in the form that it had.
    pub(crate) fn into_text(self) -> String {
        let mut text = String::new();
        match self.form {
            Form::Yaml => emit_document(&self.tree, &EmitOptions::default(), &mut text),
            Form::Json { pretty } => {
                emit_json(&self.tree, self.tree.root(), &mut text);
                if !pretty {
                    text = on_one_line(&text);
                }
            }
        }
        text.truncate(text.trim_end().len());
        if self.ends_line {
            text.push('\n');
        }
        text
    }
}

/// True when the document was written as JSON: flow collections, strings in double quotes, JSON's other values.
fn is_json(tree: &Tree) -> bool {
    let is_string = |id: NodeId| tree.style(id) == Style::DoubleQuoted;
    let mut open = vec![tree.root()];
    while let Some(id) = open.pop() {
        let fine = match tree.kind(id) {
            Kind::Alias => false,
            Kind::Sequence => tree.style(id) == Style::Flow,
            Kind::Mapping => tree.style(id) == Style::Flow && tree.entries(id).all(|(key, _)| is_string(key)),
            Kind::Scalar => is_string(id) || is_json_literal(tree, id),
        };
        if !fine || tree.comments(id).is_some() {
            return false;
        }
        open.extend(tree.children(id));
    }
    true
}

fn is_json_literal(tree: &Tree, id: NodeId) -> bool {
    let text = tree.text(id);
    tree.style(id) == Style::Plain
        && match tree.scalar_type(id) {
            ScalarType::Null => text == "null",
            ScalarType::Bool => matches!(text, "true" | "false"),
            ScalarType::Int | ScalarType::Float => text.starts_with(|c: char| c == '-' || c.is_ascii_digit()),
            _ => false,
        }
}

/// JSON without the space between its values.
fn on_one_line(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut inside, mut escaped) = (false, false);
    for c in json.chars() {
        if inside {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            inside = !ends;
            out.push(c);
        } else if !c.is_ascii_whitespace() {
            inside = c == '"';
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(text: &str) -> Option<String> {
        Embedded::read(text).map(Embedded::into_text)
    }

    #[test]
    fn documents_keep_their_form() {
        for text in [
            "{\"a\":\"b \\\" c\",\"d\":[1,true,null]}",
            "{\n  \"a\": \"b\",\n  \"d\": [\n    1\n  ]\n}\n",
            "a: b # c\nd:\n- 1\n",
            "a: b",
        ] {
            assert_eq!(round_trip(text).as_deref(), Some(text));
        }
    }

    #[test]
    fn other_texts_hold_nothing() {
        for text in ["", "plain", "1", "a: [", "*a", "http://example.com:80/x"] {
            assert_eq!(round_trip(text), None, "{text}");
        }
    }
}
