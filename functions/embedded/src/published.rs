//! What the function catalog has published: names, purposes and tags.
//!
//! The tags are those that the public registries hold. They answer version constraints (`tag: "~0.2"`) without a
//! network; whatever tag is chosen, the function that runs is ours.

/// A function of the public catalog.
#[derive(Debug)]
pub(crate) struct Published {
    pub(crate) name: &'static str,
    pub(crate) purpose: &'static str,
    /// Release tags, oldest first.
    pub(crate) tags: &'static [&'static str],
    /// Tags of the images under `wasm/`.
    pub(crate) wasm_tags: &'static [&'static str],
    /// Tags that start so behaved otherwise than the function does here, and how.
    pub(crate) older: Option<Older>,
}

/// A generation whose behaviour we do not have.
#[derive(Debug)]
pub(crate) struct Older {
    /// `v0.1`, which stands for `v0.1` and `v0.1.*`.
    pub(crate) tag: &'static str,
    /// What differs, as the end of a sentence.
    pub(crate) difference: &'static str,
}

const fn fixture(name: &'static str, purpose: &'static str) -> Published {
    Published { name, purpose, tags: &[], wasm_tags: &[], older: None }
}

/// Sorted by name.
pub(crate) const PUBLISHED: &[Published] = &[
    Published {
        name: "annotate-apply-time-mutations",
        purpose: "notes on objects what is filled in when they are applied",
        tags: &["v0.1.0"],
        wasm_tags: &[],
        older: None,
    },
    Published {
        name: "apply-replacements",
        purpose: "puts the value of one field into others",
        tags: &["v0.1.0", "v0.1.1", "v0.1.2", "v0.1.3", "v0.1.4", "v0.1.5"],
        wasm_tags: &[],
        older: None,
    },
    Published {
        name: "apply-setters",
        purpose: "fills in the fields that setter comments mark",
        tags: &["v0.1.0", "v0.1.1", "v0.2.0", "v0.2.1", "v0.2.2"],
        wasm_tags: &[],
        older: None,
    },
    fixture("bar", "says bar and fails (for tests)"),
    Published {
        name: "create-setters",
        purpose: "marks the fields that hold given values with setter comments",
        tags: &["v0.1.0"],
        wasm_tags: &[],
        older: None,
    },
    Published { name: "delete-annotations", purpose: "removes annotations", tags: &[], wasm_tags: &[], older: None },
    fixture("drop-comments", "writes every object without its comments (for tests)"),
    Published {
        name: "enable-gcp-services",
        purpose: "makes the Config Connector services of a project from a list",
        tags: &["v0.1.0"],
        wasm_tags: &[],
        older: None,
    },
    Published {
        name: "ensure-name-substring",
        purpose: "makes sure that names have a prefix or suffix",
        tags: &["v0.1.0", "v0.1.1", "v0.2.0"],
        wasm_tags: &[],
        older: None,
    },
    Published {
        name: "fix",
        purpose: "brings packages of kpt's older formats to kpt.dev/v1",
        tags: &["v0.2.0", "v0.2.1"],
        wasm_tags: &[],
        older: None,
    },
    fixture("foo", "says foo and fails (for tests)"),
    Published {
        name: "gatekeeper",
        purpose: "checks objects against Gatekeeper's policies",
        tags: &["v0.1.0", "v0.1.1", "v0.1.2", "v0.1.3", "v0.2.0", "v0.2.1"],
        wasm_tags: &[],
        older: None,
    },
    Published {
        name: "generate-folders",
        purpose: "makes Config Connector folders from a hierarchy",
        tags: &["v0.1.0", "v0.1.1"],
        wasm_tags: &[],
        older: None,
    },
    Published {
        name: "kubeconform",
        purpose: "checks objects against the schemas of Kubernetes",
        tags: &["v0.1.0", "v0.1.1", "v0.1.2", "v0.1.3"],
        wasm_tags: &[],
        older: None,
    },
    Published {
        name: "kubeval",
        purpose: "checks objects against the schemas of Kubernetes, in the words of kubeval",
        tags: &["v0.1.0", "v0.1.1", "v0.2.0", "v0.2.1", "v0.3.0"],
        wasm_tags: &[],
        older: None,
    },
    Published {
        name: "list-setters",
        purpose: "reports the setters of a package",
        tags: &["v0.1.0"],
        wasm_tags: &[],
        older: None,
    },
    fixture("no-op", "gives back what it is given"),
    fixture("printenv", "prints its environment and fails (for tests)"),
    Published {
        name: "remove-local-config-resources",
        purpose: "removes objects that only configure the package",
        tags: &["v0.1.0"],
        wasm_tags: &[],
        older: None,
    },
    Published {
        name: "search-replace",
        purpose: "finds fields by value, path or file and puts values and comments there",
        tags: &["v0.1.0", "v0.2.0", "v0.2.1", "v0.2.2", "v0.2.3"],
        wasm_tags: &[],
        older: None,
    },
    Published {
        name: "set-annotations",
        purpose: "sets annotations on objects and on the pod templates that they hold",
        tags: &["v0.1.0", "v0.1.1", "v0.1.2", "v0.1.3", "v0.1.4", "v0.1.5"],
        wasm_tags: &[],
        older: None,
    },
    Published {
        name: "set-enforcement-action",
        purpose: "sets what Gatekeeper's policies do on a violation",
        tags: &["v0.1.0"],
        wasm_tags: &[],
        older: None,
    },
    Published {
        name: "set-image",
        purpose: "sets the name, tag or digest of images",
        tags: &["v0.1.0", "v0.1.1", "v0.1.2", "v0.1.3", "v0.1.4"],
        wasm_tags: &[],
        older: None,
    },
    Published {
        name: "set-labels",
        purpose: "sets labels on objects and in the selectors that follow them",
        tags: &[
            "v0.1.0", "v0.1.1", "v0.1.2", "v0.1.3", "v0.1.4", "v0.1.5", "v0.2.0", "v0.2.1", "v0.2.2", "v0.2.3",
            "v0.2.4", "v0.2.5",
        ],
        wasm_tags: &["v0.2.4"],
        older: Some(Older {
            tag: "v0.1",
            difference: "that version sets labels by kustomize's list of fields and reports nothing",
        }),
    },
    Published {
        name: "set-name-prefix",
        purpose: "puts a prefix in front of the names of a package",
        tags: &["v0.0.1", "v0.0.2", "v0.0.3"],
        wasm_tags: &[],
        older: None,
    },
    Published {
        name: "set-namespace",
        purpose: "puts the objects of a package into one namespace",
        tags: &[
            "v0.1.0", "v0.1.1", "v0.1.2", "v0.1.3", "v0.1.4", "v0.2.0", "v0.3.0", "v0.3.1", "v0.3.2", "v0.3.3",
            "v0.3.4", "v0.4.0", "v0.4.1", "v0.4.2", "v0.4.3", "v0.4.4", "v0.4.5",
        ],
        wasm_tags: &["v0.5.1"],
        older: Some(Older {
            tag: "v0.1",
            difference: "that version adds the namespace to every object that is not known to belong to the whole \
                         cluster, custom ones included, and reports nothing",
        }),
    },
    Published {
        name: "set-project-id",
        purpose: "sets the Google Cloud project of a package",
        tags: &["v0.1.0", "v0.2.0", "v0.2.1"],
        wasm_tags: &[],
        older: None,
    },
    Published {
        name: "starlark",
        purpose: "runs a Starlark script over the objects of a package",
        tags: &[
            "v0.1.0", "v0.2.0", "v0.2.1", "v0.3.0", "v0.4.0", "v0.4.1", "v0.4.2", "v0.4.3", "v0.5.0", "v0.5.1",
            "v0.5.2", "v0.5.3", "v0.5.4", "v0.5.5",
        ],
        wasm_tags: &[],
        older: None,
    },
    Published {
        name: "upsert-resource",
        purpose: "adds an object or replaces the one that is there",
        tags: &["v0.1.0", "v0.2.0", "v0.2.1"],
        wasm_tags: &[],
        older: None,
    },
];

/// What is known of a function.
pub(crate) fn published(name: &str) -> Option<&'static Published> {
    PUBLISHED.iter().find(|function| function.name == name)
}

impl Older {
    /// True for the tag itself and for the releases below it.
    pub(crate) fn covers(&self, tag: &str) -> bool {
        tag.strip_prefix(self.tag).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_known_once() {
        assert!(PUBLISHED.windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn a_generation_covers_its_releases_and_no_other() {
        let older = Older { tag: "v0.1", difference: "" };
        assert!(older.covers("v0.1") && older.covers("v0.1.4"));
        assert!(!older.covers("v0.10.0") && !older.covers("v0.2.0") && !older.covers("latest"));
    }
}
