//! One function call without the running: the bytes that go in, and what is made of those that come out.

use std::collections::HashSet;

use portico_krm::annotations::mirror;
use portico_krm::paths::output_path;
use portico_krm::yaml::ParseLimits;
use portico_krm::{FunctionResult, Resource, ResourceList, reconcile};

use super::checks::{self, Problem};
use super::list::{Item, Source, join, split};
use super::paths;
use super::runner::FunctionOutput;
use super::select::place_of;
use crate::limits::LimitName;
use crate::report::Cause;

/// What a step needs to know of its surroundings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// Absolute directory of the package whose pipeline runs.
    pub(crate) package_path: &'a str,
    /// Directory of generated files that name none: of the functionConfig.
    pub(crate) default_dir: &'a str,
    /// How messages name the function.
    pub(crate) function: &'a str,
    /// `step 2 of package "app"`.
    pub(crate) place: &'a str,
    /// A mutator's answer counts; a validator's is only checked.
    pub(crate) mutator: bool,
    /// Comments come back as kpt does it, or in the way that loses nothing.
    pub(crate) kpt_style: bool,
    /// What an answer's text may hold.
    pub(crate) yaml: &'a ParseLimits,
    /// How many resources an answer may hold: what the render may, without those that the function did not get.
    pub(crate) room: u64,
    /// The limit that this comes from.
    pub(crate) resources: u64,
}

/// Why an answer was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The function itself failed.
    Exit,
    /// Its answer is not what it has to be.
    Output {
        /// The whole story.
        message: String,
        /// kpt's words, where they differ.
        kpt: Option<String>,
        /// There was no answer to check: the function has an item in `results.yaml`, as in kpt.
        recorded: bool,
        /// Of which kind it is.
        cause: Cause,
    },
}

/// The functionConfig of a call.
#[derive(Debug)]
pub(crate) enum Config {
    None,
    /// Made from `configMap`, or read from the file because no resource in the list stands for it.
    Own(Resource),
    /// The live resource at this place of the chosen ones: it goes out with the annotations of an item.
    Chosen(usize),
}

/// The bytes of a call, and what was sent with them.
pub(crate) type Input = (Vec<u8>, Sent);

/// What is known of a call's input when its bytes are gone.
#[derive(Debug)]
pub(crate) struct Sent {
    /// What the marks need to be undone.
    before: mirror::Before,
    function_config: Option<Resource>,
    length: usize,
    checksum: u32,
}

/// What a function made of its input.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Nothing: it wrote the bytes that it got. The chosen resources are the answer, without their marks.
    Same,
    Items(Vec<Item>),
}

/// Bytes of an answer in which a message looks for a line to show.
const EXCERPT: usize = 1024;

/// Room that the marks of a call take in a tree: nodes, and bytes of text.
const MARKS: (usize, usize) = (8, 192);

/// Marks the resources for a call and writes the `ResourceList`.
pub(crate) fn write_input(
    chosen: Vec<Item>,
    config: Config,
    scope: &Scope<'_>,
) -> (Vec<Item>, Result<Input, mirror::MirrorError>) {
    let (mut resources, sources) = split(chosen);
    for resource in &mut resources {
        resource.tree.reserve(MARKS.0, MARKS.1);
    }
    let before = if scope.mutator { mirror::prepare(&mut resources) } else { Ok(mirror::Before::default()) };
    let before = match before {
        Ok(before) => before,
        Err(error) => return (join(resources, &sources), Err(error)),
    };
    for (place, resource) in resources.iter_mut().enumerate() {
        resource.set_id(&(place + 1).to_string());
    }
    let function_config = match config {
        Config::None => None,
        Config::Own(resource) => Some(resource),
        Config::Chosen(place) => resources.get(place).cloned(),
    };
    let list = ResourceList { items: resources, function_config, results: Vec::new() };
    let bytes = list.to_yaml().into_bytes();
    let (length, checksum) = (bytes.len(), crc32fast::hash(&bytes));
    let ResourceList { items, function_config, .. } = list;
    (join(items, &sources), Ok((bytes, Sent { before, function_config, length, checksum })))
}

