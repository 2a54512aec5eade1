//! Preserve style: what a render may change in the bytes of a file.
#![expect(clippy::print_stdout, reason = "what was skipped is to be seen")]

use std::path::{Path, PathBuf};

use portico_krm::splice::Edited::{self, New, Unchanged};
use portico_krm::splice::splice;
use portico_krm::yaml::{ParseLimits, SourceFile, Style, Tree, value_eq};

fn file(text: &str) -> SourceFile {
    SourceFile::parse(text.as_bytes(), &ParseLimits::default()).unwrap()
}

/// The file after `edit` of its document at `index`.
fn edited(text: &str, index: usize, edit: impl FnOnce(&mut Tree)) -> String {
    let file = file(text);
    let mut tree = file.documents()[index].tree.clone();
    edit(&mut tree);
    let documents: Vec<Edited<'_>> = (0..file.documents().len())
        .map(|n| if n == index { Edited::Changed(n, &tree) } else { Edited::Unchanged(n) })
        .collect();
    String::from_utf8(splice(&file, &documents)).unwrap()
}

/// The file after a function that gives back every document as plain values: no comments, no styles, sorted keys.
fn reserialised(text: &str) -> String {
    let file = file(text);
    let trees: Vec<Tree> = file.documents().iter().map(|d| plain(&d.tree)).collect();
    let trees: Vec<Tree> = trees
        .into_iter()
        .zip(file.documents())
        .map(|(mut tree, document)| {
            portico_krm::reconcile::copy_comments(&document.tree, &mut tree);
            portico_krm::reconcile::sync_order(&document.tree, &mut tree);
            tree
        })
        .collect();
    let documents: Vec<Edited<'_>> = trees.iter().enumerate().map(|(n, tree)| Edited::Changed(n, tree)).collect();
    String::from_utf8(splice(&file, &documents)).unwrap()
}

fn plain(tree: &Tree) -> Tree {
    let mut copy = Tree::new_mapping();
    let root = copy.copy_from(tree, tree.root());
    copy.set_root(root);
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        copy.edit_comments(id, |c| *c = portico_krm::yaml::Comments::default());
        if copy.is_scalar(id) {
            if copy.scalar_type(id) == portico_krm::yaml::ScalarType::Str {
                let text = copy.text(id).to_owned();
                copy.set_string(id, &text);
            }
        } else {
            copy.set_style(id, Style::Block);
        }
        if copy.is_mapping(id) {
            let mut entries: Vec<_> = copy.entries(id).collect();
            entries.sort_by_key(|(k, _)| copy.text(*k).to_owned());
            let children: Vec<_> = entries.into_iter().flat_map(|(k, v)| [k, v]).collect();
            copy.set_children(id, &children);
        }
        stack.extend(copy.children(id));
    }
    copy
}

fn conformance() -> Option<PathBuf> {
    let root = std::env::var_os("PORTICO_CONFORMANCE").map(PathBuf::from);
    if root.is_none() {
        println!("skipped: the conformance data, because PORTICO_CONFORMANCE is not set");
    }
    root
}

fn report(name: &str, path: &str) -> Option<(String, String)> {
    let case = conformance()?.join("reports").join(name);
    let read = |folder: &str| std::fs::read_to_string(case.join(folder).join(path)).ok();
    Some((read("package")?, read("expected")?))
}

fn yaml_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            yaml_files(&path, files);
        } else if name == "Kptfile" || [".yaml", ".yml", ".json"].iter().any(|e| name.ends_with(e)) {
            files.push(path);
        }
    }
}

