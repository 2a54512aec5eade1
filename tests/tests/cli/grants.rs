//! `--mount` and `-e`: what functions may see beside the package.

use std::os::unix::fs::symlink;

use anyhow::{Result, ensure};
use portico_tests::cli::{KPTFILE, Place, config_map, kptfile_with, make_fifo};
use portico_tests::{expect_same, granted_files};

use crate::functions::component;

const MOUNT: &str = "--mount type=bind,src=data,dst=/data";

fn reader() -> Result<Place> {
    Place::with_mutator("image: read-files")
}

/// What a function said on its stderr.
fn said(stderr: &str) -> String {
    let said = stderr.split_once("  Stderr:\n").map_or("", |(_, said)| said);
    let lines = said.lines().map_while(|line| line.strip_prefix("    "));
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn a_mounted_directory_can_be_read_by_render_and_eval() -> Result<()> {
    let place = reader()?;
    let expected = granted_files(&place.path()?)?;
    for line in [
        format!("render pkg {MOUNT} --function-dir $PROBES"),
        format!("fn render pkg {MOUNT},rw=false --function-dir $PROBES"),
        format!("eval pkg -i read-files {MOUNT} --function-dir $PROBES"),
        "eval pkg -i read-files --mount type=bind,source=./data/,target=/data,readonly --function-dir $PROBES"
            .to_owned(),
    ] {
        let ran = place.run(&line)?;
        ran.exits(0)?.mentions(&["data/out` is a link that leads out of the directory; functions do not see it"])?;
        expect_same(&line, &expected, &said(&ran.stderr))?;
    }
    Ok(())
}

#[test]
fn without_a_mount_there_is_no_file() -> Result<()> {
    let place = reader()?;
    granted_files(&place.path()?)?;
    let ran = place.run("render pkg --function-dir $PROBES")?;
    ran.exits(1)?;
    // The first look fails, and the C library says that no directory is there to look in.
    let said = said(&ran.stderr);
    ensure!(said.starts_with("directory /data\nCapabilities insufficient") && said.lines().count() == 2, "{said}");
    Ok(())
}

#[test]
fn a_component_is_refused_where_a_directory_is_mounted() -> Result<()> {
    let place = reader()?;
    granted_files(&place.path()?)?;
    let module = std::fs::read(portico_tests::probes_directory()?.join("read-files.wasm"))?;
    std::fs::write(place.path()?.join("component.wasm"), component(&module)?)?;
    let line = "render pkg --function read-files=component.wasm";
    let ran = place.run(&format!("{line} {MOUNT}"))?;
    ran.exits(1)?.mentions(&["the function is a component, and components are not shown granted directories"])?;
    let ran = place.run(line)?;
    ensure!(!ran.exits(1)?.stderr.contains("granted"), "{}", ran.stderr);
    Ok(())
}

#[test]
fn a_kptfile_cannot_mount_nor_set_variables() -> Result<()> {
    let place = reader()?;
    for field in ["mount: [{src: data, dst: /data}]", "mounts: [data]", "env: [A=b]", "envs: [A]", "network: true"] {
        place.write("pkg/Kptfile", &kptfile_with(&format!("image: no-op\n    {field}")))?;
        let name = field.split(':').next().unwrap_or_default();
        place.run("render pkg")?.exits(1)?.mentions(&[name, "Kptfile:8"])?;
    }
    Ok(())
}

#[test]
fn a_mount_that_cannot_be_had_says_why() -> Result<()> {
    let place = reader()?;
    place.write("data/file", "x")?;
    for (mount, words) in [
        ("type=bind,src=data,dst=/data,rw=true", "`rw=true`: functions read a copy of the directory and cannot write"),
        ("type=volume,src=data,dst=/data", "type `volume`: only directories of this machine can be mounted"),
        ("src=data,dst=data", "`dst=data`: write an absolute path without `..`"),
        ("data:/data", "`data:/data` is no option of a mount; write `type=bind,src=DIR,dst=/PATH`"),
    ] {
        // Seen before anything is done, as every wrong word.
        place.run(&format!("render pkg --mount {mount}"))?.exits(2)?.mentions(&[words])?;
    }
    let before = place.state()?;
    for (mount, words) in [
        ("src=gone,dst=/d", "`--mount src=gone,dst=/d`: can't open `gone`: No such file or directory"),
        ("src=data/file,dst=/d", "`data/file` is no directory; grant the directory that it is in"),
        ("src=data,dst=/d --mount src=pkg,dst=/d", "two directories are granted as `/d`"),
    ] {
        place.run(&format!("render pkg --mount {mount} --function-dir $PROBES"))?.exits(1)?.mentions(&[words])?;
    }
    make_fifo(&place.path()?.join("fifo"))?;
    place.run("render pkg --mount src=fifo,dst=/d")?.exits(1)?.mentions(&["`fifo` is no directory"])?;
    place.run("eval pkg -i no-op --mount src=/proc/self,dst=/d")?.exits(1)?;
    ensure!(before.iter().all(|(path, bytes)| place.read(path).is_ok_and(|now| now.as_bytes() == bytes)), "untouched");
    Ok(())
}

#[test]
fn special_files_and_links_that_lead_out_are_left_out_with_a_warning() -> Result<()> {
    let place = reader()?;
    granted_files(&place.path()?)?;
    let data = place.path()?.join("data");
    std::fs::remove_file(data.join("out"))?;
    make_fifo(&data.join("out"))?;
    symlink("/etc", data.join("zzz"))?;
    place.run(&format!("render pkg {MOUNT} --function-dir $PROBES"))?.exits(0)?.mentions(&[
        "`data/out` is neither a file nor a directory; functions do not see it",
        "`data/zzz` is a link that leads out of the directory; functions do not see it",
        "a link that leads out: not there",
    ])?;
    Ok(())
}

#[test]
fn the_environment_reaches_a_function_only_by_name() -> Result<()> {
    let place = Place::with(&[
        ("pkg/Kptfile", &format!("{KPTFILE}pipeline:\n  mutators:\n  - image: printenv:v0.1\n")),
        ("pkg/a.yaml", &config_map("a")),
    ])?;
    for line in ["eval pkg -i printenv:v0.1 -o stdout", "render pkg"] {
        let line = format!("{line} -e COLOR=red -e COLOR=blue --env PASSED -e MISSING -e EMPTY=");
        let ran = place.run_env(&[("PASSED", "through"), ("HIDDEN", "secret")], &line)?;
        ran.exits(1)?.mentions(&["COLOR=blue", "PASSED=through", "EMPTY="])?;
        for not in ["HIDDEN", "MISSING", "COLOR=red"] {
            ensure!(!ran.stderr.contains(not), "{}", ran.stderr);
        }
    }
    let before = place.run("render pkg")?;
    ensure!(!before.stderr.contains("PASSED"), "nothing is granted by itself");
    Ok(())
}

#[test]
fn values_of_variables_are_never_shown() -> Result<()> {
    let place = Place::with_mutator("image: no-op")?;
    // An argument of a program has at most 128 KiB.
    let long = "hunter2".repeat(10_000);
    for (flag, words) in [
        ("-e TOKEN=hunter2".to_owned(), ""),
        ("-e =hunter2".to_owned(), "`` is no name of an environment variable"),
        (
            format!("-e FIRST={long} -e TOKEN={long}"),
            "environment variable `TOKEN`: all variables that are granted have more than 131072 bytes",
        ),
        ("-e TOKEN=hunter2 --mount src=gone,dst=/d".to_owned(), "`gone`"),
    ] {
        let ran = place.run(&format!("render pkg -v {flag}"))?;
        ran.exits(i32::from(!words.is_empty()))?.mentions(&[words])?;
        ensure!(!ran.stderr.contains("hunter2") && !place.read("pkg/Kptfile")?.contains("hunter2"), "{}", ran.stderr);
    }
    place.run("eval pkg -i no-op -e TOKEN=hunter2 --mount src=pkg,dst=/d --save")?.exits(0)?;
    let kptfile = place.read("pkg/Kptfile")?;
    ensure!(!kptfile.contains("TOKEN") && !kptfile.contains("/d"), "{kptfile}");
    Ok(())
}
