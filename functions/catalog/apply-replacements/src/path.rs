//! Paths to fields, in kustomize's form.

/// Longest path, in steps: with `create` a path makes as many levels of nesting.
pub(crate) const MAX_STEPS: usize = 100;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The key of a mapping; a number is the index of a list's element where there is a list.
    Key(String),
    /// `[field=value]`: the elements of a list whose field has this value; the elements themselves when the field is
    /// empty.
    Element { field: String, value: String },
    /// `*`: every element of a list.
    Every,
}

impl Step {
    /// The index that the step is, seen as one.
    pub(crate) fn index(&self) -> Option<usize> {
        match self {
            Step::Key(key) if key.bytes().all(|b| b.is_ascii_digit()) => key.parse().ok(),
            _ => None,
        }
    }
}

/// A path and how it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldPath {
    pub(crate) text: String,
    pub(crate) steps: Vec<Step>,
}

impl FieldPath {
    /// Reads steps between dots. `\.` is a dot inside a step; a step in brackets may hold dots as they are. The error is
    /// a message.
    pub(crate) fn parse(text: &str) -> Result<FieldPath, String> {
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let step;
            (step, rest) = next_step(rest).map_err(|reason| format!("field path `{text}` {reason}"))?;
            steps.extend(step);
        }
        if steps.is_empty() {
            return Err(format!("field path `{text}` names no field"));
        }
        if steps.len() > MAX_STEPS {
            return Err(format!("field path of {} steps: at most {MAX_STEPS} are allowed", steps.len()));
        }
        Ok(FieldPath { text: text.to_owned(), steps })
    }
}

/// The first step (`None` when it is empty) and what follows its dot.
fn next_step(text: &str) -> Result<(Option<Step>, &str), &'static str> {
    if let Some(inside) = text.strip_prefix('[') {
        let end = inside
            .match_indices(']')
            .map(|(at, _)| at)
            .find(|at| matches!(inside.as_bytes().get(at + 1), None | Some(b'.')))
            .ok_or("has a `[` without its `]`")?;
        let rest = inside.get(end + 2..).unwrap_or_default();
        return Ok((Some(bracketed(&inside[..end])), rest));
    }
    let mut key = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if chars.peek().is_some_and(|(_, next)| *next == '.') => {
                key.push('.');
                chars.next();
            }
            '.' => return Ok((plain(key), &text[at + 1..])),
            c => key.push(c),
        }
    }
    Ok((plain(key), ""))
}

fn plain(key: String) -> Option<Step> {
    match key.as_str() {
        "" => None,
        "*" => Some(Step::Every),
        _ => Some(Step::Key(key)),
    }
}

fn bracketed(inside: &str) -> Step {
    match inside.split_once('=') {
        Some((field, value)) => Step::Element { field: field.to_owned(), value: value.to_owned() },
        None => Step::Key(inside.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Step {
        Step::Key(text.to_owned())
    }

    fn element(field: &str, value: &str) -> Step {
        Step::Element { field: field.to_owned(), value: value.to_owned() }
    }

    fn steps(text: &str) -> Vec<Step> {
        FieldPath::parse(text).expect("a path").steps
    }

    #[test]
    fn steps_are_split_at_dots_that_are_not_escaped() {
        assert_eq!(steps("spec.a.b"), [key("spec"), key("a"), key("b")]);
        assert_eq!(steps(r"data.a\.b.c"), [key("data"), key("a.b"), key("c")]);
        assert_eq!(steps("a..b."), [key("a"), key("b")]);
    }

    #[test]
    fn brackets_hold_keys_with_dots_and_conditions() {
        assert_eq!(
            steps("metadata.annotations.[a.io/b].x"),
            [key("metadata"), key("annotations"), key("a.io/b"), key("x")]
        );
        assert_eq!(
            steps("spec.pipeline.mutators.[image=ghcr.io/a/b:v1.2].configMap.[n.org/c]"),
            [
                key("spec"),
                key("pipeline"),
                key("mutators"),
                element("image", "ghcr.io/a/b:v1.2"),
                key("configMap"),
                key("n.org/c")
            ]
        );
        assert_eq!(steps("args.[=--a]"), [key("args"), element("", "--a")]);
        assert_eq!(steps("a.*.0"), [key("a"), Step::Every, key("0")]);
        assert_eq!(key("10").index(), Some(10));
        assert_eq!(key("1a").index(), None);
    }

    #[test]
    fn paths_that_name_nothing_or_too_much_are_refused() {
        for bad in ["", ".", "a.[b"] {
            assert!(FieldPath::parse(bad).is_err(), "{bad}");
        }
        assert!(FieldPath::parse(&"a.".repeat(MAX_STEPS)).is_ok());
        let error = FieldPath::parse(&"a.".repeat(MAX_STEPS + 1)).expect_err("too long");
        assert!(error.contains("at most 100"), "{error}");
    }
}
