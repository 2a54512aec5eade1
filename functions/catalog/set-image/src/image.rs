//! Names of images: which are meant, and what becomes of them.

use go_regex::Regex;

use crate::Image;

/// What may follow the name.
const SUFFIX: &str = "(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?$";

/// Finds the images that are meant.
pub(crate) struct Matcher<'a> {
    image: &'a Image,
    suffix: Regex,
    /// Where the name is more than a name: a pattern.
    whole: Option<Regex>,
}

impl<'a> Matcher<'a> {
    /// The error is a message.
    pub(crate) fn new(image: &'a Image) -> Result<Matcher<'a>, String> {
        let name = &image.name;
        let unreadable = |_| format!("`name` is `{name}`, which is neither a name nor a regular expression");
        let compile = |pattern: &str| go_regex::compile(pattern).map_err(unreadable);
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | ':');
        let whole = if name.chars().all(is_name) { None } else { Some(compile(&format!("^{name}{SUFFIX}"))?) };
        Ok(Matcher { image, suffix: compile(&format!("^{SUFFIX}"))?, whole })
    }

    /// The image with what was asked for; `None` when another one is meant.
    pub(crate) fn replace(&self, current: &str) -> Option<String> {
        let matches = match &self.whole {
            Some(whole) => whole.is_match(current),
            None => current.strip_prefix(self.image.name.as_str()).is_some_and(|rest| self.suffix.is_match(rest)),
        };
        matches.then(|| self.rewritten(current))
    }

    fn rewritten(&self, current: &str) -> String {
        let Image { new_name, new_tag, digest, .. } = self.image;
        let (name, suffix) = split(current);
        let name = if new_name.is_empty() { name } else { new_name };
        match (new_tag.as_str(), digest.as_str()) {
            ("", "") => format!("{name}{suffix}"),
            ("", digest) => format!("{name}@{digest}"),
            (tag, "") => format!("{name}:{tag}"),
            (tag, digest) => format!("{name}:{tag}@{digest}"),
        }
    }
}

/// The name, and tag and digest with their separators. A colon before the first slash belongs to a port.
fn split(image: &str) -> (&str, &str) {
    let start = image.find('/').unwrap_or(0);
    let end = image[start..].find([':', '@']).map_or(image.len(), |at| start + at);
    image.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replace(name: &str, new: [&str; 3], current: &str) -> Option<String> {
        let [new_name, new_tag, digest] = new.map(str::to_owned);
        let image = Image { name: name.to_owned(), new_name, new_tag, digest };
        Matcher::new(&image).expect("a name").replace(current)
    }

    #[test]
    fn tag_and_digest_stay_unless_they_are_set() {
        for (new, expected) in [
            (["b", "", ""], "b:1@sha256:c"),
            (["", "2", ""], "a:2"),
            (["", "", "sha256:d"], "a@sha256:d"),
            (["b", "2", "sha256:d"], "b:2@sha256:d"),
        ] {
            assert_eq!(replace("a", new, "a:1@sha256:c").as_deref(), Some(expected));
        }
        assert_eq!(replace("a", ["b", "", ""], "a").as_deref(), Some("b"));
        assert_eq!(replace("host:5000/a", ["", "2", ""], "host:5000/a:1").as_deref(), Some("host:5000/a:2"));
    }

    #[test]
    fn other_images_do_not_match() {
        for other in
            ["acme/git-lfs:2", "registry.example.com:5000/acme/git:3", "acme/gi", "acme/git:1@md5:x", "acmeXgit", ""]
        {
            assert_eq!(replace("acme/git", ["b", "", ""], other), None, "{other}");
        }
        assert_eq!(replace("a.b", ["c", "", ""], "axb"), None);
    }

    #[test]
    fn a_name_can_be_a_pattern_and_a_broken_one_is_refused() {
        assert_eq!(replace("gcr.io/.*", ["b", "", ""], "gcr.io/x/y:1").as_deref(), Some("b:1"));
        let image = Image { name: "(".to_owned(), ..Image::default() };
        assert!(Matcher::new(&image).is_err_and(|message| message.contains("`(`")));
    }
}
