//! Input made to hurt: each is read or refused in time that grows with its size, on a small stack.

use portico_krm::yaml::{ParseLimits, SourceFile, Tree};

/// Reads a file on a thread with little stack.
fn read(bytes: Vec<u8>) -> Result<usize, String> {
    let thread = std::thread::Builder::new().stack_size(256 << 10);
    let work = move || {
        SourceFile::parse(&bytes, &ParseLimits::default())
            .map(|file| file.documents().len())
            .map_err(|errors| errors[0].to_string())
    };
    thread.spawn(work).unwrap().join().unwrap()
}

fn refused(text: &str, message: &str) {
    let error = read(text.as_bytes().to_vec()).unwrap_err();
    assert!(error.ends_with(message), "{error}");
}

fn accepted(text: &str) {
    read(text.as_bytes().to_vec()).unwrap();
}

#[test]
fn nesting_ends_at_the_depth_limit() {
    for open in ["[", "{a: ", "- ", "? ", "[{a: "] {
        refused(&open.repeat(100_000), "nested deeper than the limit `yaml.depth` of 500");
    }
    let steps: String = (0..2000).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    refused(&steps, "nested deeper than the limit `yaml.depth` of 500");
    accepted(&format!("{}{}", "[".repeat(500), "]".repeat(500)));
    refused(&format!("{}{}", "[".repeat(501), "]".repeat(501)), "nested deeper than the limit `yaml.depth` of 500");
}

#[test]
fn the_limits_can_be_set() {
    let limits = ParseLimits { depth: 2, ..ParseLimits::default() };
    assert!(Tree::parse("[[1]]", &limits).is_ok());
    assert_eq!(Tree::parse("[[[1]]]", &limits).unwrap_err().message, "nested deeper than the limit `yaml.depth` of 2");
    let limits = ParseLimits { bytes: 4, ..ParseLimits::default() };
    assert!(Tree::parse("a: 1", &limits).is_ok());
    let error = SourceFile::parse(b"a: 10", &limits).unwrap_err();
    assert_eq!(error[0].message, "the text has 5 bytes, more than the limit `yaml.bytes` of 4");
}

#[test]
fn many_small_nodes_are_refused_before_they_fill_the_memory() {
    let refused =
        |text: &str, limits: ParseLimits| SourceFile::parse(text.as_bytes(), &limits).unwrap_err()[0].to_string();
    let nodes = ParseLimits { nodes: 1000, ..ParseLimits::default() };
    for text in ["[".to_owned() + &"a,".repeat(1000) + "]", "- a\n".repeat(1000), "a: 1\n---\n".repeat(400)] {
        let error = refused(&text, nodes);
        assert!(error.contains("more nodes than the limit `yaml.nodes` allows"), "{error}");
    }
    // What lies in side tables counts as what it takes.
    for text in ["- a #c\n".repeat(300), "- &a b\n".repeat(300), "- !t b\n".repeat(300)] {
        refused(&text, nodes);
        assert!(SourceFile::parse(text.as_bytes(), &ParseLimits { nodes: 2000, ..nodes }).is_ok());
    }
    let documents = ParseLimits { documents: 3, ..ParseLimits::default() };
    assert_eq!(SourceFile::parse(b"a: 1\n---\na: 2\n---\na: 3\n", &documents).unwrap().documents().len(), 3);
    let error = refused("a: 1\n---\na: 2\n---\na: 3\n---\na: 4\n", documents);
    assert!(error.contains("more documents than the limit `yaml.documents` of 3"), "{error}");
    // Separators alone cost memory too.
    refused(&"---\n".repeat(10), documents);
}

#[test]
fn keys_of_more_than_1024_characters_are_refused() {
    accepted(&format!("{}: 1", "k".repeat(1024)));
    accepted(&format!("{}: 1", "é".repeat(1024)));
    refused(&format!("{}: 1", "k".repeat(300_000)), "mapping values are not allowed in this context");
    refused(&format!("a: 1\n{}: 1", "é".repeat(1025)), "could not find expected ':'");
    accepted(&format!("? {}\n: 1", "k".repeat(300_000)));
}

#[test]
fn long_and_many_of_everything_is_read_once() {
    for text in [
        "# c\n".repeat(200_000) + "a: 1\n",
        "# c\n\n".repeat(200_000) + "a: 1\n",
        (0..200_000).map(|n| format!("k{n}: 1 # c\n")).collect(),
        "- # c\n".repeat(100_000),
        "- a\n# foot\n\n".repeat(100_000),
        format!("[{}]", "a, # c\n".repeat(100_000)),
        format!("[{}]", "\n# c\na,".repeat(100_000)),
        (0..50_000).map(|n| format!("k{n}: &a{n} x\n")).collect(),
        String::from("a: &a 1\n") + &(0..50_000).map(|n| format!("k{n}: *a\n")).collect::<String>(),
        (0..50_000).map(|n| format!("- !t{n} x\n")).collect(),
        (0..50_000).map(|n| format!("%TAG !t{n}! x\n")).collect::<String>() + "--- # c\n- !t7!x\n",
        format!("[{}]", "é,".repeat(200_000)),
        format!("a: \"{}\"", "\\n".repeat(300_000)),
        format!("a: \"{}\"", "x\n ".repeat(300_000)),
        format!("a: {}", "x\n  ".repeat(200_000)),
        format!("a: |\n{}", "  x\n\n".repeat(200_000)),
        format!("a: 1\n{}# c\nb: 1\n", " \n".repeat(500_000)),
        format!("a: 1{}# c\n", " ".repeat(500_000)),
        "a: 1\n---\n".repeat(100_000),
        "---\n".repeat(200_000),
        format!("[{}]", "{\"a\":\"b\",\"c\":[1,2]},".repeat(50_000)),
        format!("- {}", "? - ".repeat(200)),
    ] {
        let start: String = text.chars().take(40).collect();
        let result = read(text.into_bytes());
        assert!(result.is_ok() || start.starts_with("%TAG"), "{start:?}: {result:?}");
    }
}

#[test]
fn comments_at_all_depths_are_read_once() {
    let mut text: String = (0..400).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    for n in 0..20_000 {
        text.push_str(&" ".repeat(400 - n % 400));
        text.push_str("# c\n\n");
    }
    accepted(&(text + "b: 1\n"));
}

#[test]
fn aliases_are_never_expanded() {
    let mut text = String::from("a0: &a0 [x, x]\n");
    for n in 1..60 {
        text.push_str(&format!("a{n}: &a{n} [*a{}, *a{}]\n", n - 1, n - 1));
    }
    accepted(&text);
    accepted("a: &a [*a]\n");
    accepted("a: &a\n  b: *a\n");
}
