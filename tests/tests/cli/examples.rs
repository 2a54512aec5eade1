//! The packages under `examples/`, rendered, against `tests/goldens/NAME.diff` and `NAME.results.yaml`.
//! `PORTICO_BLESS=1` writes the goldens anew.

use anyhow::{Context, Result, ensure};
use portico_tests::cli::Place;
use portico_tests::{copy_tree, expect_same, repository};

fn golden(name: &str, actual: &str) -> Result<()> {
    let path = repository().join("tests/goldens").join(name);
    if std::env::var_os("PORTICO_BLESS").is_some() {
        return std::fs::write(&path, actual).with_context(|| path.display().to_string());
    }
    let expected =
        std::fs::read_to_string(&path).with_context(|| format!("{}: PORTICO_BLESS=1 makes it", path.display()))?;
    expect_same(name, &expected, actual)
}

fn renders_as_recorded(name: &str) -> Result<()> {
    let place = Place::with(&[])?;
    copy_tree(&repository().join("examples").join(name), &place.path()?.join(name))?;
    let diff = place.run(&format!("render {name} --diff -q"))?;
    diff.exits(0)?.says("")?;
    golden(&format!("{name}.diff"), &diff.stdout)?;
    let render = place.run(&format!("render {name} --results-dir results"))?;
    render.exits(0)?;
    golden(&format!("{name}.results.yaml"), &place.read("results/results.yaml")?)?;
    golden(&format!("{name}.Kptfile"), &place.read(&format!("{name}/Kptfile"))?)?;
    // A second render changes nothing.
    let state = place.state()?;
    place.run(&format!("render {name} --check -q"))?.exits(0)?;
    place.run(&format!("render {name} -q"))?.exits(0)?;
    place.run(&format!("render {name} -q"))?.exits(0)?;
    for (path, content) in place.state()? {
        let same = path.ends_with("/Kptfile") || state.get(&path) == Some(&content);
        ensure!(same, "`{path}` changes with every render");
    }
    Ok(())
}

#[test]
fn the_small_example_renders_as_recorded() -> Result<()> {
    renders_as_recorded("hello")
}

#[test]
fn the_shop_renders_as_recorded() -> Result<()> {
    renders_as_recorded("shop")
}

#[test]
fn the_validator_of_the_shop_catches_a_container_without_resources() -> Result<()> {
    let place = Place::with(&[])?;
    copy_tree(&repository().join("examples/shop"), &place.path()?.join("shop"))?;
    let bare = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: bare\nspec:\n  selector:\n    matchLabels:\n      app: bare\n  template:\n    metadata:\n      labels:\n        app: bare\n    spec:\n      containers:\n      - name: c\n        image: nginx\n";
    place.write("shop/bare.yaml", bare)?;
    place
        .run("render shop")?
        .exits(1)?
        .mentions(&["[FAIL] \"ghcr.io/kptdev/krm-functions-catalog/starlark", "bare"])?;
    ensure!(place.read("shop/bare.yaml")? == bare, "a failed render changes no resource");
    Ok(())
}
