//! One YAML feature a case: what an identity function leaves in kpt style, and that preserve style leaves every byte.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use portico_tests::{expect_same, probes_directory, run_portico};

use crate::{Case, Verdict, differences};

const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: case\npipeline:\n  mutators:\n  - image: probe.local/identity:v1\n";

pub(crate) fn cases(root: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(root.join("yaml"))? {
        let directory = entry?.path();
        let name = format!("yaml/{}", directory.file_name().context("has a name")?.to_string_lossy());
        let shown = name.clone();
        cases.push(Case { name, run: Box::new(move || run(&shown, &directory).map(|()| Verdict::Passed)) });
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}

fn run(name: &str, directory: &Path) -> Result<()> {
    let input = std::fs::read(directory.join("in.yaml"))?;
    let own = differences::expected(name)?;
    let kpt = own.clone().unwrap_or_else(|| directory.join("kpt.yaml"));
    let refused = own.as_ref().map_or(!kpt.exists(), |path| path.extension().is_some_and(|e| e == "err"));
    for style in ["kpt", "preserve"] {
        let temporary = tempfile::tempdir()?;
        let package = temporary.path().join("case");
        std::fs::create_dir(&package)?;
        std::fs::write(package.join("Kptfile"), KPTFILE)?;
        let file = "in.yaml";
        std::fs::write(package.join(file), &input)?;
        let args = [
            "render",
            "case",
            "--status=none",
            &format!("--yaml-style={style}"),
            &format!("--function-dir={}", probes_directory()?.display()),
        ]
        .map(String::from);
        let ran = run_portico(temporary.path(), &args, &[])?;
        let after = std::fs::read(package.join(file))?;
        if refused {
            ensure!(ran.code == 1, "{style}: exit code {}, wanted a refusal\n{}", ran.code, ran.stderr);
            ensure!(after == input, "{style}: a refused file was written");
            ensure!(ran.stderr.contains(file), "{style}: the message does not name the file:\n{}", ran.stderr);
            continue;
        }
        ensure!(ran.code == 0, "{style}: exit code {}\n{}", ran.code, ran.stderr);
        if style == "kpt" {
            let expected = std::fs::read(&kpt)?;
            expect_same("kpt style", &String::from_utf8_lossy(&expected), &String::from_utf8_lossy(&after))?;
        } else {
            expect_same("preserve style", &String::from_utf8_lossy(&input), &String::from_utf8_lossy(&after))?;
        }
    }
    Ok(())
}
