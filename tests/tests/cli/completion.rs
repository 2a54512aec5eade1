//! `portico completion`.

use anyhow::{Result, ensure};
use portico_tests::cli::Place;

#[test]
fn every_shell_gets_a_script_that_knows_the_commands() -> Result<()> {
    let place = Place::with(&[])?;
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = place.run(&format!("completion {shell}"))?;
        ran.exits(0)?.says("")?;
        for word in ["portico", "render", "yaml-style"] {
            ensure!(ran.stdout.contains(word), "{shell}: no `{word}`");
        }
    }
    place.run("completion tcsh")?.exits(2)?.mentions(&["[possible values: bash, elvish, fish, powershell, zsh]"])?;
    Ok(())
}

#[test]
fn bash_can_read_its_script() -> Result<()> {
    let place = Place::with(&[])?;
    let script = place.run("completion bash")?.stdout;
    place.write("script.bash", &script)?;
    let status = std::process::Command::new("bash").arg("-n").arg(place.path()?.join("script.bash")).status()?;
    ensure!(status.success(), "bash -n refuses the script");
    Ok(())
}
