//! The page at `/ui`, in a browser without a screen.
#![expect(clippy::print_stdout, reason = "who runs the tests is to know what was looked at, and what was not")]

use std::process::Command;

use crate::harness::{LABELS, Package, SERVICE, Server, failing, kptfile, modules};

/// Drives the browser, and looks for what keeps people from using a page.
const MODULES: [&str; 2] = ["playwright-core@1.56.1", "axe-core@4.11.0"];

#[test]
fn the_page_shows_revisions_renders_and_the_queue() {
    let browser = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success()));
    let (Some(browser), Some(modules)) = (browser, modules(&MODULES)) else {
        println!("SKIPPED: the page is not tested without chromium, node, npm and its registry");
        return;
    };
    let server = Server::start();
    let push = |name: &str, pipeline: &str, file: &str, code: i32| {
        let package = Package::new(&[("Kptfile", &kptfile(pipeline)), (file, SERVICE)]);
        server.run(&["push", &package.arg(), name, "--workspace", name, "--wait"]).ended(code);
    };
    push("web.v1", LABELS, "svc.yaml", 0);
    let hostile = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>";
    push("hostile.v1", &failing(hostile), "<img src=x onerror=window.hacked=1>.yaml", 1);
    let path =
        String::from_utf8(Command::new("sh").args(["-c", "command -v \"$0\"", browser]).output().unwrap().stdout);
    let output = Command::new("node")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/server/page.mjs"))
        .args([&server.url, path.unwrap().trim()])
        .arg(modules)
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    println!("{out}");
}
