//! The YAML test suite: structure and values where libyaml's grammar agrees, each deviation with its reason.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use portico_krm::yaml::{Kind, NodeId, ParseLimits, SourceFile, Style, Tree};

use crate::support::conformance;

/// One case: its name (`ID` or `ID/n`), its text, the events that it stands for (`None` where it must be refused).
struct Case {
    name: String,
    text: String,
    events: Option<String>,
}

/// The texts of all cases.
pub(crate) fn inputs() -> Vec<String> {
    cases().into_iter().map(|case| case.text).collect()
}

fn cases() -> Vec<Case> {
    let Some(folder) = conformance("yaml-test-suite/src") else { return Vec::new() };
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let mut cases = Vec::new();
    for path in files {
        let id = path.file_stem().unwrap().to_string_lossy().into_owned();
        let file = SourceFile::parse(&std::fs::read(&path).unwrap(), &ParseLimits::default()).unwrap();
        let tree = &file.documents()[0].tree;
        let mut inherited = None;
        for (n, entry) in tree.elements(tree.root()).enumerate() {
            if let Some(events) = tree.text_at(entry, &["tree"]) {
                inherited = Some(reveal(events));
            }
            let refused = tree.text_at(entry, &["fail"]) == Some("true");
            let Some(text) = tree.text_at(entry, &["yaml"]) else { continue };
            let name = if tree.len(tree.root()) > 1 { format!("{id}/{n:02}") } else { id.clone() };
            let events = if refused { None } else { inherited.clone() };
            cases.push(Case { name, text: reveal(text), events });
        }
    }
    cases
}

/// The suite writes what one cannot see with signs of its own.
fn reveal(text: &str) -> String {
    let text = text.strip_suffix("∎\n").unwrap_or(text);
    let signs = [("␣", " "), ("»", "\t"), ("—", ""), ("←", "\r"), ("⇔", "\u{FEFF}"), ("↵", "")];
    signs.iter().fold(text.to_owned(), |text, (sign, meaning)| text.replace(sign, meaning))
}

/// The suite's events of what we read, one a line; null documents count as one empty scalar.
fn our_events(text: &str) -> Result<String, String> {
    let file = SourceFile::parse(text.as_bytes(), &ParseLimits::default()).map_err(|e| e[0].to_string())?;
    let mut out = String::new();
    for document in file.documents() {
        out.push_str("+DOC\n");
        write_events(&document.tree, document.tree.root(), &mut out);
        out.push_str("-DOC\n");
    }
    Ok(out)
}

fn write_events(tree: &Tree, id: NodeId, out: &mut String) {
    let mut props = String::new();
    if let Some(anchor) = tree.anchor(id) {
        write!(props, " &{anchor}").unwrap();
    }
    if let Some(tag) = tree.tag(id) {
        let long = match tag.strip_prefix("!!") {
            Some(short) => format!("<tag:yaml.org,2002:{short}>"),
            None if tag.starts_with("!<") => tag[1..].to_owned(),
            None => format!("<{tag}>"),
        };
        write!(props, " {long}").unwrap();
    }
    match tree.kind(id) {
        Kind::Alias => writeln!(out, "=ALI *{}", tree.text(id)).unwrap(),
        Kind::Scalar => {
            let mark = match tree.style(id) {
                Style::SingleQuoted => '\'',
                Style::DoubleQuoted => '"',
                Style::Literal => '|',
                Style::Folded => '>',
                _ => ':',
            };
            writeln!(out, "=VAL{props} {mark}{}", escape(tree.text(id))).unwrap();
        }
        kind => {
            let name = if kind == Kind::Mapping { "MAP" } else { "SEQ" };
            writeln!(out, "+{name}{props}").unwrap();
            for child in tree.children(id) {
                write_events(tree, child, out);
            }
            writeln!(out, "-{name}").unwrap();
        }
    }
}

fn escape(text: &str) -> String {
    [('\\', "\\\\"), ('\n', "\\n"), ('\t', "\\t"), ('\r', "\\r"), ('\u{8}', "\\b")]
        .iter()
        .fold(text.to_owned(), |text, (c, escaped)| text.replace(*c, escaped))
}

/// The suite's events without what a tree does not hold: stream and document markers, flow signs, null documents.
fn expected_events(events: &str) -> String {
    let mut documents = Vec::new();
    for line in events.lines().map(str::trim_start) {
        let line = line.trim_end_matches('\n');
        if line.starts_with("+DOC") {
            documents.push(String::new());
        } else if !matches!(line.get(..4), Some("+STR" | "-STR" | "-DOC")) {
            let line = line.replace("+MAP {}", "+MAP").replace("+SEQ []", "+SEQ").replace(" <!>", "");
            if let Some(document) = documents.last_mut() {
                document.push_str(&line);
                document.push('\n');
            }
        }
    }
    let held = documents.iter().filter(|d| !matches!(d.as_str(), "=VAL :\n" | "=VAL :null\n" | "=VAL :~\n"));
    held.map(|d| format!("+DOC\n{d}-DOC\n")).collect()
}

/// What happens to a case, as the list of deviations names it.
fn outcome(case: &Case) -> (&'static str, String) {
    match (&case.events, our_events(&case.text)) {
        (None, Err(_)) => ("agrees", String::new()),
        (None, Ok(ours)) => ("accepted", ours),
        (Some(_), Err(error)) => ("refused", error),
        (Some(events), Ok(ours)) if expected_events(events) == ours => ("agrees", String::new()),
        (Some(events), Ok(ours)) => ("differs", format!("expected\n{}found\n{ours}", expected_events(events))),
    }
}

#[test]
fn every_case_of_the_suite_agrees_or_deviates_for_a_listed_reason() {
    let list = include_str!("suite-deviations.txt");
    let listed: BTreeMap<&str, &str> = list
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let mut parts = line.splitn(3, ' ');
            let (name, what) = (parts.next().unwrap(), parts.next().unwrap());
            assert!(parts.next().is_some_and(|reason| !reason.is_empty()), "no reason: {line}");
            (name, what)
        })
        .collect();
    let cases = cases();
    let mut wrong = Vec::new();
    let mut agreeing = 0;
    for case in &cases {
        let (what, detail) = outcome(case);
        agreeing += usize::from(what == "agrees");
        let expected = listed.get(case.name.as_str()).copied().unwrap_or("agrees");
        if what != expected {
            wrong.push(format!("{} is listed as {expected} but {what}: {detail}\n{}", case.name, case.text));
        }
    }
    println!("{agreeing} of {} cases agree", cases.len());
    if !cases.is_empty() {
        for name in listed.keys().filter(|name| !cases.iter().any(|case| case.name == **name)) {
            wrong.push(format!("{name} is listed but is no case"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n----\n"));
}
