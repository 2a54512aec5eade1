//! Files: encodings, line ends, documents, and the errors of all of them.

use portico_krm::yaml::{ParseLimits, Position, SeqStyle, SourceFile};

fn file(bytes: &[u8]) -> SourceFile {
    SourceFile::parse(bytes, &ParseLimits::default()).unwrap()
}

fn names(file: &SourceFile) -> Vec<&str> {
    file.documents().iter().map(|d| d.tree.text_at(d.tree.root(), &["a"]).unwrap()).collect()
}

#[test]
fn documents_end_at_lines_of_three_dashes() {
    let file = file(b"a: 1\n---\n# nothing\n--- # comment\na: 2\n---\n---\na: 3\n---\n");
    assert_eq!(names(&file), ["1", "2", "3"]);
    let text = file.text();
    assert_eq!(&text[file.documents()[1].span.clone()], "a: 2\n");
    let kept: Vec<Option<usize>> = file.pieces().iter().map(|p| p.document).collect();
    assert_eq!(kept, [Some(0), None, Some(1), Some(2), None]);
    assert_eq!(&text[file.pieces()[1].span.clone()], "# nothing\n");
}

#[test]
fn an_indented_or_quoted_separator_splits_nothing() {
    let file = file(b"a: |\n  ---\n  x\nb: \"y\n  --- z\"\n");
    assert_eq!(names(&file), ["---\nx\n"]);
}

#[test]
fn a_separator_with_content_is_an_error() {
    let errors = SourceFile::parse(b"a: 1\n--- {a: 2}\n", &ParseLimits::default()).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].to_string(), "line 2, column 1: invalid document separator: --- {a: 2}");
}

#[test]
fn every_broken_document_is_reported_with_its_line_in_the_file() {
    let text = b"a: 1\n---\na: [\n---\na: 1\n---\na:\n\tb: 1\n";
    let errors = SourceFile::parse(text, &ParseLimits::default()).unwrap_err();
    let places: Vec<Position> = errors.iter().map(|e| e.position).collect();
    assert_eq!(places, [Position { line: 4, column: 1 }, Position { line: 8, column: 1 }]);
}

#[test]
fn at_most_fifty_errors_are_reported() {
    let errors = SourceFile::parse("a: [\n---\n".repeat(1000).as_bytes(), &ParseLimits::default()).unwrap_err();
    assert_eq!(errors.len(), 50);
}

#[test]
fn spans_and_positions_count_from_the_start_of_the_file() {
    let file = file(b"# top\na: 1\n---\nx: y\na: 2\n");
    let tree = &file.documents()[1].tree;
    let value = tree.get(tree.root(), "a").unwrap();
    assert_eq!(tree.position(value), Some(Position { line: 5, column: 4 }));
    assert_eq!(&file.text()[tree.span(value).unwrap()], "2");
}

#[test]
fn carriage_returns_are_remembered() {
    let bytes = b"a: 1\r\nb: 2\r\n---\r\na: 3\r\n";
    let file = file(bytes);
    assert_eq!(&**file.text(), "a: 1\nb: 2\n---\na: 3\n");
    assert_eq!(names(&file), ["1", "3"]);
    let text = file.text();
    assert_eq!(&*file.encoding().original(text, 0..text.len()), bytes);
    assert_eq!(&*file.encoding().encode("x: 1\n"), b"x: 1\r\n");
}

#[test]
fn mixed_line_ends_come_back_where_they_were() {
    let bytes = b"a: 1\r\nb: 2\nc: 3\r\n\rd";
    let file = file(b"a: 1\r\nb: 2\nc: 3\r\n");
    let text = file.text();
    assert_eq!(&*file.encoding().original(text, 0..text.len()), &bytes[..17]);
    assert_eq!(&*file.encoding().original(text, 5..10), b"b: 2\n");
    assert_eq!(&*file.encoding().encode("x\n"), b"x\r\n");
}

#[test]
fn byte_order_marks_and_utf_16_are_read_and_remembered() {
    let marked = file(b"\xEF\xBB\xBFa: 1\n");
    assert_eq!(names(&marked), ["1"]);
    assert_eq!(marked.encoding().byte_order_mark(), b"\xEF\xBB\xBF");
    for (mark, unit) in [([0xFF, 0xFE], u16::to_le_bytes as fn(u16) -> [u8; 2]), ([0xFE, 0xFF], u16::to_be_bytes)] {
        let mut bytes = mark.to_vec();
        bytes.extend("a: é\u{1F600}\r\n---\r\na: 2\r\n".encode_utf16().flat_map(unit));
        let file = file(&bytes);
        assert_eq!(names(&file), ["é\u{1F600}", "2"]);
        let text = file.text();
        let mut back = file.encoding().byte_order_mark().to_vec();
        back.extend_from_slice(&file.encoding().original(text, 0..text.len()));
        assert_eq!(back, bytes);
    }
}

#[test]
fn bytes_that_are_no_text_are_errors_with_a_line() {
    for (bytes, message) in [
        (&b"a: 1\nb: \xFF\n"[..], "invalid leading UTF-8 octet"),
        (b"a: 1\nb: \xC3(\n", "invalid trailing UTF-8 octet"),
        (b"a: 1\nb: \xC3", "incomplete UTF-8 octet sequence"),
        (b"a: 1\nb: \x00\n", "control characters are not allowed"),
    ] {
        let errors = SourceFile::parse(bytes, &ParseLimits::default()).unwrap_err();
        assert_eq!((errors[0].message.as_str(), errors[0].position.line), (message, 2));
        assert_eq!(errors[0].go_text(), format!("yaml: {message}"));
    }
    let errors = SourceFile::parse(b"\xFF\xFEa", &ParseLimits::default()).unwrap_err();
    assert_eq!(errors[0].message, "incomplete UTF-16 character");
    let errors = SourceFile::parse(b"\xFF\xFE\x00\xDC", &ParseLimits::default()).unwrap_err();
    assert_eq!(errors[0].message, "unexpected low surrogate area");
}

#[test]
fn the_first_sequence_under_a_key_sets_the_style() {
    for (text, style) in [
        ("a:\n- x\nb:\n  - y\n", SeqStyle::Compact),
        ("a:\n  - x\nb:\n- y\n", SeqStyle::Wide),
        ("a:\n    - x\nb:\n  - y\n", SeqStyle::Wide),
        ("a: # note\n  # more\n  - x\n", SeqStyle::Wide),
        ("a: 1\n", SeqStyle::Compact),
        ("- a\n- b\n", SeqStyle::Compact),
        ("a:\n\n  - x\n", SeqStyle::Compact),
        ("a: b:\n  - x\n".replace("a: b", "'a: b'").as_str(), SeqStyle::Compact),
    ] {
        assert_eq!(SeqStyle::of(text), style, "{text:?}");
    }
}
