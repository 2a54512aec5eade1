//! Spans: the text of a node, read alone, is the node.

use portico_krm::yaml::{NodeId, ParseLimits, SourceFile, Style, Tree, value_eq};

use crate::support::{conformance, manifests, parse, seeds};

/// Spans lie inside each other, in order, at character boundaries; nothing of a node is left out.
pub(crate) fn check(tree: &Tree) {
    let source = tree.source();
    let mut open = vec![tree.root()];
    while let Some(id) = open.pop() {
        let span = tree.span(id).unwrap();
        assert!(span.start <= span.end && source.get(span.clone()).is_some(), "span {span:?}");
        let mut last = span.start;
        for child in tree.children(id) {
            let inner = tree.span(child).unwrap();
            assert!(last <= inner.start && inner.end <= span.end, "{inner:?} is not behind {last} in {span:?}");
            last = inner.end;
            open.push(child);
        }
    }
}

/// A sequence whose only element is the text of a node, each line as far to the right as in the source, and two more.
fn alone(tree: &Tree, id: NodeId) -> String {
    let span = tree.span(id).unwrap();
    let source = tree.source();
    let line_start = source[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let column = source[line_start..span.start].chars().count();
    format!("-\n{}{}\n", " ".repeat(column + 2), source[span].replace('\n', "\n  "))
}

/// Every node of a tree, read alone, has its value.
fn check_alone(tree: &Tree, name: &str) {
    let mut open = vec![tree.root()];
    while let Some(id) = open.pop() {
        open.extend(tree.children(id));
        let span = tree.span(id).unwrap();
        // An alias needs its anchor. A text in a flow collection ends at signs that end nothing outside of one. The
        // indentation of a block scalar counts from the collection around it.
        let tied = matches!(tree.style(id), Style::Literal | Style::Folded | Style::Flow);
        if tied || span.is_empty() || tree.source()[span].contains('*') {
            continue;
        }
        let text = alone(tree, id);
        match Tree::parse(text.as_str(), &ParseLimits::default()) {
            Ok(Some(again)) => {
                let element = again.elements(again.root()).next().unwrap();
                assert!(value_eq(tree, id, &again, element), "{name}: {text:?} is another value");
            }
            other => panic!("{name}: {text:?} reads as {other:?}"),
        }
    }
}

#[test]
fn the_span_of_a_node_holds_the_node() {
    let text = "a: &x !t 'b c' # d\ne:\n- f: |\n    g\n    h\n  i: [j, {k: l}]\nm:\nn: o\n  p\nq: |+\n  r\n\ns: t\n";
    let tree = parse(text);
    let span = |path: &[&str]| &text[tree.span(tree.get_path(tree.root(), path).unwrap()).unwrap()];
    assert_eq!(span(&["a"]), "&x !t 'b c'");
    assert_eq!(span(&["e"]), "- f: |\n    g\n    h\n  i: [j, {k: l}]");
    assert_eq!(span(&["m"]), "");
    assert_eq!(span(&["n"]), "o\n  p");
    assert_eq!(span(&["q"]), "|+\n  r\n");
    assert_eq!(span(&["s"]), "t");
    let element = tree.elements(tree.get(tree.root(), "e").unwrap()).next().unwrap();
    let inner = |key| &text[tree.span(tree.get(element, key).unwrap()).unwrap()];
    assert_eq!(inner("f"), "|\n    g\n    h");
    assert_eq!(inner("i"), "[j, {k: l}]");
    assert_eq!(tree.span(tree.root()), Some(0..text.len() - 1));
}

#[test]
fn spans_nest_in_all_inputs() {
    for text in seeds() {
        if let Ok(file) = SourceFile::parse(text.as_bytes(), &ParseLimits::default()) {
            file.documents().iter().for_each(|document| check(&document.tree));
        }
    }
}

#[test]
fn every_node_of_the_manifests_reads_alone_as_itself() {
    let Some(folder) = conformance("yaml") else { return };
    for path in manifests(&folder) {
        let bytes = std::fs::read(&path).unwrap();
        if let Ok(file) = SourceFile::parse(&bytes, &ParseLimits::default()) {
            for document in file.documents() {
                check_alone(&document.tree, &path.display().to_string());
            }
        }
    }
}
