//! To which node a comment belongs: the rules of go-yaml v3, which kpt's output depends on.

use crate::support::{comments, parse};

/// Checks the comments of a text; see `support::comments` for the form.
fn check(text: &str, expected: &[&str]) {
    assert_eq!(comments(&parse(text)), expected, "in\n{text}");
}

#[test]
fn a_comment_above_a_key_is_its_head() {
    check("# one\n# two\na: 1\n", &["/a.key head # one\n# two"]);
    check("a:\n  # above b\n  b: 1\n", &["/a/b.key head # above b"]);
}

#[test]
fn a_comment_above_and_a_blank_line_belong_to_the_document() {
    check("# licence\n\n# about a\na: 1\n", &["document head # licence", "/a.key head # about a"]);
    check("# licence\n\na: 1\n", &["document head # licence"]);
    check("# one\n\n# two\n\n# three\na: 1\n", &["document head # one\n\n# two", "/a.key head # three"]);
}

#[test]
fn a_comment_behind_a_value_is_its_line_comment() {
    check(
        "a: 1 # here\nb: 'x'\t# there\nc: |  # header\n  text\n",
        &["/a line # here", "/b line # there", "/c line # header"],
    );
    check("- a # x\n- b#y\n", &["/0 line # x"]);
}

#[test]
fn a_comment_behind_a_key_without_a_value_on_its_line_is_the_keys() {
    check("a: # here\n  b: 1\n", &["/a.key line # here"]);
    check("a: # here\n- 1\n", &["/a.key line # here"]);
    check("a: # here\n  text\n", &["/a.key line # here"]);
}

#[test]
fn a_comment_below_and_a_blank_line_is_a_foot() {
    check("a: 1\n# below a\n\nb: 2\n", &["/a.key foot # below a"]);
    check("- 1\n# below\n\n- 2\n", &["/0 foot # below"]);
    check("a: 1\n\n# above b\n\nb: 2\n", &["/b.key head # above b\n"]);
}

#[test]
fn a_comment_at_the_end_is_the_documents_foot() {
    check("a: 1\n# end\n", &["/a.key foot # end"]);
    check("a: 1\n\n# end\n", &["document foot # end"]);
    check("a:\n  b: 1\n  # inside\n# outside\n", &["/a.key foot # outside", "/a/b.key foot # inside"]);
}

#[test]
fn a_comment_indented_less_than_the_block_above_leaves_it() {
    check("a:\n  b: 1\n# above c\nc: 2\n", &["/c.key head # above c"]);
    check("a:\n  b: 1\n  # of b\n\nc: 2\n", &["/a/b.key foot # of b"]);
    check("a:\n- 1\n# of 1\n\nb: 2\n", &["/a/0 foot # of 1"]);
}

#[test]
fn a_comment_behind_a_dash_alone_moves_to_what_follows() {
    check("- # first\n  a: 1\n", &["/0/a.key head # first"]);
    check("# above\n- a: 1\n", &["/0 head # above"]);
    check("- a\n# above\n- # beside\n  b: 1\n", &["/1 head # above", "/1/b.key head # beside"]);
}

#[test]
fn comments_in_flow_collections_belong_to_their_elements() {
    check(
        "a: [ # open\n  x, # behind x\n  # above y\n  y\n  # last\n] # close\n",
        &["/a line # close", "/a/0 line # behind x", "/a/1 head # above y", "/a/1 foot # last"],
    );
    check("a: {b: 1, # one\n  c: 2} # two\n", &["/a line # two", "/a/b line # one"]);
}

#[test]
fn a_comment_on_the_first_separator_is_a_head() {
    check("--- # marker\na: 1\n", &["/a.key head # marker"]);
}

#[test]
fn a_hash_inside_a_value_is_no_comment() {
    check("a: b#c\nd: 'e # f'\ng: |\n  # h\ni: http://x/#y\n", &[]);
}
