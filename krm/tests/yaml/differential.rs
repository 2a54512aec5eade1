//! The same values as another parser finds, which shares nothing with ours.

use portico_krm::yaml::{Kind, NodeId, ParseLimits, SourceFile, Style, Tree};
use saphyr_parser::{Event, Parser, ScalarStyle};

use crate::support::{OWN, conformance, manifests};

/// Structure and values of a text, one event a line; `None` where the other parser refuses it.
fn their_events(text: &str) -> Option<String> {
    let mut out = String::new();
    for event in Parser::new_from_str(text) {
        match event.ok()?.0 {
            Event::Scalar(text, style, ..) => {
                let mark = match style {
                    ScalarStyle::Plain => ':',
                    ScalarStyle::SingleQuoted => '\'',
                    ScalarStyle::DoubleQuoted => '"',
                    ScalarStyle::Literal => '|',
                    ScalarStyle::Folded => '>',
                };
                // This parser reads nothing as `~`.
                let text = if mark == ':' && text == "~" { "".into() } else { text };
                out.push_str(&format!("{mark}{text:?}\n"));
            }
            Event::Alias(_) => out.push_str("*\n"),
            Event::SequenceStart(..) => out.push_str("[\n"),
            Event::SequenceEnd => out.push_str("]\n"),
            Event::MappingStart(..) => out.push_str("{\n"),
            Event::MappingEnd => out.push_str("}\n"),
            _ => {}
        }
    }
    Some(out)
}

fn write_events(tree: &Tree, id: NodeId, out: &mut String) {
    let (open, close) = match tree.kind(id) {
        Kind::Alias => return out.push_str("*\n"),
        Kind::Scalar => {
            let mark = match tree.style(id) {
                Style::SingleQuoted => '\'',
                Style::DoubleQuoted => '"',
                Style::Literal => '|',
                Style::Folded => '>',
                _ => ':',
            };
            let text = if mark == ':' && tree.text(id) == "~" { "" } else { tree.text(id) };
            return out.push_str(&format!("{mark}{text:?}\n"));
        }
        Kind::Sequence => ("[\n", "]\n"),
        Kind::Mapping => ("{\n", "}\n"),
    };
    out.push_str(open);
    tree.children(id).for_each(|child| write_events(tree, child, out));
    out.push_str(close);
}

/// Compares all documents of a file; how many the other parser refused.
fn compare(name: &str, bytes: &[u8], wrong: &mut Vec<String>) -> (usize, usize) {
    // YAML 1.2 ends the last line of a block scalar where the file does not, and knows no NEL as a line break.
    let text = String::from_utf8_lossy(bytes).replace('\u{85}', " ") + "\n";
    let bytes = if bytes.starts_with(b"\xFF\xFE") { bytes } else { text.as_bytes() };
    let Ok(file) = SourceFile::parse(bytes, &ParseLimits::default()) else { return (0, 0) };
    let mut refused = 0;
    for document in file.documents() {
        let mut ours = String::new();
        write_events(&document.tree, document.tree.root(), &mut ours);
        match their_events(&file.text()[document.span.clone()]) {
            Some(theirs) if theirs == ours => {}
            Some(theirs) => {
                let at = ours.lines().zip(theirs.lines()).find(|(a, b)| a != b);
                wrong.push(format!("{name}: {at:?}"));
            }
            None => refused += 1,
        }
    }
    (file.documents().len(), refused)
}

#[test]
fn manifests_have_the_values_that_another_parser_finds() {
    let mut wrong = Vec::new();
    let (mut documents, mut refused) = (0, 0);
    for folder in ["kpt", "catalog", "yaml", "reports"] {
        for path in conformance(folder).iter().flat_map(|folder| manifests(folder)) {
            let found = compare(&path.display().to_string(), &std::fs::read(&path).unwrap(), &mut wrong);
            documents += found.0;
            refused += found.1;
        }
    }
    for text in OWN {
        compare(text, text.as_bytes(), &mut wrong);
    }
    println!("{documents} documents, {refused} of them refused by the other parser");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(refused * 50 <= documents, "too few documents are compared");
}
