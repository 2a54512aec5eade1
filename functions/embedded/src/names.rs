//! The names under which the public catalog's images go.

/// Where the images of the catalog live, longest first where one contains another.
const PREFIXES: &[(&str, bool)] = &[
    ("ghcr.io/kptdev/krm-functions-catalog/wasm/", true),
    ("ghcr.io/kptdev/krm-functions-catalog/", false),
    ("gcr.io/kpt-fn-contrib/", false),
    ("gcr.io/kpt-fn/", false),
];

/// A name of the catalog taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CatalogName<'a> {
    /// `set-labels`.
    pub(crate) function: &'a str,
    /// The image lies under `wasm/`.
    pub(crate) wasm: bool,
}

impl<'a> CatalogName<'a> {
    /// Takes an image name without tag and digest; `None` for images of others. A short name is one of the catalog.
    pub(crate) fn of(image: &'a str) -> Option<CatalogName<'a>> {
        let (function, wasm) = PREFIXES
            .iter()
            .find_map(|(prefix, wasm)| image.strip_prefix(prefix).map(|rest| (rest, *wasm)))
            .unwrap_or((image, false));
        (!function.is_empty() && !function.contains('/')).then_some(CatalogName { function, wasm })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_public_prefix_and_the_short_name_lead_to_the_function() {
        for image in [
            "set-labels",
            "gcr.io/kpt-fn/set-labels",
            "gcr.io/kpt-fn-contrib/set-labels",
            "ghcr.io/kptdev/krm-functions-catalog/set-labels",
            "ghcr.io/kptdev/krm-functions-catalog/wasm/set-labels",
        ] {
            assert_eq!(CatalogName::of(image).map(|name| name.function), Some("set-labels"), "{image}");
        }
    }

    #[test]
    fn images_of_others_are_not_ours() {
        for image in
            ["docker.io/acme/set-labels", "gcr.io/kpt-fn/x/set-labels", "gcr.io/kpt-fn/", "localhost:5000/set-labels"]
        {
            assert_eq!(CatalogName::of(image), None, "{image}");
        }
    }
}
