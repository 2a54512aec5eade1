//! Random edits of generated documents: what preserve style writes reads as the edited value, and lines that no edit
//! touched are still there.
#![expect(clippy::print_stdout, reason = "what was skipped is to be seen")]

use std::fmt::Write as _;

use portico_krm::reconcile::{copy_comments, sync_order};
use portico_krm::splice::{Edited, splice};
use portico_krm::yaml::{EmitOptions, Kind, NodeId, ParseLimits, SourceFile, Style, Tree, emit_document, value_eq};

/// A small generator with a fixed sequence: the same documents in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

const SCALARS: [&str; 24] = [
    "a",
    "b c",
    "1",
    "1.50",
    "true",
    "null",
    "~",
    "\"q\"",
    "'s'",
    "\"a\\nb\"",
    "''",
    "0755",
    "x:y",
    "a#b",
    "é",
    "😀",
    "[]",
    "{}",
    "[a, b]",
    "{k: v}",
    "{k: v,  'l': [1, 2]}",
    "\"yes\"",
    "yes",
    "",
];
const TEXTS: [&str; 12] =
    ["new", "5", "true", "", " lead", "a: b", "two\nlines", "two\nlines\n", "# no", "- x", "é😀", "yes"];

struct Writer {
    random: Random,
    out: String,
    comments: usize,
}

impl Writer {
    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = self.out.write_fmt(text);
    }

    fn junk(&mut self, indent: usize) {
        while self.random.one_in(4) {
            if self.random.one_in(2) {
                self.out.push('\n');
            } else {
                self.comments += 1;
                let n = self.comments;
                self.add(format_args!("{}# c{n}\n", " ".repeat(indent)));
            }
        }
    }

    fn value(&mut self, indent: usize, depth: usize, in_sequence: bool) {
        match self.random.below(if depth > 3 { 6 } else { 10 }) {
            0..=4 => {
                let text = self.random.pick(&SCALARS);
                let space = self.random.pick(&[" ", " ", "  "]);
                self.add(format_args!("{space}{text}"));
                if self.random.one_in(4) {
                    self.comments += 1;
                    let n = self.comments;
                    self.add(format_args!("  # c{n}"));
                }
                self.out.push('\n');
            }
            5 => {
                let header = self.random.pick(&["|", ">", "|-", ">-", "|+"]);
                self.add(format_args!(" {header}\n"));
                for line in ["t", "", "  more", "x # y"].iter().take(1 + self.random.below(4)) {
                    let indent = if line.is_empty() { 0 } else { indent + 2 };
                    self.add(format_args!("{}{line}\n", " ".repeat(indent)));
                }
            }
            6 | 7 => {
                if in_sequence && self.random.one_in(2) {
                    self.out.push(' ');
                    self.mapping(indent + 2, depth + 1, true);
                } else {
                    let step = if self.random.one_in(4) { 4 } else { 2 };
                    self.out.push('\n');
                    self.junk(indent + step);
                    self.mapping(indent + step, depth + 1, false);
                }
            }
            _ => {
                let step = if in_sequence { 2 } else { self.random.below(2) * 2 };
                self.out.push('\n');
                self.junk(indent + step);
                self.sequence(indent + step, depth + 1);
            }
        }
    }

    fn mapping(&mut self, indent: usize, depth: usize, behind_dash: bool) {
        for n in 0..=self.random.below(4) {
            if n > 0 {
                self.junk(indent);
            }
            let key = self.random.pick(&["a", "name", "key", "image", "\"q\"", "'s'"]);
            let key = if n == 0 && self.random.one_in(2) {
                "name".to_owned()
            } else {
                key.replacen(['a', 'e', 'q', 's'], &format!("x{n}"), 1)
            };
            let indent_text = if n == 0 && behind_dash { String::new() } else { " ".repeat(indent) };
            self.add(format_args!("{indent_text}{key}:"));
            self.value(indent, depth, false);
        }
    }

    fn sequence(&mut self, indent: usize, depth: usize) {
        for n in 0..=self.random.below(4) {
            if n > 0 {
                self.junk(indent);
            }
            self.add(format_args!("{}-", " ".repeat(indent)));
            self.value(indent, depth, true);
        }
    }
}

