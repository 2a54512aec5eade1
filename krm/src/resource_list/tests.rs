use super::*;
use crate::annotations::{INDEX, LEGACY_INDEX};
use crate::yaml::ParseLimits;

fn input(yaml: &str) -> Result<ResourceList, ResourceListError> {
    ResourceList::parse(yaml.as_bytes(), &ParseLimits::default())
}

fn output(yaml: &str) -> Result<ResourceList, ResourceListError> {
    ResourceList::parse_output(yaml.as_bytes(), &ParseLimits::default())
}

const LIST: &str = "apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
# above the item
- apiVersion: v1 # first
  # inside
  kind: ConfigMap
  metadata:
    name: a
    annotations:
      config.kubernetes.io/index: '0'
  data: {x: \"1\", y: [a, b]}
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: b
  spec:
    containers:
    - name: c
      args:
      - |
        line one

        line two
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: function-input
  data:
    namespace: prod
results:
- message: 'done: 1'
  severity: info
";

#[test]
fn a_list_comes_back_byte_for_byte() {
    let list = input(LIST).expect("a list");
    assert_eq!(list.items.iter().map(Resource::name).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(list.function_config.as_ref().map(Resource::name), Some("function-input"));
    assert_eq!(list.results[0].message, "done: 1");
    assert_eq!(list.to_yaml(), LIST);
}

#[test]
fn items_are_trees_of_their_own_that_share_the_source() {
    let mut list = input(LIST).expect("a list");
    let [a, b] = list.items.as_mut_slice() else { panic!("two items") };
    assert!(std::sync::Arc::ptr_eq(a.tree.source(), b.tree.source()));
    assert_eq!(b.tree.position(b.root()).expect("parsed").line, 13);
    a.set_name("other");
    assert_eq!(b.name(), "b");
}

#[test]
fn the_configuration_may_stand_before_the_items() {
    let yaml = "kind: ResourceList\nfunctionConfig: {kind: X}\nitems: [{kind: A}, {kind: B}]\n";
    let list = input(yaml).expect("a list");
    assert_eq!(list.function_config.as_ref().map(Resource::kind), Some("X"));
    assert_eq!(list.items.iter().map(Resource::kind).collect::<Vec<_>>(), ["A", "B"]);
}

#[test]
fn a_list_without_items_is_written_with_an_empty_list() {
    let expected = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";
    assert_eq!(ResourceList::default().to_yaml(), expected);
    for yaml in [expected, "kind: ResourceList\nitems:\n", "kind: ResourceList\nitems: null\n"] {
        assert!(output(yaml).expect("a list").items.is_empty(), "{yaml}");
    }
    assert!(input("kind: ResourceList\n").expect("a list").items.is_empty());
}

#[test]
fn a_function_may_answer_with_a_list_or_bare_documents() {
    let list = output("apiVersion: v1\nkind: List\nitems:\n- kind: A\n").expect("a list");
    assert_eq!(list.items[0].kind(), "A");
    assert_eq!(list.items[0].index(), None);

    let list = output("kind: A\n---\n# nothing\n---\nkind: B\nmetadata: {name: b}\n").expect("documents");
    assert_eq!(list.items.iter().map(Resource::kind).collect::<Vec<_>>(), ["A", "B"]);
    assert_eq!((list.items[1].annotation(INDEX), list.items[1].annotation(LEGACY_INDEX)), (Some("1"), Some("1")));

    let list = output("kind: List\nmetadata: {name: odd}\n").expect("a document");
    assert_eq!(list.items[0].name(), "odd");
}

#[test]
fn any_version_of_the_group_is_accepted_and_no_other_group() {
    assert!(output("apiVersion: config.kubernetes.io/v1alpha1\nkind: ResourceList\nitems: []\n").is_ok());
    let error = output("kind: ResourceList\napiVersion: config.example.com/v1\nitems: []\n").expect_err("foreign");
    assert_eq!(
        error.to_string(),
        "line 2, column 13: apiVersion `config.example.com/v1` is not of the group config.kubernetes.io: \
         `apiVersion: config.example.com/v1`"
    );
}

#[test]
fn what_is_no_resource_list_is_refused_with_its_place_and_line() {
    for (yaml, text) in [
        ("", "there is no document in it"),
        ("# only a comment\n", "there is no document in it"),
        ("oops\n", "line 1, column 1: wrong node kind: expected MappingNode but got ScalarNode: `oops`"),
        ("\n- a: b\n", "line 2, column 1: wrong node kind: expected MappingNode but got SequenceNode: `- a: b`"),
        (
            "kind: ResourceList\nitems:\n- kind: A\n- text\n",
            "line 4, column 3: items[1]: wrong node kind: expected MappingNode but got ScalarNode: `- text`",
        ),
        ("kind: ResourceList\nitems: {a: b}\n", "line 2, column 8: `items` must be a list: `items: {a: b}`"),
        (
            "kind: ResourceList\nfunctionConfig: x\n",
            "line 2, column 17: `functionConfig` must be a mapping: `functionConfig: x`",
        ),
        (
            "kind: ResourceList\nitems: []\n---\nkind: A\n",
            "line 4, column 1: a ResourceList must be the only document: `kind: A`",
        ),
        (
            "kind: ResourceList\nresults: []\n",
            "line 1, column 1: the ResourceList has no `items`: `kind: ResourceList`",
        ),
        (
            "kind: ResourceList\nitems: []\nresults:\n- text\n",
            "line 4, column 3: `results[0]` must be a mapping, not a scalar: `- text`",
        ),
        (
            "kind: ResourceList\nitems:\n- a: &x 1\n- b: *x\n",
            "line 4, column 6: the alias `*x` refers to an anchor of another item: `- b: *x`",
        ),
    ] {
        assert_eq!(output(yaml).expect_err(yaml).to_string(), text);
    }
}

#[test]
fn broken_yaml_is_shown_with_its_line_and_the_words_of_kpt() {
    let error = output("kind: ResourceList\nitems: a: b\n").expect_err("broken");
    assert_eq!(error.to_string(), "line 2, column 9: mapping values are not allowed in this context: `items: a: b`");
    assert_eq!(error.kpt_text(), "MalformedYAMLError: yaml: line 2: mapping values are not allowed in this context");
}

#[test]
fn a_line_in_a_message_is_cut_and_has_no_control_characters() {
    let error = output(&format!("\"{}\u{9b}\tx", "é".repeat(500))).expect_err("broken");
    let shown = error.excerpt.expect("a line");
    assert!(shown.len() < 200 && shown.ends_with('…'), "{shown}");
    assert_eq!(error::excerpt("a\u{1b}[31mb").as_deref(), Some("a\u{fffd}[31mb"));
}

#[test]
fn bytes_that_are_no_utf_8_are_refused() {
    let error = ResourceList::parse_output(b"kind: A\nx: \xff\n", &ParseLimits::default()).expect_err("no UTF-8");
    assert_eq!(error.position.expect("known").line, 2);
}

#[test]
fn the_input_of_a_function_must_be_a_resource_list() {
    assert_eq!(
        input("kind: List\nitems: []\n").expect_err("a list").fault.to_string(),
        "input was of unexpected kind \"List\"; expected ResourceList"
    );
    assert_eq!(input("").expect_err("empty").fault, ResourceListFault::Empty);
    let two = input("kind: ResourceList\n---\nkind: A\n").expect_err("two");
    assert_eq!(two.fault, ResourceListFault::SecondDocument);
}

#[test]
fn more_items_than_allowed_are_refused_before_each_becomes_a_tree() {
    let limits = ParseLimits { documents: 2, ..ParseLimits::default() };
    let read = |text: &str| ResourceList::parse_output(text, &limits);
    assert_eq!(read("kind: ResourceList\nitems: [{a: 1}, {a: 2}]\n").expect("two").items.len(), 2);
    let error = read("kind: ResourceList\nitems: [{a: 1}, {a: 2}, {a: 3}]\n").expect_err("three");
    assert_eq!(error.fault, ResourceListFault::TooManyItems { found: 3, limit: 2 });
    assert_eq!(error.position.map(|at| at.line), Some(2));
    assert!(read("kind: A\n---\nkind: A\n---\nkind: A\n").is_err());
}

/// Any bytes give a list or an error, and what is written of a list is a list again.
#[test]
fn damaged_lists_never_panic() {
    let mut state = 1u32;
    let mut random = |bound: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % bound
    };
    let pieces: [&[u8]; 12] =
        [b"\n", b"- ", b": ", b"*x", b"&x ", b"---\n", b"[", b"}", b"items:", b"\"", b"\xff", b"  "];
    let mut accepted = 0;
    for _ in 0..2000 {
        let mut bytes = LIST.as_bytes().to_vec();
        for _ in 0..=random(3) {
            let at = random(bytes.len());
            match random(3) {
                0 => _ = bytes.remove(at),
                1 => bytes.truncate(at + 1),
                _ => _ = bytes.splice(at..at, pieces[random(pieces.len())].iter().copied()),
            }
        }
        match ResourceList::parse_output(&bytes, &ParseLimits::default()) {
            Ok(list) => {
                let yaml = list.to_yaml();
                let again = output(&yaml).unwrap_or_else(|error| panic!("{error}\n{yaml}"));
                assert_eq!(again.items.len(), list.items.len());
                accepted += 1;
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    assert!(accepted > 100, "only {accepted} lists were accepted");
}
