//! Functions whose output is not what it has to be, or is meant to hurt whoever reads it.
#![expect(clippy::format_collect, reason = "a table reads best so, and is made once")]

use super::text::{adding, adding_many, main, numbered, printing, program, repeating};
use super::{End, Row, row};

/// The beginning of a `ResourceList`, up to its items.
pub(super) const HEAD: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n";

/// The beginning of one more item, up to its data.
pub(super) const ITEM: &str = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: added\n  data:\n";

/// No resource, in a file of its own.
const NOT_ONE: &str = "- metadata:\n    annotations:\n      internal.config.kubernetes.io/path: f00000000.yaml\n";

const LIST: &str = "wrote something that is no ResourceList";

/// Enough for a hundred megabytes.
const MUCH_FUEL: u64 = 100_000_000;

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    rows.extend(no_list());
    rows.extend(wrong_lists());
    rows.extend(nested());
    rows.extend(aliases());
    rows.extend(oddities());
    rows.extend(huge());
    rows
}

/// Prints this text.
fn prints(name: &str, text: impl Into<Vec<u8>>) -> Row {
    let text = text.into();
    row(name, move || printing(&text))
}

/// Gives its input back with further text behind it.
fn adds(name: &str, text: impl Into<String>) -> Row {
    let text = text.into();
    row(name, move || adding(&text))
}

fn no_list() -> Vec<Row> {
    let empty = &["its output is empty although it exited with code 0"];
    vec![
        prints("empty output", "").ends(End::BadOutput, empty),
        prints("nothing but space", " \n\t\r\n \n").ends(End::BadOutput, empty),
        prints("nothing but comments", "# nothing\n# here\n").ends(End::BadOutput, &[LIST]),
        prints("nothing but an end", "---\n...\n---\n").ends(End::BadOutput, &[LIST]),
        prints("null", "null\n").ends(End::BadOutput, &[LIST]),
        prints("garbage", "this: is: not: yaml\nnor: is: this\n").ends(End::BadOutput, &[LIST, "line 1"]),
        prints("zeroes", vec![0; 10_000]).ends(End::BadOutput, &[LIST]),
        prints("bytes of all values", (0..=255).cycle().take(10_000).collect::<Vec<u8>>())
            .ends(End::BadOutput, &[LIST]),
        prints("text that is no UTF-8", b"apiVersion: config.kubernetes.io/v1\nkind: \xff\xfe\nitems: []\n".to_vec())
            .ends(End::BadOutput, &[LIST]),
        prints("half a character at the end", [HEAD.as_bytes(), b"- \xe2\x80"].concat()).ends(End::BadOutput, &[LIST]),
        prints("UTF-16 that breaks off", b"\xff\xfea\0:\0 \0b".to_vec()).ends(End::BadOutput, &[LIST]),
        prints("a single word", "hello\n").ends(End::BadOutput, &[LIST]),
        prints("a list", "- a\n- b\n").ends(End::BadOutput, &[LIST]),
        prints("a program", b"\x7fELF\x02\x01\x01\0\0\0".to_vec()).ends(End::BadOutput, &[LIST]),
        prints("a message for people", "checking 3 objects\nall is well\n").ends(End::BadOutput, &[LIST]),
        prints(
            "output that breaks off in a word",
            format!("{HEAD}- apiVersion: v1\n  kind: ConfigMap\n  data: {{key: val"),
        )
        .ends(End::BadOutput, &[LIST]),
        prints("output that breaks off in a quote", format!("{HEAD}- apiVersion: v1\n  kind: \"Config"))
            .ends(End::BadOutput, &[LIST]),
        prints("output that breaks off behind an item", format!("{HEAD}- apiVersion: v1\n  kind: A\n"))
            .ends(End::BadOutput, &["resource must have `metadata.name`"]),
        row("its input twice", || {
            program(
                r#"(func (export "_start")
                     (i32.store (i32.const 0) (i32.const 1024))
                     (i32.store (i32.const 4) (i32.const 100000))
                     (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
                     (i32.store (i32.const 12) (i32.load (i32.const 8)))
                     (call $write (i32.const 1) (i32.const 1024) (i32.load (i32.const 12)))
                     (call $write (i32.const 1) (i32.const 1024) (i32.load (i32.const 12))))"#,
            )
        })
        .ends(End::BadOutput, &[LIST]),
    ]
}