fn all_nodes(tree: &Tree) -> Vec<NodeId> {
    let mut nodes = Vec::new();
    let mut stack = vec![tree.root()];
    while let Some(id) = stack.pop() {
        nodes.push(id);
        // Keys are left alone: equal ones would be refused.
        match tree.kind(id) {
            Kind::Mapping => stack.extend(tree.entries(id).map(|(_, v)| v)),
            _ => stack.extend(tree.children(id)),
        }
    }
    nodes
}

fn new_value(tree: &mut Tree, random: &mut Random) -> NodeId {
    let text = random.pick(&TEXTS);
    match random.below(4) {
        0 => {
            let map = tree.mapping(if random.one_in(3) { Style::Flow } else { Style::Block });
            for key in ["name", "added"].iter().take(random.below(3)) {
                let value = tree.string(text);
                tree.set(map, key, value);
            }
            map
        }
        1 => {
            let seq = tree.sequence(Style::Block);
            for _ in 0..random.below(3) {
                let value = tree.string(text);
                tree.push(seq, value);
            }
            seq
        }
        _ => tree.string(text),
    }
}

fn edit(tree: &mut Tree, random: &mut Random) {
    let nodes = all_nodes(tree);
    let id = nodes[random.below(nodes.len())];
    match tree.kind(id) {
        Kind::Scalar | Kind::Alias => {
            let text = random.pick(&TEXTS);
            if random.one_in(3) { tree.set_text(id, text) } else { tree.set_string(id, text) }
        }
        Kind::Mapping => {
            let keys: Vec<String> = tree.entries(id).map(|(k, _)| tree.text(k).to_owned()).collect();
            match random.below(4) {
                0 if !keys.is_empty() && (keys.len() > 1 || id != tree.root()) => {
                    let key = keys[random.below(keys.len())].clone();
                    tree.remove(id, &key);
                }
                1 if !keys.is_empty() => {
                    let key = keys[random.below(keys.len())].clone();
                    let value = new_value(tree, random);
                    tree.set(id, &key, value);
                }
                2 => {
                    // In front: what a function does that puts a field at a place of its own.
                    let key = tree.string("front");
                    let value = new_value(tree, random);
                    let children: Vec<NodeId> = [key, value].into_iter().chain(tree.children(id)).collect();
                    if tree.get(id, "front").is_none() {
                        tree.set_children(id, &children);
                    }
                }
                _ => {
                    let value = new_value(tree, random);
                    tree.set(id, "fresh", value);
                }
            }
        }
        Kind::Sequence => {
            let mut elements: Vec<NodeId> = tree.elements(id).collect();
            match random.below(4) {
                0 if !elements.is_empty() => {
                    elements.remove(random.below(elements.len()));
                }
                1 => elements.reverse(),
                _ => {
                    let at = random.below(elements.len() + 1);
                    let value = new_value(tree, random);
                    elements.insert(at, value);
                }
            }
            tree.set_children(id, &elements);
        }
    }
}

fn parse(text: &str) -> Option<Tree> {
    Tree::parse(text, &ParseLimits::default()).ok().flatten()
}

