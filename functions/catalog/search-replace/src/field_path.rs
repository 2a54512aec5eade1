//! Paths of fields with wildcards.

/// A path of a field: keys with dots between them, `*` for any one key, `**` for any number of keys, `name[*]` and
/// `*[3]` for elements of lists.
#[derive(Debug)]
pub(crate) struct FieldPath {
    text: String,
}

impl FieldPath {
    pub(crate) fn new(text: String) -> FieldPath {
        FieldPath { text }
    }

    /// As it was given.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// True when it names one field and no element of a list.
    pub(crate) fn is_exact(&self) -> bool {
        !self.text.contains(['*', '[']) && self.text.split('.').all(|part| !part.is_empty())
    }

    /// Whether the path of a field is meant. Takes time in proportion to the product of both lengths at most.
    pub(crate) fn is_match(&self, path: &str) -> bool {
        // like matching file names: on a mismatch the last `**` takes one part more
        let parts: Vec<&str> = path.split('.').collect();
        let pattern: Vec<&str> = self.text.split('.').collect();
        let (mut at, mut p) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        while at < parts.len() {
            if pattern.get(p) == Some(&"**") {
                retry = Some((p + 1, at));
                p += 1;
            } else if pattern.get(p).is_some_and(|want| part_matches(parts[at], want)) {
                (at, p) = (at + 1, p + 1);
            } else if let Some((behind, taken)) = retry {
                retry = Some((behind, taken + 1));
                (at, p) = (taken + 1, behind);
            } else {
                return false;
            }
        }
        pattern[p..].iter().all(|part| *part == "**")
    }
}

/// One part: a key, or a key with the places of elements behind it.
fn part_matches(part: &str, want: &str) -> bool {
    if want == "*" || part == want {
        return true;
    }
    let Some((name, places)) = part.split_once('[') else { return false };
    let Some((want_name, want_places)) = want.split_once('[') else { return false };
    if want_name != "*" && name != want_name {
        return false;
    }
    let mut wanted = want_places.split('[');
    let mut given = places.split('[');
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(want), Some(place)) if want == "*]" || want == place => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FieldPath;

    fn matches(pattern: &str, path: &str) -> bool {
        FieldPath::new(pattern.to_owned()).is_match(path)
    }

    #[test]
    fn paths_match_part_by_part() {
        for (pattern, path, expected) in [
            ("a.b.c", "a.b.c", true),
            ("a.b.c", "a.c.b", false),
            ("a.b.c", "a.b.c.d", false),
            ("a.*.c.*", "a.b.c.d", true),
            ("a.*.c.*", "a.b.c", false),
            ("a.**.c.*.d", "a.b.c.c.d", true),
            ("**", "a", true),
            ("**.a.**", "a", true),
            ("a.**", "a", true),
            ("**.b.**.b", "a.b.c.b.b", true),
            ("**.b.**.b", "a.b.c", false),
            ("metadata.annotations.example.com/x", "metadata.annotations.example.com/x", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn elements_of_lists_match_by_place_or_by_star() {
        for (pattern, path, expected) in [
            ("a.c[0]", "a.c[0]", true),
            ("a.c[1]", "a.c[0]", false),
            ("a.c", "a.c[0]", false),
            ("a.*", "a.c[0]", true),
            ("a.c[*].d.*[*].f", "a.c[0].d.e[1].f", true),
            ("a.*[2].d", "a.c[2].d", true),
            ("a.*[2].d", "a.c[3].d", false),
            ("**.c[*].d.*[*].**.f", "a.b.c[0].d.e[1].f", true),
            ("**.c[*].d.d.*[*].**.f", "a.c[2].c[0].d.e[1].f", false),
            ("a[*][*]", "a[0][1]", true),
            ("a[*]", "a[0][1]", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn many_wildcards_take_no_more_than_the_product_of_the_lengths() {
        let pattern = "**.a.".repeat(1_000) + "b";
        assert!(!matches(&pattern, &"a.".repeat(20_000)));
    }

    #[test]
    fn a_path_is_exact_without_wildcards_and_places() {
        let exact = |text: &str| FieldPath::new(text.to_owned()).is_exact();
        assert!(exact("spec.replicas") && exact("a"));
        assert!(!exact("spec.*") && !exact("a..b") && !exact("a[0]") && !exact(".a"));
    }
}
