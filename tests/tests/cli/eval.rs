//! `portico eval`.

use anyhow::{Result, ensure};
use portico_tests::cli::{KPTFILE, Place, config_map};
use portico_tests::expect_same;

fn place() -> Result<Place> {
    let service = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n";
    Place::with(&[("dir/a.yaml", &config_map("a")), ("dir/s.yaml", service)])
}

fn labelled(text: &str) -> String {
    format!("{text}  labels:\n    tier: web\n")
}

const LABELS: &str = "-i set-labels:v0.2.5";

#[test]
fn a_directory_is_changed_in_place_without_a_kptfile() -> Result<()> {
    let place = place()?;
    place.run(&format!("eval dir {LABELS} -- tier=web"))?.exits(0)?.prints("")?.says(
        "\
[RUNNING] \"ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.5\"
[PASS] \"ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.5\" in 0s
  [Results]:
    [info]: set 2 labels in total
",
    )?;
    expect_same("a.yaml", &labelled(&config_map("a")), &place.read("dir/a.yaml")?)
}

#[test]
fn output_goes_where_it_is_asked_to() -> Result<()> {
    let place = place()?;
    let before = place.state()?;
    let unwrapped = place.run(&format!("eval dir {LABELS} -o unwrap -q -- tier=web"))?;
    unwrapped.exits(0)?;
    ensure!(unwrapped.stdout.starts_with(&labelled(&config_map("a"))), "{}", unwrapped.stdout);
    let list = place.run(&format!("eval dir {LABELS} -o stdout -q -- tier=web"))?;
    ensure!(
        list.exits(0)?.stdout.starts_with("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"),
        "{}",
        list.stdout
    );
    place.run(&format!("eval dir {LABELS} --check -- tier=web"))?.exits(1)?.mentions(&["would change: a.yaml\n"])?;
    let diff = place.run(&format!("eval dir {LABELS} --diff -q -- tier=web"))?;
    ensure!(diff.exits(0)?.stdout.contains("+    tier: web"), "{}", diff.stdout);
    ensure!(place.state()? == before, "nothing was written");
    place.run(&format!("eval dir {LABELS} -o out -q -- tier=web"))?.exits(0)?;
    ensure!(place.read("out/a.yaml")? == labelled(&config_map("a")), "a new directory");
    Ok(())
}

#[test]
fn selectors_choose_and_the_rest_stays() -> Result<()> {
    for (flags, a, s) in [
        ("--match-kind Secret", false, true),
        ("--match-name a --match-api-version v1", true, false),
        ("--exclude-kind Secret", true, false),
        ("--match-namespace none", false, false),
        ("--match-kind Secret --exclude-name s", false, false),
        ("--match-annotations config.kubernetes.io/path=a.yaml", true, false),
    ] {
        let place = place()?;
        place.run(&format!("eval dir {LABELS} -q {flags} -- tier=web"))?.exits(0)?;
        let is = |path: &str| -> Result<bool> { Ok(place.read(path)?.contains("tier: web")) };
        ensure!((is("dir/a.yaml")?, is("dir/s.yaml")?) == (a, s), "{flags}");
    }
    let place = place()?;
    place
        .run(&format!("eval dir {LABELS} --match-kind Secret -- tier=web"))?
        .exits(0)?
        .mentions(&["[RUNNING] \"ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.5\" on 1 resource(s)\n"])?;
    Ok(())
}

#[test]
fn a_config_file_is_read_from_anywhere() -> Result<()> {
    let place = place()?;
    place.write("conf/fn.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: conf\ndata:\n  tier: web\n")?;
    place.run(&format!("eval dir {LABELS} -q --fn-config conf/fn.yaml"))?.exits(0)?;
    ensure!(place.read("dir/a.yaml")?.contains("tier: web"), "applied");
    place
        .run(&format!("eval dir {LABELS} --fn-config gone.yaml"))?
        .exits(1)?
        .says("error: `--fn-config gone.yaml`: No such file or directory (os error 2)\n")?;
    place.write("conf/fn.yaml", "a: [\n")?;
    place.run(&format!("eval dir {LABELS} --fn-config conf/fn.yaml"))?.exits(1)?.mentions(&["conf/fn.yaml"])?;
    Ok(())
}

