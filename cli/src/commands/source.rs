//! `portico source`.

use anyhow::{Context, Result, bail};
use portico_krm::Resource;
use portico_krm::yaml::{ParseLimits, SourceFile};
use portico_runtime::package::PackageDir;
use portico_runtime::{source, to_documents, to_resource_list};

use crate::args::SourceArgs;
use crate::commands::read;
use crate::commands::render::report;
use crate::printer::{Printer, write_stdout};
use crate::{Exit, setup};

/// Prints a directory's resources.
pub(crate) fn run(arguments: &SourceArgs) -> Result<Exit> {
    let printer = Printer::new(&arguments.messages, false);
    let limits = setup::configured_limits(&arguments.config, &printer)?;
    let files = read(&PackageDir::open(&arguments.directory)?, &limits.package, &printer)?;
    let resources = match source(&files, &limits) {
        Ok(resources) => resources,
        Err(error) => {
            report(&printer, &error);
            return Ok(Exit::Failed);
        }
    };
    let text = if arguments.output == "unwrap" {
        to_documents(resources)
    } else {
        to_resource_list(resources, config(arguments)?)
    };
    write_stdout(text.as_bytes())?;
    Ok(Exit::Passed)
}

fn config(arguments: &SourceArgs) -> Result<Option<Resource>> {
    let Some(path) = &arguments.fn_config else { return Ok(None) };
    let shown = path.display();
    let bytes = std::fs::read(path).with_context(|| format!("`--fn-config {shown}`"))?;
    let parsed = match SourceFile::parse(&bytes, &ParseLimits::default()) {
        Ok(parsed) => parsed,
        Err(errors) => {
            bail!("`--fn-config {shown}`: {}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        }
    };
    let mut documents = parsed.into_documents();
    let (Some(document), true) = (documents.pop(), documents.is_empty()) else {
        bail!("`--fn-config {shown}` must hold exactly one resource");
    };
    Ok(Some(Resource::new(document.tree).with_context(|| format!("`--fn-config {shown}`"))?))
}
