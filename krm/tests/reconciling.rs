//! Comments and key order that a function's output takes over from its input.

use portico_krm::reconcile::{copy_comments, copy_comments_as_kpt, sync_order};
use portico_krm::yaml::{EmitOptions, ParseLimits, Tree, emit_document};

fn parse(text: &str) -> Tree {
    Tree::parse(text, &ParseLimits::default()).unwrap().unwrap()
}

fn reconciled(input: &str, output: &str) -> String {
    let (from, mut to) = (parse(input), parse(output));
    copy_comments(&from, &mut to);
    sync_order(&from, &mut to);
    let mut out = String::new();
    emit_document(&to, &EmitOptions::default(), &mut out);
    out
}

#[test]
fn comments_that_were_dropped_come_back_above_behind_and_below() {
    let input = "# top\na: 1 # one\n# below\n\nb:\n  # inner\n  c: [x] # list\n";
    assert_eq!(
        reconciled(input, "b: {c: [x]}\na: 1\n"),
        "# top\na: 1 # one\n# below\n\nb: {\n  # inner\n  c: [x], # list\n}\n"
    );
    assert_eq!(
        reconciled(input, "b:\n  c: [x]\na: 2\n"),
        "# top\na: 2 # one\n# below\n\nb:\n  # inner\n  c: [x] # list\n"
    );
}

#[test]
fn a_comment_of_the_function_wins() {
    assert_eq!(reconciled("a: 1 # old\n", "a: 1 # new\n"), "a: 1 # new\n");
}

#[test]
fn a_comment_that_moved_is_not_brought_twice() {
    assert_eq!(reconciled("a: # note\n  b\n", "a: b # note\n"), "a: b # note\n");
}

#[test]
fn comments_of_deleted_fields_go() {
    assert_eq!(reconciled("a: 1 # a\nb: 2 # b\n", "b: 2\n"), "b: 2 # b\n");
}

#[test]
fn keys_stand_in_the_order_of_the_input_and_new_ones_follow() {
    assert_eq!(
        reconciled("z: 1\ny: {b: 1, a: 2}\n", "new: 0\ny: {a: 2, b: 1, c: 3}\nz: 1\n"),
        "z: 1\ny: {b: 1, a: 2, c: 3}\nnew: 0\n"
    );
}

#[test]
fn comments_follow_their_element_whatever_its_place() {
    let input = "c:\n# first\n- name: a\n  image: x # set-a\n- name: b\n  image: y # set-b\n";
    let output = "c:\n- name: new\n  image: x\n- name: b\n  image: y\n- name: a\n  image: z\n";
    let expected =
        "c:\n- name: new\n  image: x\n- name: b\n  image: y # set-b\n# first\n- name: a\n  image: z # set-a\n";
    assert_eq!(reconciled(input, output), expected);
}

#[test]
fn ports_are_told_apart_by_number_and_protocol() {
    let input = "p:\n- {port: 53, protocol: UDP} # u\n- {port: 53, protocol: TCP} # t\n";
    let output = "p:\n- {port: 53, protocol: TCP}\n- {port: 53, protocol: UDP}\n";
    assert_eq!(reconciled(input, output), "p:\n- {port: 53, protocol: TCP} # t\n- {port: 53, protocol: UDP} # u\n");
}

#[test]
fn elements_without_a_key_match_by_value() {
    let input = "l:\n- a # 1\n- b # 2\nrules:\n- verbs: [get] # g\n- verbs: [list] # l\n";
    let output = "l:\n- new\n- a\n- b\nrules:\n- verbs: [watch]\n- verbs: [get]\n- verbs: [list]\n";
    let expected = "l:\n- new\n- a # 1\n- b # 2\nrules:\n- verbs: [watch]\n- verbs: [get] # g\n- verbs: [list] # l\n";
    assert_eq!(reconciled(input, output), expected);
}

#[test]
fn an_element_without_a_key_that_changed_in_its_place_keeps_its_comments() {
    let input = "rules:\n- apiGroups: [a] # g\n  verbs: [get]\n- apiGroups: [b]\n  verbs: [x] # v\n";
    let output = "rules:\n- apiGroups: [a]\n  verbs: [get, list]\n- apiGroups: [b]\n  verbs: [x]\n";
    let expected = "rules:\n- apiGroups: [a] # g\n  verbs: [get, list]\n- apiGroups: [b]\n  verbs: [x] # v\n";
    assert_eq!(reconciled(input, output), expected);
}

#[test]
fn folded_scalars_become_double_quoted_in_kpt_style_alone() {
    let (from, mut to) = (parse("a: >\n  x\n  y\n"), parse("a: >\n  x\n  y\n"));
    copy_comments(&from, &mut to);
    let written = |tree: &Tree| {
        let mut out = String::new();
        emit_document(tree, &EmitOptions::default(), &mut out);
        out
    };
    assert_eq!(written(&to), "a: >\n  x y\n");
    copy_comments_as_kpt(&from, &mut to);
    assert_eq!(written(&to), "a: \"x y\\n\"\n");
}
