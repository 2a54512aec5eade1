//! Guesses what a misspelt or misplaced field was meant to be.

use super::schema::{Field, KPTFILE, Type};

/// The hint for an unknown key: what it may have been, else what is known there. `taken` says which keys the mapping
/// holds already.
pub(super) fn hint(key: &str, here: &Type, path: &str, taken: impl Fn(&str) -> bool) -> String {
    if here.go == "v1.Function" && key == "config" {
        return "did you mean configMap, or configPath for a config in a file?".to_owned();
    }
    let free = || here.fields.iter().filter(|field| !field.experimental && !taken(field.key));
    if let Some(field) = closest(key, free()) {
        return format!("did you mean {}?", field.key);
    }
    if let Some(below) = find_below(key, here) {
        let below = if path.is_empty() { below } else { format!("{path}.{below}") };
        return format!("did you mean {below}?");
    }
    if here.go != KPTFILE.go {
        if let Some(field) = KPTFILE.field(key) {
            return format!("did you mean top-level {}?", field.key);
        }
        if let Some(elsewhere) = find_below(key, &KPTFILE) {
            return format!("did you mean {elsewhere}?");
        }
    }
    let known: Vec<&str> = here.fields.iter().filter(|field| !field.experimental).map(|field| field.key).collect();
    format!("known here: {}", known.join(", "))
}

/// The field that differs least from the key: in case only, or by one or two letters of a longer word.
fn closest<'f>(key: &str, fields: impl Iterator<Item = &'f Field>) -> Option<&'f Field> {
    let bound = match key.chars().count() {
        0..=2 => 0,
        3..=5 => 1,
        // no field name is longer than 20 letters
        6..=24 => 2,
        _ => return None,
    };
    let lower = key.to_lowercase();
    fields
        .map(|field| (distance(&lower, &field.key.to_lowercase()), field))
        .filter(|(distance, _)| *distance <= bound)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, field)| field)
}

/// The path to a field of this name in the mappings below, the nearest one; lists are written `mutators[]`.
fn find_below(key: &str, top: &Type) -> Option<String> {
    // names that many mappings have say nothing about where a key belongs
    if matches!(key, "name" | "kind" | "type" | "path" | "apiVersion" | "namespace" | "status" | "message") {
        return None;
    }
    let mut level: Vec<(String, &Type)> = vec![(String::new(), top)];
    for _ in 0..3 {
        let mut next = Vec::new();
        for (path, here) in level {
            // nobody writes the status by hand
            for field in here.fields.iter().filter(|field| field.key != "status") {
                if let Some(inner) = field.shape.inner() {
                    let list = matches!(field.shape, super::schema::Shape::Many(_));
                    let path = format!("{path}{}{}.", field.key, if list { "[]" } else { "" });
                    if inner.field(key).is_some_and(|field| !field.experimental) {
                        return Some(format!("{path}{key}"));
                    }
                    next.push((path, inner));
                }
            }
        }
        level = next;
    }
    None
}

/// The number of letters to insert, delete, replace or swap with a neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_at(path: &[&str]) -> &'static Type {
        path.iter().fold(&KPTFILE, |here, key| here.field(key).and_then(|f| f.shape.inner()).expect("a mapping"))
    }

    #[test]
    fn a_misspelt_field_is_recognised() {
        let function = type_at(&["pipeline", "mutators"]);
        for (key, expected) in [
            ("imgae", "did you mean image?"),
            ("configmap", "did you mean configMap?"),
            ("ConfigPath", "did you mean configPath?"),
            ("excludes", "did you mean exclude?"),
            ("selector", "did you mean selectors?"),
            ("config", "did you mean configMap, or configPath for a config in a file?"),
        ] {
            assert_eq!(hint(key, function, "pipeline.mutators[0]", |_| false), expected, "{key}");
        }
    }

    #[test]
    fn a_field_that_is_there_already_is_not_suggested() {
        let pipeline = type_at(&["pipeline"]);
        let text = hint("mutator", pipeline, "pipeline", |key| key == "mutators");
        assert_eq!(text, "known here: mutators, validators");
    }

    #[test]
    fn a_misplaced_field_is_sent_where_it_belongs() {
        assert_eq!(hint("pipeline", type_at(&["info"]), "info", |_| false), "did you mean top-level pipeline?");
        assert_eq!(hint("mutators", &KPTFILE, "", |_| false), "did you mean pipeline.mutators?");
        assert_eq!(hint("repo", type_at(&["upstream"]), "upstream", |_| false), "did you mean upstream.git.repo?");
        assert_eq!(
            hint("configPath", type_at(&["pipeline"]), "pipeline", |_| false),
            "did you mean pipeline.mutators[].configPath?"
        );
    }

    #[test]
    fn an_unknown_word_gets_the_list_of_what_is_known() {
        let text = hint("creationTimestamp", type_at(&["metadata"]), "metadata", |_| false);
        assert_eq!(text, "known here: name, namespace, labels, annotations");
        let long = "x".repeat(100_000);
        assert!(hint(&long, &KPTFILE, "", |_| false).starts_with("known here: apiVersion"));
    }

    #[test]
    fn distance_counts_a_swap_as_one() {
        assert_eq!(distance("image", "imgae"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
