//! What a step changed, for people: which resources came, went and are others now, with the difference of their YAML.
//!
//! Only for those who ask for it ([`RenderOptions::changes`](crate::RenderOptions::changes)): it costs a comparison of every
//! resource that a function got. Values of secrets never get into it: [`redact`] takes them out before anything is compared
//! line by line.

mod redact;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use portico_krm::Resource;
use portico_krm::yaml::{EmitOptions, emit_document, value_eq};
use serde::{Deserialize, Serialize};

use crate::pipeline::{Item, Source};

/// How what a step changed is told. The bounds are on what is told, not on what functions may do: beyond them less is shown,
/// and it is said that there is more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeOptions {
    /// Kinds whose values are not to be shown, besides `Secret`. Of their objects only `apiVersion`, `kind`, `metadata`,
    /// `type` and `immutable` are shown, and the names of all other fields.
    pub hidden: Vec<HiddenKind>,

    /// Resources of a step that are told by name.
    ///
    /// - Problem: a function that changes every resource of a large package.
    /// - Mechanism: further ones are counted.
    /// - Default: 200.
    /// - Does not stop: the comparison itself, whose time is that of reading the resources.
    /// - Tested by `render_tests/changes.rs`.
    pub resources: usize,

    /// Bytes of the differences of one resource; of all resources of a step four times as much.
    ///
    /// - Problem: differences are as long as what is compared.
    /// - Mechanism: the middle of a longer one is left out, with the number of its bytes.
    /// - Default: 16 KiB.
    /// - Does not stop: steps with that much each; whoever keeps them has bounds of its own.
    /// - Tested by `render_tests/changes.rs`.
    pub diff_bytes: usize,

    /// Bytes of a resource that is compared line by line.
    ///
    /// - Problem: the time that it takes grows faster than the text.
    /// - Mechanism: of a larger one it is told that it changed, and no more.
    /// - Default: 256 KiB.
    /// - Does not stop: many resources of that size; `time` does.
    /// - Tested by `render_tests/changes.rs`.
    pub text_bytes: usize,

    /// Time for the line-by-line comparisons of one step. What is left then is compared roughly: whole regions are shown as
    /// taken out and put in.
    ///
    /// - Problem: texts that are made so that comparing them takes long; a render is to stop soon when it is cancelled.
    /// - Mechanism: the comparison looks at the clock.
    /// - Default: 50 ms.
    /// - Does not stop: writing the texts down, whose time is that of their size.
    /// - Tested by `render_tests/changes.rs`.
    pub time: Duration,
}

impl Default for ChangeOptions {
    fn default() -> Self {
        Self {
            hidden: Vec::new(),
            resources: 200,
            diff_bytes: 16 << 10,
            text_bytes: 256 << 10,
            time: Duration::from_millis(50),
        }
    }
}

/// A kind of objects whose values are not to be shown, in any version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HiddenKind {
    /// The API group; empty for the core.
    pub group: String,
    /// The kind.
    pub kind: String,
}

/// What a step changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepChanges {
    /// Resource by resource: those that changed or came in the order of the output, then those that went.
    pub resources: Vec<ResourceChange>,
    /// How many more there are.
    pub left_out: usize,
}

/// What became of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It is another one now.
    Changed,
}

/// A resource that a step changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceChange {
    /// What became of it.
    pub kind: ChangeKind,
    /// `apps/v1/Deployment/ns/name` without the parts that are empty: as it is now, or was when it went.
    pub resource: String,
    /// Its file, relative to its package; empty where the function named none.
    pub path: String,
    /// The file that it was in before, where that was another one.
    pub old_path: Option<String>,
    /// The difference of its YAML as unified diff, without file names.
    pub diff: String,
}

/// What became of the resources that a function got.
pub(crate) fn changes(before: &[Item], after: &[Item], options: &ChangeOptions) -> StepChanges {
    let origins = pair(before, after);
    let mut gone = vec![true; before.len()];
    let mut told = Teller { options, changes: StepChanges::default(), deadline: Instant::now() + options.time };
    for (item, origin) in after.iter().zip(&origins) {
        let old = origin.map(|place| {
            gone[place] = false;
            &before[place].resource
        });
        match old {
            Some(old) if same(old, &item.resource) => {}
            old => told.tell(old, Some(&item.resource)),
        }
    }
    for (item, _) in before.iter().zip(gone).filter(|(_, gone)| *gone) {
        told.tell(Some(&item.resource), None);
    }
    let each = (4 * options.diff_bytes / told.changes.resources.len().max(1)).min(options.diff_bytes);
    for change in &mut told.changes.resources {
        shorten(&mut change.diff, each);
    }
    told.changes
}

