//! `portico push`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use portico_krm::Kptfile;
use portico_runtime::package::{PackageDir, PackageLimits};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::Exit;
use crate::args::PushArgs;
use crate::client::{Finished, Refusal, Server, difference, files, finished, generation, lifecycle, resource_version};
use crate::commands::in_runtime;
use crate::printer::Printer;
use crate::units::Bound;

/// How often the scheduler's own words may come between a look and a write.
const ATTEMPTS: usize = 20;

/// Sends a package to a draft.
pub(crate) fn run(arguments: &PushArgs, kubeconfig: Option<&Path>) -> Result<Exit> {
    let printer = Printer::new(&arguments.messages, false);
    let package = read(&arguments.directory, &printer)?;
    in_runtime(async {
        let server = Server::connect(&arguments.server, kubeconfig).await?;
        let push = Push { arguments, printer: &printer, server: &server, name: package.revision_name(arguments)? };
        push.push(&package).await?;
        if !(arguments.wait || arguments.propose) {
            return Ok(Exit::Passed);
        }
        let waiting = push.rendered();
        let (ended, revision) = match arguments.timeout {
            Bound::Unlimited => waiting.await?,
            Bound::At(time) => timeout(time, waiting).await.map_err(|_| {
                let time = humantime::format_duration(time);
                anyhow!("`{}` was not rendered within {time}; it goes on, and `portico logs` shows how", push.name)
            })??,
        };
        push.ended(&ended).await?;
        if !ended.rendered {
            return Ok(Exit::Failed);
        }
        if arguments.propose {
            push.propose(&revision).await?;
        }
        Ok(Exit::Passed)
    })
}

/// A package as it is sent.
struct Package {
    name: String,
    files: BTreeMap<String, String>,
}

fn read(directory: &Path, printer: &Printer) -> Result<Package> {
    let read = PackageDir::open(directory)?.read_everything(&PackageLimits::default())?;
    for warning in &read.warnings {
        printer.warning(&warning.to_string());
    }
    let shown = directory.display();
    let Some(kptfile) = read.kptfile(read.root_package()) else {
        bail!("no Kptfile found in `{shown}`; give the directory of a package");
    };
    let name = Kptfile::parse(&kptfile.bytes).ok().map(|kptfile| kptfile.metadata.name).unwrap_or_default();
    let mut files = BTreeMap::new();
    let mut binary = Vec::new();
    for (path, file) in read.files {
        match std::str::from_utf8(&file.bytes) {
            Ok(text) => drop(files.insert(path, text.to_owned())),
            Err(_) => binary.push(format!("`{path}`")),
        }
    }
    if !binary.is_empty() {
        bail!("only texts can be pushed; name these in `.krmignore`: {}", binary.join(", "));
    }
    Ok(Package { name, files })
}

impl Package {
    fn package_name<'a>(&'a self, arguments: &'a PushArgs) -> Result<&'a str> {
        match arguments.package.as_deref().unwrap_or(&self.name) {
            "" => bail!("the Kptfile names no package; give `--package NAME`"),
            name => Ok(name),
        }
    }

    /// As the server composes it.
    fn revision_name(&self, arguments: &PushArgs) -> Result<String> {
        if let Some(name) = &arguments.name {
            return Ok(name.clone());
        }
        let package = self.package_name(arguments)?.replace('/', ".");
        Ok(format!("{}.{package}.{}", arguments.repository, arguments.workspace))
    }
}

struct Push<'a> {
    arguments: &'a PushArgs,
    printer: &'a Printer,
    server: &'a Server,
    name: String,
}

