//! `portico token`.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::{Context, Result};
use portico_server::auth::{Tokens, new_token};

use crate::Exit;
use crate::args::serve::TokenArgs;
use crate::printer::write_stdout;

/// How a file of tokens begins.
const HEAD: &str = "apiVersion: portico.dev/v1alpha1\nkind: Tokens\ntokens:\n";

pub(crate) fn run(arguments: &TokenArgs) -> Result<Exit> {
    let (token, digest) = new_token();
    let entry = serde_json::json!({"user": arguments.user, "groups": arguments.groups, "sha256": digest});
    // JSON on one line is YAML as well, whatever stands in a name.
    let entry = format!("- {entry}\n");
    // What can't be read back is not written.
    Tokens::read("the entry", format!("{HEAD}{entry}").as_bytes())?;
    match &arguments.file {
        None => write_stdout(format!("{token}\n{entry}").as_bytes())?,
        Some(file) => {
            add(file, &entry)?;
            write_stdout(format!("{token}\n").as_bytes())?;
        }
    }
    Ok(Exit::Passed)
}

/// Adds an entry at the end of the file. A server that reads it meanwhile sees all of it or nothing.
fn add(file: &Path, entry: &str) -> Result<()> {
    let shown = file.display().to_string();
    let mut text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => HEAD.to_owned(),
        Err(error) => return Err(error).with_context(|| format!("cannot read `{shown}`")),
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(entry);
    Tokens::read(&shown, text.as_bytes())
        .context("the entry can't be added at the end of the file; print it without `--file` and add it by hand")?;
    let beside = file.with_extension("yaml.new");
    let write = || {
        let mut options = fs::OpenOptions::new();
        let mut new = options.write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        new.write_all(text.as_bytes())?;
        new.sync_all()?;
        fs::rename(&beside, file)
    };
    write().with_context(|| format!("cannot write `{shown}`"))
}