/// For each resource of an answer the one that it was: by where it was read from, else by what it is called, else by its
/// place.
fn pair(before: &[Item], after: &[Item]) -> Vec<Option<usize>> {
    let mut free = vec![true; before.len()];
    let mut origins = vec![None; after.len()];
    let by_source: HashMap<Source, usize> =
        before.iter().enumerate().filter_map(|(place, item)| Some((item.source?, place))).collect();
    let mut take = |origin: &mut Option<usize>, place: Option<&usize>| {
        if let Some(&place) = place.filter(|&&place| free[place]) {
            free[place] = false;
            *origin = Some(place);
        }
    };
    for (item, origin) in after.iter().zip(&mut origins) {
        take(origin, item.source.and_then(|source| by_source.get(&source)));
    }
    let by_name: HashMap<_, usize> = before.iter().enumerate().map(|(at, item)| (called(&item.resource), at)).collect();
    for (item, origin) in after.iter().zip(&mut origins).filter(|(_, origin)| origin.is_none()) {
        take(origin, by_name.get(&called(&item.resource)));
    }
    let by_place: HashMap<_, usize> =
        before.iter().enumerate().filter_map(|(at, item)| Some((placed(&item.resource)?, at))).collect();
    for (item, origin) in after.iter().zip(&mut origins).filter(|(_, origin)| origin.is_none()) {
        take(origin, placed(&item.resource).and_then(|place| by_place.get(&place)));
    }
    origins
}

fn called(resource: &Resource) -> (&str, &str, &str, &str) {
    (resource.group(), resource.kind(), resource.namespace(), resource.name())
}

/// Package, file and place in the file; one kind does not become another.
fn placed(resource: &Resource) -> Option<(&str, &str, &str, &str)> {
    let package = resource.package_path().unwrap_or_default();
    Some((package, resource.path()?, resource.index().unwrap_or_default(), resource.kind()))
}

/// Whether nothing was touched: annotations of the way between host and function count here.
fn same(a: &Resource, b: &Resource) -> bool {
    value_eq(&a.tree, a.root(), &b.tree, b.root())
}

struct Teller<'a> {
    options: &'a ChangeOptions,
    changes: StepChanges,
    deadline: Instant,
}

impl Teller<'_> {
    fn tell(&mut self, old: Option<&Resource>, new: Option<&Resource>) {
        let kind = match (old, new) {
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Removed,
            _ => ChangeKind::Changed,
        };
        let path = |resource: &Resource| resource.path().unwrap_or_default().to_owned();
        let old_path = old.filter(|_| new.is_some()).map(path);
        let Some(shown) = new.or(old) else { return };
        let (resource, path) = (shown.short(), path(shown));
        let old_path = old_path.filter(|old| *old != path);
        let (mut old, mut new) = (old.cloned(), new.cloned());
        for resource in old.iter_mut().chain(&mut new) {
            resource.strip_internal();
        }
        if self.changes.resources.len() >= self.options.resources {
            let is_same = old.as_ref().zip(new.as_ref()).is_some_and(|(old, new)| same(old, new));
            self.changes.left_out += usize::from(!is_same || old_path.is_some());
            return;
        }
        redact::redact(old.as_mut(), new.as_mut(), &self.options.hidden);
        let (old_text, new_text) = (text(old.as_ref()), text(new.as_ref()));
        if old_text == new_text && old_path.is_none() && kind == ChangeKind::Changed {
            return;
        }
        let diff = self.diff(&old_text, &new_text);
        self.changes.resources.push(ResourceChange { kind, resource, path, old_path, diff });
    }

    fn diff(&self, old: &str, new: &str) -> String {
        let most = old.len().max(new.len());
        if most > self.options.text_bytes {
            return format!("[too large to be compared: {most} bytes]\n");
        }
        let diff = similar::TextDiff::configure().deadline(self.deadline).diff_lines(old, new);
        let mut text = diff.unified_diff().context_radius(3).to_string();
        shorten(&mut text, self.options.diff_bytes);
        text
    }
}

fn text(resource: Option<&Resource>) -> String {
    let mut text = String::new();
    if let Some(resource) = resource {
        emit_document(&resource.tree, &EmitOptions { sequences: resource.seq_style() }, &mut text);
    }
    text
}

/// Leaves the middle of a text out, whole lines where there are any. Cut twice, the number is that of the second time.
fn shorten(text: &mut String, bytes: usize) {
    if text.len() <= bytes {
        return;
    }
    let each = bytes.saturating_sub(48) / 2;
    let head = &text[..text.floor_char_boundary(each)];
    let head = head.rfind('\n').map_or(head, |end| &head[..=end]);
    let tail = &text[text.ceil_char_boundary(text.len() - each)..];
    let tail = tail.find('\n').map_or(tail, |end| &tail[end + 1..]);
    let left_out = text.len() - head.len() - tail.len();
    let line = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    *text = format!("{head}{line}[{left_out} bytes left out]\n{tail}");
}