fn wrong_lists() -> Vec<Row> {
    let list = |rest: &str| format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n{rest}");
    let without_kptfile = "the Kptfile that declares the pipeline is missing from the output";
    vec![
        prints("another kind", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n")
            .ends(End::BadOutput, &[without_kptfile]),
        prints("another group", "apiVersion: example.com/v1\nkind: ResourceList\nitems: []\n")
            .ends(End::BadOutput, &[LIST]),
        prints("no items", list("")).ends(End::BadOutput, &[LIST]),
        prints("items that are null", list("items:\n")).ends(End::BadOutput, &[without_kptfile]),
        prints("items that are a number", list("items: 7\n")).ends(End::BadOutput, &[LIST]),
        prints("items that are a mapping", list("items: {a: b}\n")).ends(End::BadOutput, &[LIST]),
        prints("items that are numbers", list("items: [1, 2]\n")).ends(End::BadOutput, &[LIST]),
        prints("items that are null each", list("items: [~, ~]\n")).ends(End::BadOutput, &[LIST]),
        prints("items that are lists", list("items: [[a], [b]]\n")).ends(End::BadOutput, &[LIST]),
        prints("items twice", list("items: []\nitems: []\n")).ends(End::BadOutput, &[LIST, "already defined"]),
        prints("items of one key", list("items: [{a: b}]\n"))
            .ends(End::BadOutput, &["resource must have `apiVersion`"]),
        prints(
            "an item whose kind is a mapping",
            list("items: [{apiVersion: v1, kind: {a: b}, metadata: {name: x}}]\n"),
        )
        .ends(End::BadOutput, &["resource must have `kind`"]),
        prints("an item whose metadata is a number", list("items: [{apiVersion: v1, kind: A, metadata: 7}]\n"))
            .ends(End::BadOutput, &["resource must have `metadata.name`"]),
        prints("an item whose name is a list", list("items: [{apiVersion: v1, kind: A, metadata: {name: [x]}}]\n"))
            .ends(End::BadOutput, &["resource must have `metadata.name`"]),
        prints("a configuration that is a list", list("items: []\nfunctionConfig: [a]\n"))
            .ends(End::BadOutput, &[LIST]),
        prints("two lists", format!("{}---\n{}", list("items: []\n"), list("items: []\n")))
            .ends(End::BadOutput, &[LIST]),
        prints("items without the Kptfile", list("items: []\n")).ends(End::BadOutput, &[without_kptfile]),
        adds("a second Kptfile", "- apiVersion: kpt.dev/v1\n  kind: Kptfile\n  metadata:\n    name: mine\n")
            .ends(End::Passes, &[]),
        row("100,000 items that are no resources", || numbered(HEAD, NOT_ONE, 100_000))
            .bound(|bounds| bounds.fuel = Some(MUCH_FUEL))
            .ends(End::BadOutput, &["resource must have `apiVersion`", "more bytes)"])
            .once(),
        row("1,000 items that are no resources", || numbered(HEAD, NOT_ONE, 1_000))
            .ends(End::BadOutput, &["resource must have `apiVersion`", "more bytes)"]),
    ]
}

fn nested() -> Vec<Row> {
    let stairs = |step: &str, depth: usize| {
        (0..depth).map(|level| format!("    {}{step}\n", " ".repeat(level))).collect::<String>()
    };
    let deep = &[LIST, "deep"];
    vec![
        prints("brackets inside each other", "[".repeat(100_000)).ends(End::BadOutput, &[LIST]),
        prints("braces inside each other", "{a: ".repeat(100_000)).ends(End::BadOutput, &[LIST]),
        prints("dashes inside each other", "- ".repeat(100_000)).ends(End::BadOutput, &[LIST]),
        prints("questions inside each other", "? ".repeat(100_000)).ends(End::BadOutput, &[LIST]),
        adds("an item with 10,000 brackets", format!("{ITEM}    a: {}{}\n", "[".repeat(10_000), "]".repeat(10_000)))
            .ends(End::BadOutput, deep),
        adds("an item with 600 steps", format!("{ITEM}{}", stairs("a:", 600))).ends(End::BadOutput, deep),
        adds("an item with 400 steps", format!("{ITEM}{}", stairs("a:", 400))).ends(End::Passes, &[]),
        adds("an item with 400 brackets", format!("{ITEM}    a: {}{}\n", "[".repeat(400), "]".repeat(400)))
            .ends(End::Passes, &[]),
    ]
}

/// `a0: &a0 [x, x, …]`, `a1: &a1 [*a0, *a0, …]` and so on: 9^levels words when written out.
fn laughs(levels: usize) -> String {
    let line = |level: usize| {
        let word = if level == 0 { "x".to_owned() } else { format!("*a{}", level - 1) };
        format!("    a{level}: &a{level} [{}]\n", vec![word; 9].join(", "))
    };
    (0..levels).map(line).collect()
}

fn aliases() -> Vec<Row> {
    let merges = |levels: usize| -> String {
        let line = |level: usize| match level {
            0 => "    m0: &m0 {x: y}\n".to_owned(),
            _ => format!("    m{level}: &m{level} {{<<: [*m{0}, *m{0}], k{level}: v}}\n", level - 1),
        };
        (0..levels).map(line).collect()
    };
    let many = |count: usize| -> String {
        let pair = |n: usize| format!("    a{n}: &a{n} x\n    b{n}: *a{n}\n");
        (0..count).map(pair).collect()
    };
    let one_of_many = |count: usize| -> String {
        let anchors: String = (0..count).map(|n| format!("    a{n}: &a{n} x\n")).collect();
        let aliases: String = (0..count).map(|n| format!("    b{n}: *a0\n")).collect();
        anchors + &aliases
    };
    vec![
        adds("alias bomb", format!("{ITEM}{}", laughs(30))).ends(End::Passes, &[]),
        adds("alias bomb of merges", format!("{ITEM}{}", merges(100))).ends(End::Passes, &[]),
        adds("alias bomb of keys", format!("{ITEM}    k: &k [a, b]\n    *k : *k\n")).ends(End::Passes, &[]),
        adds("alias that holds itself", format!("{ITEM}    a: &a [*a]\n")).ends(End::Passes, &[]),
        adds("alias into another item", format!("{}    a: &a x\n{}    b: *a\n", ITEM, ITEM.replace("added", "other")))
            .ends(End::BadOutput, &[LIST]),
        adds("alias to nothing", format!("{ITEM}    a: *nothing\n")).ends(End::BadOutput, &[LIST]),
        adds("alias in the place of metadata", "- apiVersion: v1\n  kind: &k A\n  metadata: *k\n")
            .ends(End::BadOutput, &["resource must have `metadata.name`"]),
        adds("500 anchors and aliases", format!("{ITEM}{}", many(500))).ends(End::Passes, &[]),
        adds("20,000 anchors and aliases", format!("{ITEM}{}", many(20_000))).ends(End::Passes, &[]).once(),
        adds("20,000 aliases of the first of 20,000 anchors", format!("{ITEM}{}", one_of_many(20_000)))
            .ends(End::Passes, &[])
            .once(),
    ]
}

fn oddities() -> Vec<Row> {
    vec![
        adds("tags of other languages", format!("{ITEM}    a: !!python/object/apply:os.system [id]\n    b: !ruby x\n"))
            .ends(End::Passes, &[]),
        adds("a tag without an end", format!("{ITEM}    a: !<tag:{} x\n", "y".repeat(10_000)))
            .ends(End::BadOutput, &[LIST]),
        adds("an anchor of 100,000 characters", format!("{ITEM}    a: &{} x\n", "y".repeat(100_000)))
            .ends(End::Passes, &[]),
        adds("a quote without an end", format!("{ITEM}    a: \"x\n")).ends(End::BadOutput, &[LIST]),
        adds("an escape that is none", format!("{ITEM}    a: \"\\q\"\n")).ends(End::BadOutput, &[LIST]),
        adds("half of a pair of characters", format!("{ITEM}    a: \"\\ud800\"\n")).ends(End::BadOutput, &[LIST]),
        adds("tabs for indentation", format!("{ITEM}\ta: b\n")).ends(End::BadOutput, &[LIST]),
        adds("an indentation of 100,000", format!("{ITEM}{}a: b\n", " ".repeat(100_000))).ends(End::Passes, &[]),
        adds("equal keys", format!("{ITEM}    a: b\n    a: c\n")).ends(End::BadOutput, &[LIST, "already defined"]),
        adds("equal keys of 100,000 characters", {
            let key = "k".repeat(100_000);
            format!("{ITEM}    ? {key}\n    : b\n    ? {key}\n    : c\n")
        })
        .ends(End::BadOutput, &[LIST, "already defined"]),
        adds("keys that are collections", format!("{ITEM}    ? [a, b]\n    : c\n    ? {{d: e}}\n    : f\n"))
            .ends(End::Passes, &[]),
        adds("10,000 keys", format!("{ITEM}{}", (0..10_000).map(|n| format!("    k{n}: v\n")).collect::<String>()))
            .ends(End::Passes, &[])
            .once(),
        adds("10,000 comments", format!("{ITEM}{}    a: b\n", "    # why\n".repeat(10_000))).ends(End::Passes, &[]),
        adds("an item behind the end", "...\n- apiVersion: v1\n").ends(End::BadOutput, &[LIST]),
        adds("a version of YAML that does not exist", "---\n%YAML 9.9\n---\na: b\n").ends(End::BadOutput, &[LIST]),
        adds(
            "numbers beyond all bounds",
            format!("{ITEM}    a: {}\n    b: 1e{}\n", "9".repeat(10_000), "9".repeat(1_000)),
        )
        .ends(End::Passes, &[]),
        adds("a name of 100,000 characters", {
            format!("- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: {}\n", "n".repeat(100_000))
        })
        .ends(End::BadOutput, &["is too long"]),
    ]
}

/// A name, the beginning, what is repeated, how often for 100 MB, how that and a hundredth of it end, and the words.
type Body = (&'static str, String, &'static str, u32, [End; 2], &'static [&'static str]);

