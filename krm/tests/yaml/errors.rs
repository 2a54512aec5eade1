//! Refusals: kpt's text, our place, what helps.

use portico_krm::yaml::Position;

use crate::support::{refusal, try_parse};

/// Text, what go-yaml prints, line and column of our message.
#[test]
fn errors_carry_go_yamls_text_and_our_own_place() {
    for (text, go, line, column) in [
        ("a: 1\n b: 2\n", "yaml: line 2: mapping values are not allowed in this context", 2, 3),
        ("a:\n  b: 1\n c: 2\n", "yaml: line 2: did not find expected key", 3, 2),
        ("a:\n\tb: 1\n", "yaml: line 2: found character that cannot start any token", 2, 1),
        ("a: [1\nb: 2\n", "yaml: line 1: did not find expected ',' or ']'", 2, 2),
        ("a: {b: 1\n", "yaml: line 1: did not find expected ',' or '}'", 2, 1),
        ("a: 'x\n", "yaml: line 2: found unexpected end of stream", 2, 1),
        ("a: \"\\q\"\n", "yaml: found unknown escape character", 1, 5),
        ("a: *b\n", "yaml: unknown anchor 'b' referenced", 1, 4),
        ("a: @b\n", "yaml: found character that cannot start any token", 1, 4),
        ("a: !e!b c\n", "yaml: found undefined tag handle", 1, 4),
        ("%YAML 1.2\n---\na: 1\n", "yaml: found incompatible YAML document", 1, 1),
        ("a: 1\n- b\n", "yaml: line 1: did not find expected key", 2, 1),
        ("a: b: c\n", "yaml: mapping values are not allowed in this context", 1, 5),
        ("a: \u{1}\n", "yaml: control characters are not allowed", 1, 4),
    ] {
        let error = refusal(text);
        assert_eq!(error.position, Position { line, column }, "{text:?}: {error}");
        assert_eq!(error.go_text(), go, "{text:?}");
    }
}

#[test]
fn a_tab_that_indents_gets_a_hint() {
    assert_eq!(refusal("a:\n\tb: 1\n").hint(), Some("indent with spaces, not with tabs"));
}

#[test]
fn an_open_quote_names_its_start() {
    let error = refusal("a: 1\nb: \"open\nc: 2\n");
    assert_eq!(error.position, Position { line: 4, column: 1 });
    assert_eq!(error.related, Some(("the quote starts here".to_owned(), Position { line: 2, column: 4 })));
}

#[test]
fn a_key_given_twice_is_an_error_with_both_places() {
    let error = refusal("a:\n  size: 1\n  other: 2\n  size: 3\n");
    assert_eq!(error.to_string(), "line 4, column 3: mapping key `size` is already defined in this mapping");
    let first = Position { line: 2, column: 3 };
    assert_eq!(error.related, Some(("`size` is first defined here".to_owned(), first)));
    refusal("a: 1\n'a': 2\n");
    refusal("a: 1\n\"\\x61\": 2\n");
    let many: String = (0..50).map(|n| format!("k{n}: {n}\n")).collect();
    assert_eq!(refusal(&format!("{many}k49: 1\n")).position.line, 51);
    assert_eq!(refusal(&format!("{many}k3: 1\n")).position.line, 51);
}

#[test]
fn keys_of_two_types_and_several_merges_are_no_duplicates() {
    for text in ["1: a\n'1': b\n", "x: &x {}\ny: &y {}\nz:\n  <<: *x\n  <<: *y\n", "a: {b: 1}\nc: {b: 1}\n"] {
        assert!(try_parse(text).is_ok(), "{text:?}");
    }
}

#[test]
fn a_second_document_is_refused_not_dropped() {
    assert_eq!(refusal("a: 1\n...\nb: 2\n").message, "did not find expected <document start>");
    assert_eq!(refusal("a: 1\n--- b\n").position.line, 2);
}