#[test]
fn a_program_runs_as_the_function_with_its_arguments() -> Result<()> {
    let place = place()?;
    place.run("eval dir --exec \"sed 's/name: a$/name: b/'\" -q")?.exits(0)?;
    expect_same("a.yaml", &config_map("b"), &place.read("dir/a.yaml")?)?;
    place.run("eval dir --exec no-such-program")?.exits(1)?.mentions(&[
        "error: cannot start `no-such-program`: No such file or directory (os error 2) in step 1 (no-such-program)\n",
    ])?;
    place
        .run("eval dir --exec \"sh -c 'echo bad >&2; exit 7'\"")?
        .exits(1)?
        .mentions(&["  Stderr:\n    bad\n  Exit code: 7\n", "failed with exit code 7: bad\n"])?;
    Ok(())
}

#[test]
fn a_validator_is_heard_and_its_changes_are_dropped() -> Result<()> {
    let place = place()?;
    let before = place.state()?;
    place.run(&format!("eval dir {LABELS} --type validator -- tier=web"))?.exits(0)?;
    ensure!(place.state()? == before, "a validator changes nothing");
    Ok(())
}

#[test]
fn save_puts_the_function_into_the_kptfile_and_keeps_its_comments() -> Result<()> {
    let place = Place::with(&[
        ("pkg/Kptfile", &format!("# mine\n{KPTFILE}pipeline:\n  mutators:\n    # first\n    - image: no-op\n")),
        ("pkg/a.yaml", &config_map("a")),
    ])?;
    place
        .run(&format!("eval pkg {LABELS} -s --match-kind ConfigMap -- tier=web"))?
        .exits(0)?
        .mentions(&["Added \"set-labels:v0.2.5\" as mutator in the Kptfile.\n"])?;
    place
        .run("eval pkg --exec cat --save -t validator")?
        .exits(0)?
        .mentions(&["Added \"cat\" as validator in the Kptfile.\n"])?;
    expect_same(
        "Kptfile",
        &format!(
            "# mine\n{KPTFILE}pipeline:
  mutators:
    # first
    - image: no-op
    - image: set-labels:v0.2.5
      configMap:
        tier: web
      selectors:
        - kind: ConfigMap
  validators:
    - exec: cat
"
        ),
        &place.read("pkg/Kptfile")?,
    )?;
    // The same image again replaces its entry.
    place.run(&format!("eval pkg {LABELS} -s -q -- tier=db"))?.exits(0)?;
    let kptfile = place.read("pkg/Kptfile")?;
    ensure!(kptfile.contains("tier: db") && kptfile.matches("set-labels").count() == 1, "{kptfile}");
    Ok(())
}

#[test]
fn save_needs_a_kptfile_and_a_function_that_passes() -> Result<()> {
    let place = place()?;
    place
        .run(&format!("eval dir {LABELS} -s -- tier=web"))?
        .exits(1)?
        .mentions(&["error: `--save`: the directory has no Kptfile\n"])?;
    ensure!(!place.read("dir/a.yaml")?.contains("tier"), "told before anything is written");
    place
        .run_on("", &format!("eval - {LABELS} -s -- tier=web"))?
        .exits(1)?
        .says("error: `--save` needs a package directory, not standard input\n")?;
    let failing = Place::with_mutator("image: no-op")?;
    let before = failing.state()?;
    failing.run("eval pkg -i probe.local/fail3:v1 -s --function-dir $PROBES")?.exits(1)?;
    ensure!(failing.state()? == before, "a failed function is not saved");
    Ok(())
}

#[test]
fn standard_input_may_be_a_list_documents_or_nothing() -> Result<()> {
    let place = Place::with(&[])?;
    let documents = place.run_on(&config_map("a"), &format!("eval - {LABELS} -o unwrap -q -- tier=web"))?;
    documents.exits(0)?.prints(&labelled(&config_map("a")))?;
    place
        .run_on("", "eval - -i no-op -q")?
        .exits(0)?
        .prints("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n")?;
    place
        .run_on("a: [\n", "eval - -i no-op -q")?
        .exits(1)?
        .prints("")?
        .mentions(&["error: the input is no ResourceList: line 2"])?;
    place.run("eval gone -i no-op")?.exits(1)?.mentions(&["cannot open the package `gone`"])?;
    Ok(())
}

#[test]
fn results_are_written() -> Result<()> {
    let place = place()?;
    place
        .run(&format!("eval dir {LABELS} --results-dir res -- tier=web"))?
        .exits(0)?
        .mentions(&["For complete results, see res/results.yaml\n"])?;
    ensure!(place.read("res/results.yaml")?.contains("message: set 2 labels in total"), "results");
    Ok(())
}