fn huge() -> Vec<Row> {
    // What it is made of, how often for 100 MB, and the end; of 1 MB the second.
    let bodies: [Body; 8] = [
        ("one value", format!("{ITEM}    a: "), "0123456789abcdef", 6_250_000, [End::Passes; 2], &[]),
        ("lines of one value", format!("{ITEM}    a: |\n"), "      0123456789\n", 5_882_352, [End::Passes; 2], &[]),
        ("small items", String::new(), "- {}\n", 20_000_000, [End::BadOutput; 2], &[]),
        ("elements", format!("{ITEM}    a: [x"), ",x", 50_000_000, [End::BadOutput; 2], &[]),
        ("comments", String::new(), "# comment\n", 10_000_000, [End::Passes; 2], &[]),
        ("documents", String::new(), "---\n", 25_000_000, [End::BadOutput, End::Passes], &[]),
        ("brackets", format!("{ITEM}    a: "), "[", 100_000_000, [End::BadOutput; 2], &[LIST]),
        ("garbage", String::new(), "x: y: z\n", 12_500_000, [End::BadOutput; 2], &[LIST]),
    ];
    let mut rows = Vec::new();
    for (name, head, text, times, ends, words) in bodies {
        for (size, end, share) in [("100 MB", ends[0], 1), ("1 MB", ends[1], 100)] {
            let (head, times) = (head.clone(), times / share);
            let row = row(format!("{size} of output: {name}"), move || adding_many(&head, text, times))
                .bound(|bounds| bounds.fuel = Some(MUCH_FUEL))
                .ends(end, words);
            rows.push(if share == 1 || times > 50_000 { row.once() } else { row });
        }
    }
    let item = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: n00000000\n  data:\n    a: ".to_owned();
    let item = item + &"v".repeat(10_000) + "\n";
    for (size, times) in [("100 MB", 9_900), ("1 MB", 99)] {
        let item = item.clone();
        let row = row(format!("{size} of output: resources"), move || numbered("", &item, times))
            .bound(|bounds| bounds.fuel = Some(MUCH_FUEL));
        rows.push(row.once());
    }
    rows.push(
        row("100 MB of space", || repeating("", "          \n", 9_090_909))
            .bound(|bounds| bounds.fuel = Some(MUCH_FUEL))
            .ends(End::BadOutput, &["its output is empty"])
            .once(),
    );
    rows.push(
        row("endless output", || {
            main("(loop $again (call $write (i32.const 1) (i32.const 1024) (i32.const 65536)) (br $again))")
        })
        .bound(|bounds| (bounds.fuel, bounds.stdout) = (Some(MUCH_FUEL), Some(8 << 20)))
        .ends(End::Stdout, &["to stdout"]),
    );
    rows.push(
        row("endless output of items", || repeating(HEAD, ITEM, u32::MAX / 2))
            .bound(|bounds| (bounds.fuel, bounds.stdout) = (Some(MUCH_FUEL), Some(8 << 20)))
            .ends(End::Stdout, &["to stdout"]),
    );
    rows
}