#[test]
fn every_accepted_file_comes_back_byte_identical() {
    let Some(root) = conformance() else { return };
    let mut files = Vec::new();
    yaml_files(&root, &mut files);
    let (mut accepted, mut serialised_same) = (0, 0);
    let mut differ = Vec::new();
    for path in &files {
        let bytes = std::fs::read(path).unwrap();
        let Ok(file) = SourceFile::parse(&bytes, &ParseLimits::default()) else { continue };
        accepted += 1;
        let unchanged: Vec<Edited<'_>> = (0..file.documents().len()).map(Edited::Unchanged).collect();
        assert!(splice(&file, &unchanged) == bytes, "{} differs when nothing changed", path.display());
        let changed: Vec<Edited<'_>> =
            file.documents().iter().enumerate().map(|(n, d)| Edited::Changed(n, &d.tree)).collect();
        assert!(splice(&file, &changed) == bytes, "{} differs when equal trees came back", path.display());
        let text = file.text().to_string();
        if reserialised(&text) == text {
            serialised_same += 1;
        } else {
            differ.push(path.strip_prefix(&root).unwrap().display().to_string());
        }
    }
    println!("{accepted} of {} files are accepted, {serialised_same} stay the same when re-serialised", files.len());
    println!("differ: {differ:#?}");
    assert!(accepted > 500, "only {accepted} files");
}

const DEPLOYMENT: &str = "\
# Header