/// True when the function wrote exactly what it got. Length and checksum tell nearly always that it did not; where they
/// agree the input, which was given away to save its memory, is written once more.
fn is_same(stdout: &[u8], chosen: &mut Vec<Item>, sent: &mut Sent) -> bool {
    if stdout.len() != sent.length || crc32fast::hash(stdout) != sent.checksum {
        return false;
    }
    let (items, sources) = split(std::mem::take(chosen));
    let list = ResourceList { items, function_config: sent.function_config.take(), results: Vec::new() };
    let same = list.to_yaml().as_bytes() == stdout;
    *chosen = join(list.items, &sources);
    same
}

/// Takes the marks of a call off again.
pub(crate) fn clear_marks(items: &mut [Item]) {
    use portico_krm::annotations::{KPT_RESOURCE_ID, MIGRATION_ID};
    for item in items {
        item.resource.clear_id();
        item.resource.remove_annotation(MIGRATION_ID);
        item.resource.remove_annotation(KPT_RESOURCE_ID);
    }
}

/// Reads and checks what a function wrote. The results come back from a failed function too.
pub(crate) fn read_output(
    output: &mut FunctionOutput,
    chosen: &mut Vec<Item>,
    mut sent: Sent,
    scope: &Scope<'_>,
) -> (Vec<FunctionResult>, Result<Answer, Refusal>) {
    let stdout = std::mem::take(&mut output.stdout);
    if output.exit_code != 0 {
        // The exit code tells what happened; an answer that cannot be read adds nothing to it.
        let results = ResourceList::parse_output(&stdout, scope.yaml).map(|list| list.results);
        return (results.unwrap_or_default(), Err(Refusal::Exit));
    }
    if stdout.iter().all(u8::is_ascii_whitespace) {
        let message = format!(
            "function \"{}\" ({}) wrote no ResourceList: its output is empty although it exited with code 0; to delete \
             all resources a function writes `items: []`{}",
            scope.function,
            scope.place,
            stderr_of(output)
        );
        return (Vec::new(), Err(Refusal::Output { message, kpt: None, recorded: true, cause: Cause::BadOutput }));
    }
    // kpt's style is what kpt's reader and writer leave of every resource, the unchanged ones included.
    if !scope.kpt_style && is_same(&stdout, chosen, &mut sent) {
        drop(stdout);
        for item in chosen.iter_mut() {
            item.resource.clear_id();
        }
        let checked = check(chosen, None, &sent.before, scope).map_err(|refused| refused.told(scope));
        return (Vec::new(), checked.map(|()| Answer::Same));
    }
    let start = stdout[..stdout.len().min(EXCERPT)].to_vec();
    let list = match ResourceList::parse_output(stdout, scope.yaml) {
        Ok(list) => list,
        Err(error) => {
            let kpt = Some(error.kpt_text());
            let message = format!(
                "function \"{}\" ({}) wrote something that is no ResourceList: {error}{}{}",
                scope.function,
                scope.place,
                if error.position.is_some_and(|at| at.line == 1) { String::new() } else { excerpt(&start) },
                stderr_of(output)
            );
            return (Vec::new(), Err(Refusal::Output { message, kpt, recorded: true, cause: Cause::BadOutput }));
        }
    };
    let results = list.results;
    if list.items.len() as u64 > scope.room {
        let message = format!(
            "function \"{}\" ({}) wrote {} resources: with those that it did not get, the render would hold more than \
             the limit `resources` of {}",
            scope.function,
            scope.place,
            list.items.len(),
            scope.resources
        );
        return (
            results,
            Err(Refusal::Output { message, kpt: None, recorded: false, cause: Cause::Limit(LimitName::Resources) }),
        );
    }
    let mut items = adopt(list.items, chosen, scope);
    match check(&mut items, Some(chosen), &sent.before, scope) {
        Ok(()) => (results, Ok(Answer::Items(items))),
        Err(refused) => (results, Err(refused.told(scope))),
    }
}

