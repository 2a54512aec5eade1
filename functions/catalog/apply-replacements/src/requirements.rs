//! Selectors of labels and annotations in the syntax of Kubernetes: `app=web,tier in (a, b),!old`.

/// One condition on the value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Exists,
    Missing,
    In(Vec<String>),
    NotIn(Vec<String>),
    Above(i64),
    Below(i64),
}

/// Conditions that all must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Requirements(Vec<(String, Test)>);

impl Requirements {
    /// The error is a message.
    pub(crate) fn parse(text: &str) -> Result<Requirements, String> {
        let mut all = Vec::new();
        for part in split_outside_parentheses(text) {
            let part = part.trim();
            if !part.is_empty() {
                all.push(requirement(part).ok_or_else(|| format!("selector `{text}` cannot be read at `{part}`"))?);
            }
        }
        Ok(Requirements(all))
    }

    /// `value` gives the value of a key.
    pub(crate) fn hold<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|(key, test)| {
            let value = value(key);
            let number = || value.and_then(|value| value.parse::<i64>().ok());
            match test {
                Test::Exists => value.is_some(),
                Test::Missing => value.is_none(),
                Test::In(list) => value.is_some_and(|value| list.iter().any(|one| one == value)),
                Test::NotIn(list) => value.is_none_or(|value| list.iter().all(|one| one != value)),
                Test::Above(bound) => number().is_some_and(|number| number > *bound),
                Test::Below(bound) => number().is_some_and(|number| number < *bound),
            }
        })
    }
}

fn split_outside_parentheses(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    text.split(move |c| {
        match c {
            '(' => inside = true,
            ')' => inside = false,
            _ => {}
        }
        c == ',' && !inside
    })
}

fn requirement(text: &str) -> Option<(String, Test)> {
    if let Some(name) = text.strip_prefix('!') {
        return Some((key(name)?, Test::Missing));
    }
    if let Some((name, list)) = text.split_once('(') {
        let values = list.strip_suffix(')')?.split(',').map(|value| value.trim().to_owned()).collect();
        let (name, operator) = name.trim_end().rsplit_once(char::is_whitespace)?;
        return match operator {
            "in" => Some((key(name)?, Test::In(values))),
            "notin" => Some((key(name)?, Test::NotIn(values))),
            _ => None,
        };
    }
    let at = text.find(['=', '!', '<', '>']);
    let Some(at) = at else { return Some((key(text)?, Test::Exists)) };
    let (name, rest) = text.split_at(at);
    let name = key(name)?;
    let value = |operator: &str| rest.strip_prefix(operator).map(|value| value.trim().to_owned());
    if let Some(value) = value("==").or_else(|| value("=")) {
        return Some((name, Test::In(vec![value])));
    }
    if let Some(value) = value("!=") {
        return Some((name, Test::NotIn(vec![value])));
    }
    let (make, bound): (fn(i64) -> Test, _) = match value(">") {
        Some(bound) => (Test::Above, bound),
        None => (Test::Below, value("<")?),
    };
    Some((name, make(bound.parse().ok()?)))
}

fn key(text: &str) -> Option<String> {
    let text = text.trim();
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    (!text.is_empty() && text.chars().all(fine)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(selector: &str) -> bool {
        let labels = [("app", "web"), ("n", "5"), ("a.io/b", "")];
        let value = |key: &str| labels.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        Requirements::parse(selector).expect(selector).hold(value)
    }

    #[test]
    fn every_operator_works() {
        for yes in [
            "",
            "app",
            "a.io/b",
            "!x",
            "app=web",
            "app == web",
            "app!=x",
            "x!=y",
            "app in (web, x)",
            "app notin (x)",
            "x notin (y)",
            "n>4",
            "n < 6",
            "app=web,n,!x,app in (a,web)",
        ] {
            assert!(holds(yes), "{yes}");
        }
        for no in ["x", "!app", "app=x", "app!=web", "app in (x,y)", "app notin (web)", "n>5", "app>1", "app=web,x"] {
            assert!(!holds(no), "{no}");
        }
    }

    #[test]
    fn what_is_no_selector_is_refused_by_name() {
        for bad in ["=", "a in b", "a on (b)", "a in (b", "a>x", "a b", "!", "a!b"] {
            let error = Requirements::parse(bad).expect_err(bad);
            assert!(error.contains(bad), "{error}");
        }
    }
}
