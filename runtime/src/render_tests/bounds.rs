//! How much a package and an answer may hold.

use portico_krm::yaml::ParseLimits;

use super::harness::{Functions, config_map, kptfile, quiet, render_as};
use crate::limits::Limits;
use crate::renderer::{CallOptions, RenderOptions};

type Tighten = fn(&mut ParseLimits);

fn with(limits: Limits) -> RenderOptions {
    RenderOptions { call: CallOptions { limits, ..CallOptions::default() }, ..quiet() }
}

/// A function that turns each list into one with `count` resources.
fn maker(count: usize) -> Functions {
    let mut functions = Functions::new();
    functions.items("make", move |list| {
        let first = list.items[0].clone();
        list.items.extend((0..count - list.items.len()).map(|n| {
            let mut copy = first.clone();
            copy.clear_id();
            copy.set_name(&format!("made-{n}"));
            copy.set_path(&format!("made-{n}.yaml"));
            copy
        }));
    });
    functions
}

#[test]
fn a_package_with_more_resources_than_allowed_is_refused_with_the_file() {
    let files =
        [("Kptfile", &*kptfile("app", "identity")), ("a.yaml", &*[config_map("a"), config_map("b")].join("---\n"))];
    render_as(&files, Functions::new(), &with(Limits { resources: 3, ..Limits::default() })).passed();
    let rendered = render_as(&files, Functions::new(), &with(Limits { resources: 2, ..Limits::default() }));
    let message = rendered.message();
    assert!(message.starts_with("`a.yaml`: 3 resources at least, the limit is 2;"), "{message}");
    assert!(message.ends_with("raise the limit `resources`"), "{message}");
    assert!(rendered.functions.inputs.is_empty());
}

#[test]
fn an_answer_with_more_resources_than_allowed_is_refused() {
    let files = [("Kptfile", &*kptfile("app", "make")), ("a.yaml", &*config_map("a"))];
    let limits = with(Limits { resources: 10, ..Limits::default() });
    assert_eq!(render_as(&files, maker(10), &limits).passed().files.len(), 10);
    let rendered = render_as(&files, maker(11), &limits);
    let message = rendered.message();
    assert!(message.contains("wrote 11 resources") && message.contains("the limit `resources` of 10"), "{message}");
}

#[test]
fn what_a_function_does_not_get_counts_too() {
    // Two packages with eight resources each are sixteen in all, whatever each function gets.
    let files = [
        ("Kptfile", &*kptfile("app", "")),
        ("x/Kptfile", &*kptfile("x", "make")),
        ("x/a.yaml", &*config_map("a")),
        ("y/Kptfile", &*kptfile("y", "make")),
        ("y/a.yaml", &*config_map("a")),
    ];
    render_as(&files, maker(8), &with(Limits { resources: 17, ..Limits::default() })).passed();
    let rendered = render_as(&files, maker(8), &with(Limits { resources: 16, ..Limits::default() }));
    assert!(rendered.message().contains("wrote 8 resources"), "{}", rendered.message());
    assert_eq!(rendered.functions.inputs.len(), 2);
}

#[test]
fn the_text_of_files_and_answers_is_bounded_alike() {
    let config = config_map("a");
    let files = [("Kptfile", &*kptfile("app", "text")), ("a.yaml", &*config)];
    let yaml = |change: fn(&mut ParseLimits)| {
        let mut limits = Limits::default();
        change(&mut limits.yaml);
        with(limits)
    };
    let answer = |text: &'static str| {
        let mut functions = Functions::new();
        functions.text("text", move |_| text.to_owned());
        functions
    };
    let cases: [(Tighten, &str, &str); 4] = [
        (|l| l.depth = 6, "kind: ResourceList\nitems: [{a: {b: {c: {d: {e: 1}}}}}]\n", "`yaml.depth` of 6"),
        (
            |l| l.bytes = 200,
            concat!("kind: ResourceList\nitems: []\n#", include_str!("bounds.rs")),
            "`yaml.bytes` of 200",
        ),
        (
            |l| l.nodes = 40,
            "kind: ResourceList\nitems: [{a: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36]}]\n",
            "`yaml.nodes`",
        ),
        (|l| l.documents = 2, "kind: ResourceList\nitems: [{a: 1}, {a: 2}, {a: 3}]\n", "`yaml.documents` of 2"),
    ];
    for (change, text, words) in cases {
        let rendered = render_as(&files, answer(text), &yaml(change));
        assert!(rendered.message().contains(words), "{}", rendered.message());
        assert!(rendered.message().contains("step 1 of package \"app\""), "{}", rendered.message());
        // The same text in a file: refused before anything runs, with file and line.
        let files = [files[0], files[1], ("big.yaml", text)];
        if words.contains("documents") {
            continue;
        }
        let rendered = render_as(&files, answer(""), &yaml(change));
        assert!(rendered.message().starts_with("big.yaml:"), "{}", rendered.message());
        assert!(rendered.message().contains(words), "{}", rendered.message());
        assert!(rendered.functions.inputs.is_empty());
    }
}
