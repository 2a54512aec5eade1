//! The functions of the public catalogs that stay out, and what to do instead.

/// Why a function stays out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// It needs something that no function in a sandbox has: the end of a sentence that begins with `it`, and what to do
    /// instead.
    Needs { what: &'static str, instead: &'static str },
    /// Nobody has written it for this program. What it is written in can be compiled for WASI.
    NotWritten,
}

/// Sorted by name.
const ABSENT: &[(&str, Reason)] = &[
    (
        "analyze-istio",
        Reason::Needs {
            what: "runs `istioctl`",
            instead: "run `istioctl analyze` on the rendered package, or give the program with `exec:` and `--allow-exec`",
        },
    ),
    ("bind", Reason::NotWritten),
    ("export-terraform", Reason::NotWritten),
    ("format", Reason::NotWritten),
    (
        "generate-kpt-pkg-docs",
        Reason::Needs { what: "writes README.md", instead: "run it as a program with `exec:` and `--allow-exec`" },
    ),
    (
        "inflate-helm-chart",
        Reason::Needs {
            what: "runs `helm` and downloads charts",
            instead: "run `helm template` and keep its output in the package",
        },
    ),
    (
        "render-helm-chart",
        Reason::Needs {
            what: "runs `helm` and downloads charts",
            instead: "run `helm template` and keep its output in the package",
        },
    ),
    ("set-gcp-resource-ids", Reason::NotWritten),
    ("sleep", Reason::NotWritten),
    (
        "sops",
        Reason::Needs {
            what: "runs `sops` and `gpg` and asks key services",
            instead: "run `sops` before or after the render, or give the program with `exec:` and `--allow-exec`",
        },
    ),
    (
        "source-gcloud-config",
        Reason::Needs {
            what: "runs `gcloud`",
            instead: "write the ConfigMap that it makes into the package, or give the program with `exec:` and \
                      `--allow-exec`",
        },
    ),
];

/// Why a function of the public catalogs is not built in, and what to do; nothing for other names.
pub(crate) fn absent(name: &str) -> Option<String> {
    let (_, reason) = ABSENT.iter().find(|(known, _)| *known == name)?;
    Some(match reason {
        Reason::Needs { what, instead } => format!("it {what}, which nothing in a sandbox can do; {instead}"),
        Reason::NotWritten => format!(
            "it is not built in; build it from its Go source with `GOOS=wasip1 GOARCH=wasm go build` and give the module \
             with `--function {name}=FILE.wasm` or `--function-dir`"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::published;

    #[test]
    fn names_are_sorted_and_not_among_those_that_are_there() {
        assert!(ABSENT.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (name, _) in ABSENT {
            assert!(published(name).is_none(), "{name}");
        }
    }

    /// The page lists what stays out in the words of the messages.
    #[test]
    fn the_page_of_functions_lists_what_stays_out() {
        let page = include_str!("../../../docs/functions.md");
        for (name, reason) in ABSENT {
            let row = match reason {
                Reason::Needs { what, instead } => format!("| `{name}` | {what} | {instead} |"),
                Reason::NotWritten => format!("| `{name}` | "),
            };
            assert!(page.contains(&row), "docs/functions.md lacks `{row}`");
        }
        let listed = page.lines().filter(|line| line.starts_with("| `")).count();
        let built_in = crate::published::PUBLISHED.len();
        assert_eq!(listed, ABSENT.len() + built_in, "a row for each function and no other");
    }

    #[test]
    fn the_page_of_functions_lists_what_is_there() {
        let page = include_str!("../../../docs/functions.md");
        for function in crate::published::PUBLISHED {
            let row = format!("| `{}` | {} |", function.name, function.purpose);
            assert!(page.contains(&row), "docs/functions.md lacks `{row}`");
        }
    }
}