apiVersion: apps/v1
kind: Deployment
metadata:
  name:   shop   # the shop
  labels: {app: shop, 'tier': \"web\"} # flow

spec:
  replicas: 3 # kpt-set: ${replicas}
  template:
    spec:
      containers:
        # main program
        - name: app # kpt-set: ${app}
          image: \"shop:1.0\" # kpt-set: ${image}
          args: [a,  b]

        - name: log
          image: logger:2
          # below log
  script: |
    a
    b
  folded: >-
    x
    y
  empty:
";

#[test]
fn a_changed_scalar_changes_its_line_alone() {
    let out = edited(DEPLOYMENT, 0, |tree| {
        let replicas = tree.get_path(tree.root(), &["spec", "replicas"]).unwrap();
        tree.set_text(replicas, "5");
    });
    assert_eq!(out, DEPLOYMENT.replace("replicas: 3 #", "replicas: 5 #"));
}

#[test]
fn a_changed_string_keeps_its_quotes() {
    let out = edited(DEPLOYMENT, 0, |tree| {
        let containers = tree.get_path(tree.root(), &["spec", "template", "spec", "containers"]).unwrap();
        let first = tree.elements(containers).next().unwrap();
        let image = tree.get(first, "image").unwrap();
        tree.set_string(image, "shop:2.0");
    });
    assert_eq!(out, DEPLOYMENT.replace("\"shop:1.0\"", "\"shop:2.0\""));
}

#[test]
fn a_value_in_a_flow_mapping_changes_in_place() {
    let out = edited(DEPLOYMENT, 0, |tree| {
        let labels = tree.get_path(tree.root(), &["metadata", "labels"]).unwrap();
        let app = tree.get(labels, "app").unwrap();
        tree.set_string(app, "store");
        let value = tree.string("true");
        tree.set(labels, "new", value);
    });
    assert_eq!(out, DEPLOYMENT.replace("{app: shop, 'tier': \"web\"}", "{app: store, 'tier': \"web\", new: \"true\"}"));
}

#[test]
fn a_new_key_goes_behind_the_last_one_of_its_mapping() {
    let out = edited(DEPLOYMENT, 0, |tree| {
        let root = tree.root();
        let metadata = tree.get(root, "metadata").unwrap();
        let value = tree.string("prod");
        tree.set(metadata, "namespace", value);
    });
    assert_eq!(out, DEPLOYMENT.replace("# flow\n", "# flow\n  namespace: prod\n"));
}

#[test]
fn an_inserted_element_takes_no_comment_of_its_neighbour() {
    let out = edited(DEPLOYMENT, 0, |tree| {
        let containers = tree.get_path(tree.root(), &["spec", "template", "spec", "containers"]).unwrap();
        let mut elements: Vec<_> = tree.elements(containers).collect();
        let guard = tree.mapping(Style::Block);
        for (key, value) in [("name", "guard"), ("image", "guard:1")] {
            let value = tree.string(value);
            tree.set(guard, key, value);
        }
        elements.insert(0, guard);
        tree.set_children(containers, &elements);
    });
    let new = "        - name: guard\n          image: guard:1\n";
    assert_eq!(out, DEPLOYMENT.replace("        # main program\n", &format!("{new}        # main program\n")));
}

#[test]
fn a_removed_element_takes_its_comments_along() {
    let out = edited(DEPLOYMENT, 0, |tree| {
        let containers = tree.get_path(tree.root(), &["spec", "template", "spec", "containers"]).unwrap();
        tree.remove_at(containers, 0);
    });
    let start = DEPLOYMENT.find("        # main program").unwrap();
    let end = DEPLOYMENT.find("\n        - name: log").unwrap();
    assert_eq!(out, format!("{}{}", &DEPLOYMENT[..start], &DEPLOYMENT[end..]));
}

#[test]
fn moved_elements_keep_their_text() {
    let out = edited(DEPLOYMENT, 0, |tree| {
        let containers = tree.get_path(tree.root(), &["spec", "template", "spec", "containers"]).unwrap();
        let mut elements: Vec<_> = tree.elements(containers).collect();
        elements.reverse();
        tree.set_children(containers, &elements);
    });
    let first = DEPLOYMENT.find("        # main program").unwrap();
    let gap = DEPLOYMENT.find("\n        - name: log").unwrap();
    let end = DEPLOYMENT.find("  script:").unwrap();
    let expected = format!(
        "{}{}{}{}",
        &DEPLOYMENT[..first],
        &DEPLOYMENT[gap + 1..end],
        &DEPLOYMENT[first..gap],
        &DEPLOYMENT[end..]
    );
    assert_eq!(out, expected);
}

#[test]
fn a_function_that_drops_all_styles_and_comments_changes_nothing() {
    assert_eq!(reserialised(DEPLOYMENT), DEPLOYMENT);
}

#[test]
fn an_empty_value_is_filled_behind_its_colon() {
    let out = edited(DEPLOYMENT, 0, |tree| {
        let empty = tree.get_path(tree.root(), &["spec", "empty"]).unwrap();
        tree.set_string(empty, "yes");
    });
    assert_eq!(out, DEPLOYMENT.replace("  empty:\n", "  empty: \"yes\"\n"));
}

/// The reader hangs the comment at two nodes, as kpt's does; it is still one.
#[test]
fn a_comment_between_elements_that_change_stays_one() {
    let out = edited("k:\n- \n# c\n\n- |+\n  t\n\n    more\n", 0, |tree| {
        let list = tree.get(tree.root(), "k").unwrap();
        let mut elements: Vec<_> = tree.elements(list).collect();
        tree.set_string(elements[1], " lead");
        elements.reverse();
        tree.set_children(list, &elements);
    });
    assert_eq!(out.matches("# c").count(), 1, "{out}");
}

/// The emitter puts a blank line before such a comment, which the scalar would keep.
#[test]
fn a_comment_below_a_scalar_that_keeps_its_ends_does_not_change_it() {
    let text = "a:\n-\n  - |+\n    t\n\n  -\n    - \"q\"\n    -   # c\n";
    let reversed = |tree: &mut Tree| {
        let list = tree.get(tree.root(), "a").unwrap();
        let inner = tree.elements(list).next().unwrap();
        let mut elements: Vec<_> = tree.elements(inner).collect();
        elements.reverse();
        tree.set_children(inner, &elements);
    };
    let out = edited(text, 0, reversed);
    let mut wanted = file(text).documents()[0].tree.clone();
    reversed(&mut wanted);
    let back = Tree::parse(out.as_str(), &ParseLimits::default()).unwrap().unwrap();
    assert!(value_eq(&back, back.root(), &wanted, wanted.root()), "{out}");
}

#[test]
fn a_removed_last_key_leaves_an_empty_mapping() {
    let out = edited("a:\n  b: c # x\nd: e\n", 0, |tree| {
        let a = tree.get(tree.root(), "a").unwrap();
        tree.remove(a, "b");
    });
    assert_eq!(out, "a: {}\nd: e\n");
}

#[test]
fn other_documents_separators_and_line_ends_stay() {
    let text = "# only a comment\r\n--- # first\r\na: 1\r\n\r\nb:   2\r\n...\r\n---\r\n\r\nc: 3";
    let out = edited(text, 1, |tree| {
        let c = tree.get(tree.root(), "c").unwrap();
        tree.set_text(c, "4");
    });
    assert_eq!(out, text.replace("c: 3", "c: 4"));
    let out = edited(text, 0, |tree| {
        let a = tree.get(tree.root(), "a").unwrap();
        tree.set_text(a, "9");
        let root = tree.root();
        let new = tree.string("x");
        tree.set(root, "new", new);
    });
    assert_eq!(out, text.replace("a: 1", "a: 9").replace("b:   2\r\n", "b:   2\r\nnew: x\r\n"));
}

#[test]
fn new_documents_go_behind_a_separator_and_removed_ones_take_theirs_along() {
    let text = "a: 1\n---\n# two\nb: 2\n---\nc: 3";
    let file = file(text);
    let mut new = Tree::new_mapping();
    let (root, value) = (new.root(), new.string("x"));
    new.set(root, "new", value);
    let splice = |documents: &[Edited<'_>]| String::from_utf8(splice(&file, documents)).unwrap();
    assert_eq!(
        splice(&[Unchanged(0), Unchanged(1), Unchanged(2), New(&new)]),
        "a: 1\n---\n# two\nb: 2\n---\nc: 3\n---\nnew: x\n"
    );
    assert_eq!(splice(&[Unchanged(0), Unchanged(2)]), "a: 1\n---\nc: 3");
    assert_eq!(splice(&[Unchanged(1), Unchanged(2)]), "# two\nb: 2\n---\nc: 3");
    assert_eq!(splice(&[Unchanged(2), New(&new), Unchanged(0)]), "c: 3\n---\nnew: x\n---\na: 1\n");
}

#[test]
fn a_document_with_aliases_that_a_function_expanded_stays() {
    let text = "a: &x\n  k: v\nb: *x\nc:\n  <<: *x\n  l: m\n";
    let file = file(text);
    let expanded = Tree::parse("a: {k: v}\nb: {k: v}\nc: {k: v, l: m}\n", &ParseLimits::default()).unwrap().unwrap();
    assert_eq!(String::from_utf8(splice(&file, &[Edited::Changed(0, &expanded)])).unwrap(), text);
    let changed = Tree::parse("a: {k: w}\nb: {k: v}\nc: {k: v, l: m}\n", &ParseLimits::default()).unwrap().unwrap();
    let out = splice(&file, &[Edited::Changed(0, &changed)]);
    let back = Tree::parse(String::from_utf8(out).unwrap(), &ParseLimits::default()).unwrap().unwrap();
    assert!(value_eq(&back, back.root(), &changed, changed.root()));
}

#[test]
fn the_bug_reports_come_out_as_expected() {
    for (name, path) in [
        ("03-foot-comment-once", "c.yaml"),
        ("06-null-values", "svc.yaml"),
        ("08-block-scalars-and-long-lines", "rules.yaml"),
        ("09-unicode-and-emoji", "u.yaml"),
        ("11-anchors-and-merge-keys", "dep.yaml"),
        ("34-comment-behind-flow-list", "r.yaml"),
    ] {
        let Some((package, expected)) = report(name, path) else { continue };
        assert_eq!(reserialised(&package), expected, "{name}");
    }
}

#[test]
fn a_status_block_goes_below_a_kptfile_that_stays() {
    let Some(case) = conformance().map(|root| root.join("reports/16-kptfile-unchanged/package/Kptfile")) else {
        return;
    };
    let text = std::fs::read_to_string(case).unwrap();
    let out = edited(&text, 0, |tree| {
        let root = tree.root();
        let status = tree.ensure_mapping(root, "status");
        let conditions = tree.sequence(Style::Block);
        let condition = tree.mapping(Style::Block);
        for (key, value) in [("type", "Rendered"), ("status", "True")] {
            let value = tree.string(value);
            tree.set(condition, key, value);
        }
        tree.push(conditions, condition);
        tree.set(status, "conditions", conditions);
    });
    let status = "status:\n  conditions:\n  - type: Rendered\n    status: \"True\"\n";
    assert_eq!(out, format!("{text}{status}"));
}

#[test]
fn one_line_differs_where_one_image_changed() {
    let Some((package, expected)) = report("14-minimal-diff", "a.yaml") else { return };
    let out = edited(&package, 0, |tree| {
        let containers = tree.get_path(tree.root(), &["spec", "containers"]).unwrap();
        let first = tree.elements(containers).next().unwrap();
        let image = tree.get(first, "image").unwrap();
        tree.set_string(image, "web:2.0");
    });
    assert_eq!(out, expected);
}

#[test]
fn a_label_leaves_the_spelling_of_numbers_alone() {
    for (name, path, index, key, value) in [
        ("07-number-spelling", "x.yaml", 0, "tier", "back"),
        ("04-comment-only-document", "ns.yaml", 0, "probe", "yes"),
    ] {
        let Some((package, expected)) = report(name, path) else { return };
        let out = edited(&package, index, |tree| {
            let metadata = tree.get(tree.root(), "metadata").unwrap();
            let labels = tree.ensure_mapping(metadata, "labels");
            let value = tree.string(value);
            tree.set(labels, key, value);
        });
        assert_eq!(out, expected, "{name}");
    }
}

#[test]
fn base64_that_was_broken_into_lines_is_the_same_value() {
    let text = "other: 1\nbytes: !!binary aGVsbG8=\n";
    let out = edited(text, 0, |tree| {
        let root = tree.root();
        let (bytes, other) = (tree.get(root, "bytes").unwrap(), tree.get(root, "other").unwrap());
        tree.set_text(bytes, "aGVs\nbG8=\n");
        tree.set_style(bytes, Style::Literal);
        tree.set_text(other, "2");
    });
    assert_eq!(out, text.replace('1', "2"));
}

#[test]
fn a_json_file_changes_where_its_value_does() {
    let text = "{\n    \"kind\": \"Thing\",\n    \"list\": [1,2, 3],\n    \"empty\": {}\n}\n";
    let out = edited(text, 0, |tree| {
        let root = tree.root();
        let list = tree.get(root, "list").unwrap();
        let four = tree.scalar("4", Style::Plain);
        tree.push(list, four);
        let map = tree.mapping(Style::Block);
        let value = tree.string("yes");
        tree.set(map, "k", value);
        tree.set(root, "new", map);
    });
    let expected = text.replace("3]", "3,4]").replace("{}\n", "{},\n    \"new\": {\"k\": \"yes\"}\n");
    assert_eq!(out, expected);
}

#[test]
fn large_lists_are_spliced_in_linear_time() {
    let mut text = String::from("list:\n");
    for n in 0..20_000 {
        text.push_str("  - a: ");
        text.push_str(&n.to_string());
        text.push('\n');
    }
    let out = edited(&text, 0, |tree| {
        let list = tree.get(tree.root(), "list").unwrap();
        let mut elements: Vec<_> = tree.elements(list).collect();
        elements.remove(10_000);
        tree.set_children(list, &elements);
        let first = elements[0];
        let value = tree.string("new");
        tree.set(first, "b", value);
    });
    let expected = text.replace("  - a: 10000\n", "").replacen("  - a: 0\n", "  - a: 0\n    b: new\n", 1);
    assert!(out == expected);
}