/// Finds for each resource of an answer the one it was, by its id; comments and key order come back from there.
fn adopt(resources: Vec<Resource>, input: &[Item], scope: &Scope<'_>) -> Vec<Item> {
    let mut items = Vec::with_capacity(resources.len());
    for mut resource in resources {
        let origin = resource.id().and_then(place_of).and_then(|id| input.get(id.checked_sub(1)?));
        let mut source: Option<Source> = None;
        if let Some(origin) = origin {
            if scope.kpt_style {
                reconcile::copy_comments_as_kpt(&origin.resource.tree, &mut resource.tree);
                reconcile::sync_order_as_kpt(&origin.resource.tree, &mut resource.tree);
            } else {
                reconcile::copy_comments(&origin.resource.tree, &mut resource.tree);
                reconcile::sync_order(&origin.resource.tree, &mut resource.tree);
            }
            resource.clear_id();
            source = origin.source;
        }
        items.push(Item { resource, source });
    }
    items
}

struct Refused {
    message: String,
    kpt: String,
}

impl Refused {
    fn told(self, scope: &Scope<'_>) -> Refusal {
        let message = format!("function \"{}\" ({}): {}", scope.function, scope.place, self.message);
        Refusal::Output { message, kpt: Some(self.kpt), recorded: false, cause: Cause::BadOutput }
    }
}

impl From<String> for Refused {
    fn from(text: String) -> Refused {
        Refused { message: text.clone(), kpt: text }
    }
}

/// Checks an answer; `input` is what it was made of, where that is not the same.
fn check(
    items: &mut Vec<Item>,
    input: Option<&[Item]>,
    before: &mirror::Before,
    scope: &Scope<'_>,
) -> Result<(), Refused> {
    if scope.mutator && !items.is_empty() {
        let (mut resources, sources) = split(std::mem::take(items));
        let reconciled = mirror::reconcile(&mut resources, before);
        *items = join(resources, &sources);
        reconciled.map_err(|error| error.to_string())?;
    }
    for item in items.iter_mut() {
        paths::set_defaults(&mut item.resource, scope);
    }
    check_paths(items, scope)?;
    let problems: Vec<Problem> = items.iter().filter_map(|item| checks::krm_problem(&item.resource)).collect();
    if let Some(first) = problems.first() {
        const START: &str = "output resource list must contain only KRM resources: ";
        let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
        return Err(Refused { message: format!("{START}{}", all.join("; ")), kpt: format!("{START}{first}") });
    }
    let declares = |item: &Item| paths::is_kptfile_of(&item.resource, scope.package_path);
    let declared = input.is_some_and(|input| input.iter().any(declares));
    if scope.mutator && declared && !items.iter().any(declares) {
        return Err(
            "the Kptfile that declares the pipeline is missing from the output; a function must not remove or \
                    rename it"
                .to_owned()
                .into(),
        );
    }
    Ok(())
}

/// Paths stay inside the package; no two resources claim one place in a file.
fn check_paths(items: &[Item], scope: &Scope<'_>) -> Result<(), Refused> {
    let mut places = HashSet::with_capacity(items.len());
    for item in items {
        let resource = &item.resource;
        let clean = output_path(resource.path().unwrap_or_default()).map_err(|error| error.to_string())?;
        crate::package::check_path(&clean).map_err(|error| error.to_string())?;
        if clean == "Kptfile" && item.source.is_none() && resource.kind() != "Kptfile" {
            let name = resource.short();
            return Err(format!("function must not put other resources into a Kptfile: {name} has path {clean}").into());
        }
        let package = resource.package_path().unwrap_or(scope.package_path);
        let index = resource.index().unwrap_or_default();
        if !places.insert((package, clean.clone(), index)) {
            return Err(format!("resource at path \"{clean}\" and index \"{index}\" already exists").into());
        }
    }
    Ok(())
}

/// The first line that a function wrote, shown in full up to a bound.
fn excerpt(start: &[u8]) -> String {
    let text = String::from_utf8_lossy(start);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let shown: String = line.chars().take(200).collect();
    let more = if shown.len() < line.len() { "..." } else { "" };
    format!("\nits output begins with: {shown}{more}")
}

fn stderr_of(output: &FunctionOutput) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let text = text.trim_end();
    if text.is_empty() { String::new() } else { format!("\nits stderr: {text}") }
}
