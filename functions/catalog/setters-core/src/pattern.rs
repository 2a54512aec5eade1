//! The pattern of a setter comment: text with setters in it, `nginx:${tag}`.

/// What a line comment starts with when it is a setter comment.
pub const MARK: &str = "# kpt-set: ";

/// One part of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'c> {
    /// Text that stands for itself.
    Text(&'c str),
    /// `${name}`, the name alone.
    Setter(&'c str),
}

/// The pattern of a setter comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern<'c> {
    text: &'c str,
    parts: Vec<Part<'c>>,
}

impl<'c> Pattern<'c> {
    /// The pattern of a line comment; `None` when it is no setter comment or says nothing.
    pub fn of_comment(comment: &'c str) -> Option<Pattern<'c>> {
        let text = comment.strip_prefix(MARK)?.trim();
        (!text.is_empty()).then(|| Pattern::new(text))
    }

    /// Reads a pattern. A setter reaches from `${` to the next `}`; an opening without an end is text.
    pub fn new(text: &'c str) -> Pattern<'c> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let Some(len) = rest[start + 2..].find('}') else { break };
            if start > 0 {
                parts.push(Part::Text(&rest[..start]));
            }
            parts.push(Part::Setter(&rest[start + 2..start + 2 + len]));
            rest = &rest[start + 3 + len..];
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest));
        }
        Pattern { text, parts }
    }

    /// The pattern as it is written.
    pub fn text(&self) -> &'c str {
        self.text
    }

    /// The setters by name, each as often as it occurs.
    pub fn names(&self) -> impl Iterator<Item = &'c str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Setter(name) => Some(*name),
            Part::Text(_) => None,
        })
    }

    /// The name of the setter when the pattern is one setter and nothing else.
    pub fn only_name(&self) -> Option<&'c str> {
        match self.parts[..] {
            [Part::Setter(name)] => Some(name),
            _ => None,
        }
    }

    /// The pattern with a value for every setter; the names without one, each as often as it occurs, when some have
    /// none. What a value contains is never read as a setter.
    pub fn fill<'v>(&self, value: impl Fn(&str) -> Option<&'v str>) -> Result<String, Vec<&'c str>> {
        let mut filled = String::new();
        let mut missing = Vec::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Setter(name) => match value(name) {
                    Some(value) => filled.push_str(value),
                    None => missing.push(*name),
                },
            }
        }
        if missing.is_empty() { Ok(filled) } else { Err(missing) }
    }

    /// The values of the setters that the value of a field holds, in the order of the pattern; a setter that occurs
    /// twice has the later one. Nothing when the value does not have the pattern's form, or leaves a setter empty.
    ///
    /// The pattern may match anywhere in a line of the value. An earlier setter takes as much as it can.
    pub fn values_in<'v>(&self, value: &'v str) -> Vec<(&'c str, &'v str)> {
        let Some(found) = value.split('\n').find_map(|line| self.values_in_line(line)) else { return Vec::new() };
        if found.iter().any(|text| text.is_empty()) {
            return Vec::new();
        }
        let mut values: Vec<(&str, &str)> = Vec::with_capacity(found.len());
        for (name, text) in self.names().zip(found) {
            match values.iter_mut().find(|(known, _)| *known == name) {
                Some(known) => known.1 = text,
                None => values.push((name, text)),
            }
        }
        values
    }

    /// What each setter stands for in a line, in order. The texts between the setters are found from the right, each as
    /// far right as those behind it allow: that leaves the most to the setters on the left, in one pass.
    fn values_in_line<'v>(&self, line: &'v str) -> Option<Vec<&'v str>> {
        let texts = self.texts();
        let (first, behind) = texts.split_first()?;
        let mut values = Vec::with_capacity(behind.len());
        let mut end = line.len();
        // where the text in front of the setter at hand may end; found text by text
        let mut starts = Vec::with_capacity(behind.len());
        for text in behind.iter().rev() {
            end = line[..end].rfind(text)?;
            starts.push(end);
        }
        let mut from = line[..end].find(first)? + first.len();
        for (text, start) in behind.iter().zip(starts.into_iter().rev()) {
            values.push(&line[from..start]);
            from = start + text.len();
        }
        Some(values)
    }

    /// The texts around the setters: one more than there are setters, empty where two setters touch.
    fn texts(&self) -> Vec<&'c str> {
        let mut texts = vec![""];
        for part in &self.parts {
            match part {
                Part::Text(text) => *texts.last_mut().expect("never empty") = text,
                Part::Setter(_) => texts.push(""),
            }
        }
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pattern: &'static str, value: &'static str) -> Vec<(&'static str, &'static str)> {
        Pattern::new(pattern).values_in(value)
    }

    #[test]
    fn a_comment_is_a_setter_comment_by_its_very_start() {
        let text = |comment| Pattern::of_comment(comment).map(|pattern| pattern.text());
        assert_eq!(text("# kpt-set: nginx:${tag} "), Some("nginx:${tag}"));
        assert_eq!(text("#kpt-set: ${tag}"), None);
        assert_eq!(text("# see kpt-set: ${tag}"), None);
        assert_eq!(text("# kpt-set: "), None);
    }

    #[test]
    fn a_pattern_is_texts_and_setters() {
        use Part::{Setter, Text};
        let parts = |text| Pattern::new(text).parts;
        assert_eq!(parts("a-${b}:${c}-d"), [Text("a-"), Setter("b"), Text(":"), Setter("c"), Text("-d")]);
        assert_eq!(parts("${~!@#$%^&*()<>?\"|}"), [Setter("~!@#$%^&*()<>?\"|")]);
        assert_eq!(parts("a${b"), [Text("a${b")]);
        assert_eq!(parts("${}"), [Setter("")]);
        assert_eq!(Pattern::new("${a}").only_name(), Some("a"));
        assert_eq!(Pattern::new("${a}${b}").only_name(), None);
        assert_eq!(Pattern::new("x${a}").only_name(), None);
    }

    #[test]
    fn a_pattern_is_filled_once_and_names_what_is_missing() {
        let known = |name: &str| match name {
            "a" => Some("1"),
            "b" => Some("${a}"),
            _ => None,
        };
        assert_eq!(Pattern::new("x${a}${b}").fill(known), Ok("x1${a}".to_owned()));
        assert_eq!(Pattern::new("${c}${a}${d}${c}").fill(known), Err(vec!["c", "d", "c"]));
    }

    #[test]
    fn values_are_derived_from_the_value_of_a_field() {
        assert_eq!(
            values("my-app-layer.${stage}.${domain}.${tld}", "my-app-layer.dev.example.com"),
            [("stage", "dev"), ("domain", "example"), ("tld", "com")]
        );
        assert_eq!(values("${image}:${tag}", "reg:5000/a:1"), [("image", "reg:5000/a"), ("tag", "1")]);
        assert_eq!(
            values("gcr.io/${app}/${app}-backend:${tag}", "gcr.io/my-app/my-app-backend:1.0.0"),
            [("app", "my-app"), ("tag", "1.0.0")]
        );
        assert_eq!(values("nginx:${tag}", "my-nginx:1"), [("tag", "1")]);
        assert_eq!(values("${a}-x", "1-x-x-2"), [("a", "1-x")]);
        assert_eq!(values("b:${a}", "x\nb:2\ny"), [("a", "2")]);
    }

    #[test]
    fn nothing_is_derived_where_the_value_has_another_form_or_a_setter_would_be_empty() {
        assert!(values("nginx:${tag}", "ubuntu:1").is_empty());
        assert!(values("nginx:${tag}", "nginx:").is_empty());
        assert!(values("${image}${tag}", "nginx:1").is_empty());
        assert!(values("nginx", "nginx").is_empty());
        assert!(values("aba${x}aba", "ababa").is_empty());
        assert!(values("${a}", "").is_empty());
    }

    #[test]
    fn long_patterns_on_long_values_take_one_pass() {
        let pattern = (0..2_000).map(|i| format!("${{s{i}}}a")).collect::<Vec<_>>().concat();
        let value = "ba".repeat(100_000);
        assert!(!Pattern::new(&pattern).values_in(&value).is_empty());
        assert!(Pattern::new(&format!("{pattern}c")).values_in(&value).is_empty());
    }
}
