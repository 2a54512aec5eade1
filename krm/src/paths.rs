//! Paths in a package, as text: slashes, relative to the package. Nothing here looks at a file system.

use crate::Resource;

/// Why a function may not put a resource at a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The path leads out of the package. The text is kpt's.
    #[error("function must not modify resources outside of package: resource has path {path}")]
    Outside {
        /// The cleaned path.
        path: String,
    },
    /// The path names no file: it is empty, `.` or ends in a slash.
    #[error("resource has path {path:?}, which names no file")]
    NoFile {
        /// The path as the function wrote it.
        path: String,
    },
    /// A NUL or line break in the path.
    #[error("resource has path {path:?}: a path must not contain a line break or NUL")]
    Unprintable {
        /// The path as the function wrote it.
        path: String,
    },
}

/// The shortest path that means the same: no `.`, no doubled or final slash, `..` resolved where something stands
/// before it. The empty path is `.`; `/..` is `/`.
pub fn clean(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(last) if *last != ".." => _ = parts.pop(),
                _ if absolute => {}
                _ => parts.push(part),
            },
            _ => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// Joins the parts that are not empty and cleans the result; empty when all are.
pub fn join<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { String::new() } else { clean(&parts.join("/")) }
}

/// The directory of a path, cleaned; `.` for a bare name.
pub fn dir(path: &str) -> String {
    clean(path.rfind('/').map_or("", |at| &path[..=at]))
}

/// The last part of a path, final slashes ignored; `.` for the empty path.
pub fn base(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    match (path.is_empty(), trimmed.is_empty()) {
        (true, _) => ".",
        (_, true) => "/",
        _ => trimmed.rsplit('/').next().unwrap_or(trimmed),
    }
}

/// True when a cleaned relative path leads out of the directory that it starts from.
pub fn leads_out(clean: &str) -> bool {
    clean == ".." || clean.starts_with("../")
}

/// The cleaned path of an output resource relative to its package. An absolute path counts from the package.
pub fn output_path(path: &str) -> Result<String, PathError> {
    if path.contains(['\0', '\n', '\r']) {
        return Err(PathError::Unprintable { path: path.to_owned() });
    }
    let relative = clean(path.trim_start_matches('/'));
    if leads_out(&relative) {
        return Err(PathError::Outside { path: relative });
    }
    if relative == "." || path.ends_with('/') {
        return Err(PathError::NoFile { path: path.to_owned() });
    }
    Ok(relative)
}

/// The file of a generated resource that names none: `<namespace>/<kind>_<name>.yaml`, the kind in lower case, below
/// `scope` (see [`config_scope`]).
pub fn default_path(scope: &str, resource: &Resource) -> String {
    let file = format!("{}_{}.yaml", resource.kind().to_lowercase(), resource.name());
    join([scope, resource.namespace(), &file])
}

/// The directory below which a function's generated resources go: that of its functionConfig's file, or the parent of
/// that if it is called `functions`. `config_path` is the path annotation of the functionConfig; empty for none.
pub fn config_scope(config_path: &str) -> String {
    if config_path.is_empty() {
        return String::new();
    }
    let directory = dir(config_path);
    if base(&directory) == "functions" { dir(&directory) } else { directory }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::testing::resource;

    #[test]
    fn paths_are_cleaned_as_go_does() {
        for (path, expected) in [
            ("", "."),
            (".", "."),
            ("./a//b/", "a/b"),
            ("a/../c.yaml", "c.yaml"),
            ("a/..", "."),
            ("../x", "../x"),
            ("a/../../x", "../x"),
            ("../../a/..", "../.."),
            ("/", "/"),
            ("/..", "/"),
            ("/../a/./b", "/a/b"),
            ("x..y.yaml", "x..y.yaml"),
            ("...", "..."),
        ] {
            assert_eq!(clean(path), expected, "{path:?}");
        }
    }

    #[test]
    fn directories_and_names_are_taken_from_paths() {
        assert_eq!((dir("a/b/c").as_str(), dir("c").as_str(), dir("/c").as_str()), ("a/b", ".", "/"));
        assert_eq!((base("a/b"), base("a/b/"), base(""), base("/")), ("b", "b", ".", "/"));
        assert_eq!((join(["", "a", "../b"]), join(["", ""])), ("b".to_owned(), String::new()));
    }

    #[test]
    fn output_paths_stay_in_the_package() {
        assert_eq!(output_path("./a/./b.yaml"), Ok("a/b.yaml".to_owned()));
        assert_eq!(output_path("/abs/x.yaml"), Ok("abs/x.yaml".to_owned()));
        assert_eq!(output_path("x..y.yaml"), Ok("x..y.yaml".to_owned()));
        assert_eq!(
            output_path("a/../../notpkg/deployment_httpbin.yaml").map_err(|e| e.to_string()),
            Err("function must not modify resources outside of package: resource has path \
                 ../notpkg/deployment_httpbin.yaml"
                .to_owned())
        );
        assert_eq!(output_path(".."), Err(PathError::Outside { path: "..".into() }));
        assert_eq!(output_path("/../x"), Err(PathError::Outside { path: "../x".into() }));
        for path in ["", ".", "a/..", "a/", "/"] {
            assert_eq!(output_path(path), Err(PathError::NoFile { path: path.into() }), "{path:?}");
        }
        for path in ["a\0", "a\nb", "\r"] {
            assert_eq!(output_path(path), Err(PathError::Unprintable { path: path.into() }));
        }
    }

    #[test]
    fn a_generated_resource_gets_a_file_of_its_own() {
        let mut r = resource("v1", "ConfigMap", "gen1");
        assert_eq!(default_path("", &r), "configmap_gen1.yaml");
        r.set_namespace("ns1");
        assert_eq!(default_path("", &r), "ns1/configmap_gen1.yaml");
        assert_eq!(default_path(&config_scope("conf/c.yaml"), &r), "conf/ns1/configmap_gen1.yaml");
        assert_eq!(default_path(&config_scope("c.yaml"), &r), "ns1/configmap_gen1.yaml");
        assert_eq!(default_path(&config_scope("a/functions/c.yaml"), &r), "a/ns1/configmap_gen1.yaml");
        assert_eq!(default_path(&config_scope("functions/c.yaml"), &r), "ns1/configmap_gen1.yaml");
    }
}