#[test]
fn edits_read_back_and_leave_other_lines_alone() {
    let (mut documents, mut kpt_style, mut kpt_changes) = (0, 0, 0);
    let seeds = if std::env::var_os("PORTICO_SOAK").is_some() { 300_000 } else { 3000 };
    for seed in 0..seeds {
        let mut writer = Writer { random: Random(seed), out: String::new(), comments: 0 };
        writer.mapping(0, 0, false);
        let text = writer.out;
        let Ok(file) = SourceFile::parse(text.as_bytes(), &ParseLimits::default()) else { continue };
        let Some(document) = file.documents().first() else { continue };
        documents += 1;
        let mut tree = document.tree.clone();
        let mut random = Random(seed ^ 0xABCD);
        for _ in 0..=random.below(3) {
            edit(&mut tree, &mut random);
        }
        let out = String::from_utf8(splice(&file, &[Edited::Changed(0, &tree)])).unwrap();
        let back = parse(&out).unwrap_or_else(|| panic!("seed {seed}: unreadable\n{text}\n====\n{out}"));
        let mut wanted = String::new();
        emit_document(&tree, &EmitOptions::default(), &mut wanted);
        assert!(
            value_eq(&back, back.root(), &tree, tree.root()),
            "seed {seed}: another value\n{text}\n==== wanted\n{wanted}\n==== found\n{out}"
        );
        // A comment either stays once or goes: never twice.
        for n in 0..=writer.comments {
            let count = |text: &str| text.lines().filter(|line| line.ends_with(&format!("# c{n}"))).count();
            assert!(
                count(&out) <= count(&text),
                "seed {seed}: # c{n} came twice\n{text}\n==== wanted\n{wanted}\n====\n{out}"
            );
        }
        let mut kpt = String::new();
        emit_document(&tree, &EmitOptions { sequences: document.seq_style }, &mut kpt);
        kpt_style += usize::from(kpt == out && kpt.lines().count() > 4);
        // With a function that drops comments and styles the result holds the same value.
        let mut plain = parse(&kpt).unwrap_or_else(|| panic!("seed {seed}: kpt style is unreadable\n{kpt}"));
        if !value_eq(&plain, plain.root(), &tree, tree.root()) {
            // kpt style puts a blank line before a comment, also below a scalar with `|+`, which keeps it.
            kpt_changes += 1;
            continue;
        }
        for id in all_nodes(&plain) {
            plain.edit_comments(id, |c| *c = portico_krm::yaml::Comments::default());
        }
        copy_comments(&document.tree, &mut plain);
        sync_order(&document.tree, &mut plain);
        assert!(value_eq(&plain, plain.root(), &tree, tree.root()), "seed {seed}: reconciling changed a value\n{kpt}");
        let out = String::from_utf8(splice(&file, &[Edited::Changed(0, &plain)])).unwrap();
        let back = parse(&out).unwrap_or_else(|| panic!("seed {seed}: unreadable\n{text}\n====\n{out}"));
        assert!(value_eq(&back, back.root(), &tree, tree.root()), "seed {seed}: another value\n{text}\n====\n{out}");
    }
    println!("{documents} documents, {kpt_style} were written anew as a whole, {kpt_changes} change in kpt style");
    assert!(kpt_changes * 10_000 <= documents, "{kpt_changes} of {documents} documents change in kpt style");
    assert!(documents > 1500, "{documents}");
    assert!(kpt_style * 10 < documents, "{kpt_style} of {documents} documents were written anew as a whole");
}

fn yaml_files(folder: &std::path::Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            yaml_files(&path, files);
        } else if path.extension().is_some_and(|e| e == "yaml" || e == "json") || path.ends_with("Kptfile") {
            files.push(path);
        }
    }
    files.sort();
}

#[test]
fn edits_of_real_files_read_back() {
    let Some(root) = std::env::var_os("PORTICO_CONFORMANCE") else {
        println!("skipped: real files, because PORTICO_CONFORMANCE is not set");
        return;
    };
    let mut files = Vec::new();
    yaml_files(std::path::Path::new(&root), &mut files);
    let mut random = Random(1);
    let mut count = 0;
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        let Ok(file) = SourceFile::parse(&bytes, &ParseLimits::default()) else { continue };
        for (n, document) in file.documents().iter().enumerate() {
            let mut tree = document.tree.clone();
            for _ in 0..=random.below(3) {
                edit(&mut tree, &mut random);
            }
            if parse(&written(&tree)).is_none() {
                // The edit took an anchor away whose alias stays, or left nothing.
                continue;
            }
            let documents: Vec<Edited<'_>> = (0..file.documents().len())
                .map(|at| if at == n { Edited::Changed(n, &tree) } else { Edited::Unchanged(at) })
                .collect();
            let out = splice(&file, &documents);
            let back = SourceFile::parse(&out, &ParseLimits::default());
            let back = back.unwrap_or_else(|e| panic!("{}: {e:?}\n{}", path.display(), String::from_utf8_lossy(&out)));
            let found = &back.documents()[n].tree;
            let equal = value_eq(found, found.root(), &tree, tree.root());
            assert!(equal, "{}: wanted\n{}\nfound\n{}", path.display(), written(&tree), written(found));
            count += 1;
        }
    }
    println!("{count} documents");
    assert!(count > 1000, "{count}");
}

fn written(tree: &Tree) -> String {
    let mut out = String::new();
    emit_document(tree, &EmitOptions::default(), &mut out);
    out
}
