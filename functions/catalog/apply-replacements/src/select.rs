//! Which items are meant.

use go_regex::Regex;
use portico_fn::{DEFAULT_NAMESPACE, Resource, group, version};

use crate::requirements::Requirements;
use crate::settings::{Select, SourceSelector, Target};

/// Names, namespaces and kinds that an item had before, each a list with commas, as kustomize notes them.
const PREVIOUS: [&str; 3] = [
    "internal.config.kubernetes.io/previousNames",
    "internal.config.kubernetes.io/previousNamespaces",
    "internal.config.kubernetes.io/previousKinds",
];

/// Who an item is, or was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    group: String,
    version: String,
    kind: String,
    name: String,
    namespace: String,
}

impl Identity {
    /// The present identity of an item, then its previous ones.
    pub(crate) fn all_of(item: &Resource) -> Vec<Identity> {
        let api_version = item.api_version();
        let of = |name: &str, namespace: &str, kind: &str| Identity {
            group: group(api_version).to_owned(),
            version: version(api_version).to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            namespace: namespace.to_owned(),
        };
        let mut all = vec![of(item.name(), item.namespace(), item.kind())];
        let [names, namespaces, kinds] = PREVIOUS.map(|key| item.annotation(key));
        if let (Some(names), Some(namespaces), Some(kinds)) = (names, namespaces, kinds) {
            let parts = names.split(',').zip(namespaces.split(',')).zip(kinds.split(','));
            all.extend(parts.map(|((name, namespace), kind)| of(name, namespace, kind)));
        }
        all
    }

    /// True when every part that the source gives is equal; no namespace is the namespace `default`.
    pub(crate) fn is_source(&self, selector: &SourceSelector) -> bool {
        let part = |want: &str, have: &str| want.is_empty() || want == have;
        let own = if self.namespace.is_empty() { DEFAULT_NAMESPACE } else { &self.namespace };
        part(&selector.group, &self.group)
            && part(&selector.version, &self.version)
            && part(&selector.kind, &self.kind)
            && part(&selector.name, &self.name)
            && part(&selector.namespace, own)
    }
}

/// A pattern that must match a whole text.
enum Pattern {
    Any,
    Text(String),
    Regex(Regex),
}

impl Pattern {
    fn new(pattern: &str) -> Result<Pattern, String> {
        if pattern.is_empty() {
            return Ok(Pattern::Any);
        }
        if pattern.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Ok(Pattern::Text(pattern.to_owned()));
        }
        go_regex::compile(&format!("^(?:{pattern})$"))
            .map(Pattern::Regex)
            .map_err(|_| format!("`{pattern}` is no regular expression that can be used"))
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Pattern::Any => true,
            Pattern::Text(pattern) => pattern == text,
            Pattern::Regex(regex) => regex.is_match(text),
        }
    }
}

struct Patterns {
    group: Pattern,
    version: Pattern,
    kind: Pattern,
    name: Pattern,
    namespace: Pattern,
}

impl Patterns {
    fn new(select: &Select) -> Result<Patterns, String> {
        Ok(Patterns {
            group: Pattern::new(&select.group)?,
            version: Pattern::new(&select.version)?,
            kind: Pattern::new(&select.kind)?,
            name: Pattern::new(&select.name)?,
            namespace: Pattern::new(&select.namespace)?,
        })
    }

    fn match_one_of(&self, identities: &[Identity]) -> bool {
        identities.iter().any(|id| {
            self.kind.matches(&id.kind)
                && self.name.matches(&id.name)
                && self.namespace.matches(&id.namespace)
                && self.group.matches(&id.group)
                && self.version.matches(&id.version)
        })
    }
}

struct Metadata {
    labels: Requirements,
    annotations: Requirements,
}

impl Metadata {
    fn new(select: &Select) -> Result<Metadata, String> {
        Ok(Metadata {
            labels: Requirements::parse(&select.label_selector)?,
            annotations: Requirements::parse(&select.annotation_selector)?,
        })
    }

    fn hold(&self, item: &Resource) -> bool {
        self.labels.hold(|key| item.label(key)) && self.annotations.hold(|key| item.annotation(key))
    }
}

/// The selection of a target, ready to be asked.
pub(crate) struct TargetMatcher {
    patterns: Patterns,
    metadata: Metadata,
    rejected: Vec<Patterns>,
    rejected_metadata: Vec<Metadata>,
}

impl TargetMatcher {
    /// The error is a message.
    pub(crate) fn new(target: &Target) -> Result<TargetMatcher, String> {
        let select = target.select.as_ref().ok_or("target must specify resources to select")?;
        let (mut rejected, mut rejected_metadata) = (Vec::new(), Vec::new());
        for reject in &target.reject {
            // kustomize asks both kinds of conditions on their own: each of them rejects
            if [&reject.group, &reject.version, &reject.kind, &reject.name, &reject.namespace]
                .iter()
                .any(|part| !part.is_empty())
            {
                rejected.push(Patterns::new(reject)?);
            }
            if !reject.label_selector.is_empty() || !reject.annotation_selector.is_empty() {
                rejected_metadata.push(Metadata::new(reject)?);
            }
        }
        Ok(TargetMatcher {
            patterns: Patterns::new(select)?,
            metadata: Metadata::new(select)?,
            rejected,
            rejected_metadata,
        })
    }

    pub(crate) fn matches(&self, item: &Resource, identities: &[Identity]) -> bool {
        self.patterns.match_one_of(identities)
            && self.metadata.hold(item)
            && !self.rejected.iter().any(|patterns| patterns.match_one_of(identities))
            && !self.rejected_metadata.iter().any(|metadata| metadata.hold(item))
    }
}
