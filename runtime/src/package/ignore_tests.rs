use super::IgnoreRules;

fn ignored(rules: &str, path: &str) -> bool {
    IgnoreRules::parse(rules.as_bytes()).is_ignored(path, false)
}

fn ignored_dir(rules: &str, path: &str) -> bool {
    IgnoreRules::parse(rules.as_bytes()).is_ignored(path, true)
}

#[test]
fn blank_lines_comments_and_surrounding_spaces_do_not_count() {
    let rules = "\n# a.yaml\n   \n  b.yaml  \r\n\\#c.yaml\n";
    assert!(!ignored(rules, "a.yaml"));
    assert!(ignored(rules, "b.yaml"));
    assert!(ignored(rules, "#c.yaml"));
    assert!(!ignored("\ta.yaml", "a.yaml"), "only spaces are trimmed");
}

#[test]
fn a_floating_pattern_matches_the_end_of_a_path() {
    assert!(ignored("c.yaml", "c.yaml"));
    assert!(ignored("c.yaml", "x/y/c.yaml"));
    assert!(ignored("y/c.yaml", "x/y/c.yaml"));
    assert!(ignored("x/y/c.yaml", "z/x/y/c.yaml"));
    assert!(!ignored("y/c.yaml", "c.yaml"));
    assert!(!ignored("c.yaml", "cc.yaml"));
    assert!(ignored("*.yaml", "x/y/c.yaml"));
    assert!(!ignored("x/*.yaml", "x/y/c.yaml"));
}

#[test]
fn an_anchored_pattern_matches_the_whole_path_alone() {
    assert!(ignored("/c.yaml", "c.yaml"));
    assert!(!ignored("/c.yaml", "x/c.yaml"));
    assert!(ignored("/x/*.yaml", "x/c.yaml"));
    assert!(!ignored("/x", "x/c.yaml"), "the directory is skipped, not the file matched");
    assert!(ignored_dir("/x", "x"));
}

#[test]
fn a_pattern_with_a_slash_at_the_end_matches_directories_alone() {
    assert!(ignored_dir("x/", "a/x"));
    assert!(!ignored("x/", "a/x"));
    assert!(ignored_dir("/x/", "x"));
    assert!(!ignored_dir("/x/", "a/x"));
}

#[test]
fn an_accepted_pattern_wins_wherever_it_stands() {
    for rules in ["*.yaml\n!keep.yaml\n", "!keep.yaml\n*.yaml\n"] {
        assert!(ignored(rules, "a.yaml"));
        assert!(!ignored(rules, "x/keep.yaml"));
    }
}

#[test]
fn two_stars_are_one_component() {
    assert!(ignored("x/**/d.yaml", "x/y/d.yaml"));
    assert!(!ignored("x/**/d.yaml", "x/d.yaml"));
    assert!(!ignored("x/**/d.yaml", "x/y/z/d.yaml"));
}

#[test]
fn a_backslash_is_plain_without_wildcards_and_an_escape_with_them() {
    assert!(ignored("a\\b.yaml", "a\\b.yaml"));
    assert!(!ignored("a\\b*.yaml", "a\\bc.yaml"));
    assert!(ignored("a\\b*.yaml", "abc.yaml"));
}

#[test]
fn patterns_without_a_name_or_with_an_open_set_have_no_effect() {
    for rules in ["/", "//", "!", "!/", "[", "[a", "x[/*"] {
        assert!(!ignored(rules, "a"), "{rules}");
        assert!(!ignored_dir(rules, "a"), "{rules}");
    }
}

#[test]
fn bytes_that_are_not_utf8_spoil_their_own_line_only() {
    let rules = IgnoreRules::parse(b"\xff\xfe*.yaml\na.yaml\n");
    assert!(rules.is_ignored("a.yaml", false));
    assert!(!rules.is_ignored("b.yaml", false));
}

#[test]
fn only_patterns_with_wildcards_are_counted() {
    assert_eq!(IgnoreRules::parse(b"a\n/b/c\n*.x\n!?y\nd/[e]\n[\n").wildcard_patterns(), 3);
}
