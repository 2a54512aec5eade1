//! Every file of the shared conformance data: accepted where kpt accepts it.

use portico_krm::yaml::{ParseLimits, SourceFile};

use crate::support::{conformance, manifests};

/// Files that must be refused, and where the first error is: broken ones, and keys that stand there twice, which kpt
/// accepts.
const REFUSED: [(&str, u32); 18] = [
    ("kpt/invalid-kptfile/Kptfile", 4),
    ("kpt/subpkg-has-invalid-kptfile/db/Kptfile", 10),
    ("reports/12-duplicate-map-key/package/dup.yaml", 8),
    ("reports/29-malformed-yaml-position/package/deep/bad.yaml", 5),
    ("reports/29-malformed-yaml-position/package/deep/second.yaml", 10),
    ("reports/29-malformed-yaml-position/package/deep/tab.yaml", 4),
    ("yaml/q07-long-nospace/in.yaml", 8),
    ("yaml/x06-yaml-directive/in.yaml", 1),
    ("yaml/x07-tag-directive/in.yaml", 2),
    ("yaml/x09-dup-keys-meta/in.yaml", 5),
    ("yaml/x09-dup-keys-meta/kpt.yaml", 5),
    ("yaml/x09-dup-keys-meta/sink.yaml", 5),
    ("yaml/x09-dup-keys-meta/source.yaml", 28),
    ("yaml/x14-sep-inline-content/in.yaml", 5),
    ("yaml/x30-tab-indent/in.yaml", 6),
    ("yaml/x37-nul-ctl/in.yaml", 6),
    ("yaml/x38-bad-utf8/in.yaml", 6),
    ("yaml/x45-invalid/in.yaml", 6),
];

#[test]
fn all_manifests_are_read() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for folder in ["kpt", "catalog", "yaml", "reports"] {
        let Some(root) = conformance(folder) else { continue };
        for path in manifests(&root) {
            let name = format!("{folder}/{}", path.strip_prefix(&root).unwrap().display());
            let result = SourceFile::parse(&std::fs::read(&path).unwrap(), &ParseLimits::default());
            count += 1;
            let expected = REFUSED.iter().find(|(refused, _)| *refused == name).map(|(_, line)| *line);
            let found = result.as_ref().err().map(|errors| errors[0].position.line);
            if found != expected {
                let errors = result.err().map(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>());
                wrong.push(format!("{name}: {errors:?}"));
            }
        }
    }
    println!("{count} files");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `kpt.err` shows kpt's refusal; where it is the reader's, ours has the same text.
#[test]
fn refusals_of_kpts_reader_have_its_text() {
    let Some(root) = conformance("yaml") else { return };
    let mut count = 0;
    for entry in std::fs::read_dir(root).unwrap() {
        let case = entry.unwrap().path();
        let Ok(said) = std::fs::read_to_string(case.join("kpt.err")) else { continue };
        let Some((_, said)) = said.trim_end().split_once("MalformedYAMLError: ") else { continue };
        count += 1;
        let errors =
            SourceFile::parse(&std::fs::read(case.join("in.yaml")).unwrap(), &ParseLimits::default()).unwrap_err();
        assert_eq!(errors[0].go_text(), said.trim_end(), "{}", case.display());
    }
    println!("{count} refusals");
}
