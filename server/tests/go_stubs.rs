//! The Go stubs in `bindings/go` are what the protocol files come to.
//!
//! `PORTICO_UPDATE=1 cargo test --release -p portico-server --test go_stubs` writes them anew.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use prost::Message as _;
use prost_types::FileDescriptorSet;
use prost_types::compiler::{CodeGeneratorRequest, CodeGeneratorResponse};

/// All files and those that they import, with comments.
const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/commented.bin"));

/// Where the module begins, and the package of the file that names none, as it is Porch's.
const PARAMETER: &str = "module=portico.dev/go,Mevaluator.proto=portico.dev/go/evaluatorpb";

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What a generator makes of the files.
fn generated(plugin: &Path) -> BTreeMap<String, String> {
    let set = FileDescriptorSet::decode(DESCRIPTORS).expect("descriptors");
    let ours = |name: &&str| !name.starts_with("google/");
    let names = set.file.iter().map(prost_types::FileDescriptorProto::name);
    let request = CodeGeneratorRequest {
        file_to_generate: names.filter(ours).map(str::to_owned).collect(),
        parameter: Some(PARAMETER.to_owned()),
        proto_file: set.file.clone(),
        compiler_version: None,
    };
    let mut child =
        Command::new(plugin).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the generator starts");
    child.stdin.take().expect("a pipe").write_all(&request.encode_to_vec()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    let response = CodeGeneratorResponse::decode(&*output.stdout).expect("an answer");
    assert_eq!(response.error, None);
    response.file.into_iter().map(|file| (file.name().to_owned(), file.content().to_owned())).collect()
}

#[test]
#[expect(clippy::print_stderr, reason = "what is skipped is to be seen")]
fn the_stubs_of_go_are_fresh() {
    // `go --version` is no command of it.
    if Command::new("go").arg("version").output().is_err() {
        eprintln!("skipped: `go` is not on the PATH");
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let plugins = ["google.golang.org/protobuf/cmd/protoc-gen-go", "google.golang.org/grpc/cmd/protoc-gen-go-grpc"];
    let built = Command::new("go")
        .args(["build", "-o"])
        .arg(directory.path())
        .args(plugins)
        .current_dir(here().join("tests/go/tools"))
        .output()
        .expect("go runs");
    assert!(built.status.success(), "{built:?}");
    let target: PathBuf = here().join("../bindings/go");
    for plugin in plugins {
        let plugin = directory.path().join(plugin.rsplit('/').next().unwrap_or(plugin));
        for (name, content) in generated(&plugin) {
            let path = target.join(&name);
            if std::env::var_os("PORTICO_UPDATE").is_some() {
                std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                std::fs::write(&path, &content).expect("a file");
            }
            let there = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(
                there == content,
                "`bindings/go/{name}` is not what the protocol files come to; see this test's file"
            );
        }
    }
}