impl Push<'_> {
    /// Makes the draft if there is none, and gives it the package's files.
    async fn push(&self, package: &Package) -> Result<()> {
        let path = self.server.path("packagerevisions", &self.name, "")?;
        match self.server.ask("GET", &path, None).await {
            Ok(revision) => {
                let lifecycle = lifecycle(&revision);
                if lifecycle != "Draft" {
                    bail!(
                        "`{}` is `{lifecycle}`, and only drafts can be changed; push a new one with another `--workspace`",
                        self.name
                    );
                }
            }
            Err(refusal) if refusal.code() == 404 && self.arguments.resource_version.is_none() => {
                self.create(package).await?;
            }
            Err(refusal) => return Err(refusal).with_context(|| format!("cannot look at `{}`", self.name)),
        }
        self.update(package).await
    }

    async fn create(&self, package: &Package) -> Result<()> {
        let PushArgs { repository, workspace, .. } = self.arguments;
        let name = package.package_name(self.arguments)?;
        let new = json!({
            "apiVersion": "porch.kpt.dev/v1alpha1",
            "kind": "PackageRevision",
            "metadata": { "name": self.name, "namespace": self.server.namespace },
            "spec": { "packageName": name, "repository": repository, "workspaceName": workspace, "lifecycle": "Draft" },
        });
        let path = self.server.collection("packagerevisions");
        self.server.ask("POST", &path, Some(&new)).await.with_context(|| format!("cannot make `{}`", self.name))?;
        self.printer.line(&format!("made the draft `{}` in `{}`", self.name, self.server.namespace));
        Ok(())
    }

    /// Compares and sets. What the render of the files before these does meanwhile is no conflict, another client's write is:
    /// it moves the generation.
    async fn update(&self, package: &Package) -> Result<()> {
        let path = self.server.path("packagerevisionresources", &self.name, "")?;
        let cannot = || format!("cannot push to `{}`", self.name);
        let mut seen: Option<(i64, BTreeMap<String, String>)> = None;
        for _ in 0..ATTEMPTS {
            let mut resources = self.server.ask("GET", &path, None).await.with_context(cannot)?;
            let version = resource_version(&resources).to_owned();
            if let Some(expected) = self.arguments.resource_version.as_ref().filter(|expected| **expected != version) {
                bail!(
                    "conflict: `{}` has the resource version {version} and not {expected}: somebody changed it; look at it, \
                     then push with `--resource-version {version}`",
                    self.name
                );
            }
            let (now, there) = (generation(&resources), files(&resources));
            if let Some((_, before)) = seen.as_ref().filter(|(before, _)| *before != now) {
                let difference = difference(before, &there);
                let what = if difference.is_empty() { "no file" } else { &difference };
                bail!(
                    "conflict: somebody else changed `{}` meanwhile ({what}); look at it, then push again",
                    self.name
                );
            }
            let difference = difference(&there, &package.files);
            if difference.is_empty() {
                self.printer.line(&format!("`{}` has these files already", self.name));
                return Ok(());
            }
            resources["spec"]["resources"] = json!(package.files);
            match self.server.ask("PUT", &path, Some(&resources)).await {
                Ok(pushed) => {
                    let (count, version) = (package.files.len(), resource_version(&pushed).to_owned());
                    let files = if count == 1 { "file" } else { "files" };
                    self.printer.line(&format!(
                        "pushed {count} {files} ({difference}) to `{}`, resource version {version}",
                        self.name
                    ));
                    return Ok(());
                }
                Err(refusal) if refusal.code() == 409 => seen = Some((now, there)),
                Err(refusal) => return Err(refusal).with_context(cannot),
            }
        }
        bail!("`{}` changes all the time; push again when it has become quiet", self.name)
    }

    /// Waits until the newest content has been rendered. A write of files is answered when it stands there that they are not
    /// rendered yet.
    async fn rendered(&self) -> Result<(Finished, Value)> {
        let path = self.server.path("packagerevisions", &self.name, "")?;
        loop {
            let revision = self.server.ask("GET", &path, None).await.context("cannot wait for the render")?;
            if let Some(ended) = finished(&revision) {
                return Ok((ended, revision));
            }
            match self.changed(resource_version(&revision)).await {
                // Too old to be watched from, or the watch ended: looked at again.
                Ok(()) => {}
                Err(refusal) if refusal.code() == 410 => {}
                Err(refusal) => return Err(refusal).context("cannot wait for the render"),
            }
        }
    }

    /// Returns when the revision has changed since this version.
    async fn changed(&self, version: &str) -> Result<(), Refusal> {
        let collection = self.server.collection("packagerevisions");
        let path =
            format!("{collection}?watch=true&fieldSelector=metadata.name%3D{}&resourceVersion={version}", self.name);
        let mut body = self.server.stream(&path).await?.into_body();
        // Whatever comes is a change, or the end of the watch: both are worth a look.
        let _ = http_body_util::BodyExt::frame(&mut body).await;
        Ok(())
    }

    /// Says how the render ended, with the step that failed.
    async fn ended(&self, ended: &Finished) -> Result<()> {
        let log = self.server.path("packagerevisions", &self.name, "log")?;
        let record = self.server.ask("GET", &format!("{log}?format=json"), None).await.ok();
        if ended.rendered {
            let told = record.as_ref().map(|record| {
                let steps = record["steps"].as_array().map_or(0, Vec::len);
                let took = std::time::Duration::from_micros(record["elapsedMicroseconds"].as_u64().unwrap_or_default());
                format!(": {steps} {} in {took:.1?}", if steps == 1 { "step" } else { "steps" })
            });
            self.printer.tagged("PASS", &format!("`{}` is rendered{}", self.name, told.unwrap_or_default()));
            return Ok(());
        }
        self.printer.tagged("FAIL", &format!("`{}` was not rendered ({})", self.name, ended.reason));
        self.printer.error(&format!("error: {}", ended.message));
        let failed = record
            .as_ref()
            .and_then(|record| record["steps"].as_array()?.iter().find(|step| step["state"] == "Failed"));
        for line in failed.map(step_lines).unwrap_or_default() {
            self.printer.error(&line);
        }
        let namespace = &self.server.namespace;
        self.printer.line(&format!("the whole log: portico logs {} -n {namespace}", self.name));
        Ok(())
    }

    async fn propose(&self, revision: &Value) -> Result<()> {
        let path = self.server.path("packagerevisions", &self.name, "")?;
        // The version says that it is still the content that was rendered.
        let patch = json!({
            "metadata": { "resourceVersion": resource_version(revision) },
            "spec": { "lifecycle": "Proposed" },
        });
        self.server
            .ask("PATCH", &path, Some(&patch))
            .await
            .with_context(|| format!("cannot propose `{}`", self.name))?;
        self.printer.line(&format!("proposed `{}`", self.name));
        Ok(())
    }
}

/// What a failed step says for itself.
fn step_lines(step: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let function = if step["image"].is_string() { text(&step["image"]) } else { text(&step["exec"]) };
    let mut lines = vec![format!("  step {} of package {}: {function}", step["number"], text(&step["packageName"]))];
    for result in step["results"].as_array().into_iter().flatten() {
        let severity = result["severity"].as_str().unwrap_or("info");
        let file = result["file"]["path"].as_str().map(|path| format!("{path}: ")).unwrap_or_default();
        lines.push(format!("  [{severity}] {file}{}", text(&result["message"])));
    }
    lines.extend(text(&step["stderr"]).lines().map(|line| format!("  stderr: {line}")));
    lines
}
