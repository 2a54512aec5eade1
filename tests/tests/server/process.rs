//! The start and the end of the process.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use portico_tests::cli::Place;
use portico_tests::serving::Serving;

fn serve(place: &Place, flags: &str) -> Result<Serving> {
    Serving::start(place, &format!("serve --store store.redb --listen 127.0.0.1:0 {flags}"))
}

#[test]
fn asked_to_end_it_ends_in_order_and_its_store_is_free() -> Result<()> {
    let place = Place::with(&[])?;
    for name in ["TERM", "INT"] {
        let server = serve(&place, "")?;
        ensure!(server.get("/apis")?.0 == 200);
        server.signal(name)?;
        let (code, said) = server.ended()?;
        ensure!(code == Some(0), "{code:?}: {said}");
        ensure!(said.contains("stopping: not ready any more") && said.contains("stopped"), "{said}");
    }
    Ok(())
}

#[test]
fn a_second_signal_ends_it_at_once() -> Result<()> {
    let place = Place::with(&[])?;
    place.write("s.yaml", "apiVersion: portico.dev/v1alpha1\nkind: ServerConfiguration\ndrain: {delay: 1h}\n")?;
    let server = serve(&place, "--config s.yaml")?;
    server.signal("TERM")?;
    server.until("/readyz", 503)?;
    ensure!(server.get("/livez")?.0 == 200, "it still answers");
    server.signal("TERM")?;
    let (code, said) = server.ended()?;
    ensure!(code == Some(130), "{code:?}: {said}");
    Ok(())
}

#[test]
fn a_store_has_one_process() -> Result<()> {
    let place = Place::with(&[])?;
    let _server = serve(&place, "")?;
    let second = place.run("serve --store store.redb --listen 127.0.0.1:0")?;
    second.exits(1)?.mentions(&["the store `store.redb` is in use by another process"])?.prints("")?;
    Ok(())
}

#[test]
fn nothing_is_said_while_nothing_happens() -> Result<()> {
    let place = Place::with(&[])?;
    // Heartbeats and looks at the configuration would show within this; they come at least every five seconds.
    let server = serve(&place, "--log-format json")?;
    std::thread::sleep(Duration::from_secs(6));
    ensure!(server.get("/readyz?verbose")?.0 == 200);
    server.signal("KILL")?;
    let (_, said) = server.ended()?;
    ensure!(said.is_empty(), "{said}");
    Ok(())
}

#[test]
fn lines_are_json_where_that_is_asked_for() -> Result<()> {
    let place = Place::with(&[])?;
    let server = serve(&place, "--log-format json")?;
    server.signal("TERM")?;
    let (_, said) = server.ended()?;
    ensure!(!said.is_empty());
    for line in said.lines() {
        ensure!(line.starts_with(r#"{"timestamp":""#) && line.ends_with('}'), "{line}");
    }
    Ok(())
}

#[test]
fn what_others_reach_is_refused_unless_somebody_says_so() -> Result<()> {
    let place = Place::with(&[])?;
    let open = "serve --store store.redb --listen 0.0.0.0:0";
    place.run(open)?.exits(1)?.mentions(&["error: the flags: others reach `0.0.0.0:0`, and there is no `tls`"])?;
    place.run(&format!("{open} --insecure-without-tls"))?.exits(1)?.mentions(&["nobody is asked who they are"])?;
    place
        .run(&format!("{open} --insecure-without-tls --insecure-without-authentication --check"))?
        .exits(0)?
        .says("")?;
    ensure!(!place.has("store.redb"), "a check starts nothing");
    Ok(())
}

#[test]
fn a_configuration_can_be_checked_and_described() -> Result<()> {
    let head = "apiVersion: portico.dev/v1alpha1\nkind: ServerConfiguration\nstore: /tmp/x.redb\n";
    let place = Place::with(&[("s.yaml", head), ("wrong.yaml", &format!("{head}lisen: {{}}\n"))])?;
    place.run("serve --check --config s.yaml")?.exits(0)?;
    place
        .run("serve --check --config wrong.yaml")?
        .exits(1)?
        .mentions(&["error: wrong.yaml:4: unknown field `lisen`", "did you mean `listen`?"])?;
    let schema = place.run("serve --print-schema")?;
    schema.exits(0)?;
    ensure!(schema.stdout.contains("\"inFlightPerUser\""), "{}", schema.stdout);
    Ok(())
}

#[test]
fn a_token_is_made_and_added_to_a_file() -> Result<()> {
    let place = Place::with(&[])?;
    let first = place.run("token ann --group team-a --file tokens.yaml")?;
    let second = place.run("token 'b: \"b' --file tokens.yaml")?;
    for made in [&first, &second] {
        made.exits(0)?.says("")?;
        ensure!(made.stdout.starts_with("portico-") && made.stdout.trim().len() > 64, "{}", made.stdout);
    }
    let file = place.read("tokens.yaml")?;
    ensure!(file.lines().count() == 5 && !file.contains(first.stdout.trim()), "{file}");
    place.run("token system:masters")?.exits(1)?.mentions(&["names that begin with `system:`"])?;
    place.write("other.yaml", "apiVersion: portico.dev/v1alpha1\nkind: Roles\nroles: []\nbindings: []\n")?;
    place.run("token ann --file other.yaml")?.exits(1)?.mentions(&["other.yaml"])?;
    let printed = place.run("token ann")?;
    ensure!(printed.stdout.lines().count() == 2 && printed.stdout.contains("\"sha256\""), "{}", printed.stdout);
    Ok(())
}

#[test]
fn limits_are_explained_for_a_function_in_a_namespace() -> Result<()> {
    let config = "\
apiVersion: portico.dev/v1alpha1
kind: ServerConfiguration
limits: {memory: 100MiB}
maximum: {stepTime: 30s}
functions:
- {name: starlark, limits: {stepTime: 20s}}
namespaces:
  team-a:
    limits: {memory: 200MiB}
    functions:
    - {image: 'ghcr.io/kptdev/*', limits: {stepTime: 90s}}
";
    let place = Place::with(&[("s.yaml", config), ("own.yaml", "limits: {memory: 7MiB}\n")])?;
    let row = |line: &str, name: &str| -> Result<String> {
        let ran = place.run(line)?;
        ran.exits(0)?;
        let row = ran.stdout.lines().find(|line| line.split_whitespace().next() == Some(name));
        Ok(row.with_context(|| ran.stdout.clone())?.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let other = "limits explain starlark:v0.5 --config s.yaml -n other";
    ensure!(row(other, "memory")? == "memory 100 MiB s.yaml:3", "{}", row(other, "memory")?);
    ensure!(row(other, "stepTime")? == "stepTime 20s profile `starlark` (s.yaml:6)", "{}", row(other, "stepTime")?);
    let team = "limits explain starlark:v0.5 --config s.yaml -n team-a";
    ensure!(row(team, "memory")? == "memory 200 MiB s.yaml:9", "{}", row(team, "memory")?);
    let capped = "stepTime 30s profile `ghcr.io/kptdev/*` (s.yaml:11), which asks for 90s; capped by s.yaml:4";
    ensure!(row(team, "stepTime")?.replace("1m 30s", "90s") == capped, "{}", row(team, "stepTime")?);
    ensure!(row("limits explain set-labels --config own.yaml", "memory")? == "memory 7 MiB own.yaml:1");
    ensure!(row("limits explain set-labels", "memory")? == "memory 1 GiB default");
    place.run("limits explain set-labels -n a")?.exits(1)?.mentions(&["only a server has namespaces"])?;
    Ok(())
}
