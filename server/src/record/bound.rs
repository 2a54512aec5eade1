//! Bounds of records: the middle of long texts and lists goes, and is counted.

use std::borrow::Cow;

use bytes::Bytes;

use super::limits::RecordLimits;
use super::model::{Finding, Record, RecordChanges, RecordStep, StepOutcome};

/// Bytes of a name: of a package, an image, a command, a condition.
pub(super) const NAME_BYTES: usize = 1 << 10;

/// Tags of a result.
const TAGS: usize = 64;

/// How often everything is halved before whole steps go.
pub(super) const HALVINGS: u32 = 10;

/// How much more of a failed step is kept than of others, in halvings.
const FAILED: u32 = 3;

/// The head and the tail of a text of more than `bytes`, with the number of bytes between.
pub(super) fn cut(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    // Room for the note between the two, whatever the number.
    let each = bytes.saturating_sub(48) / 2;
    let head = text.floor_char_boundary(each);
    let tail = text.ceil_char_boundary(text.len() - each);
    let middle = &text[head..tail];
    let left_out = (middle.len() as u64).saturating_add(noted(middle));
    Cow::Owned(format!("{}\n[{left_out} bytes left out]\n{}", &text[..head], &text[tail..]))
}

/// What an earlier cut says in this text.
fn noted(text: &str) -> u64 {
    let Some((before, _)) = text.split_once(" bytes left out]\n") else { return 0 };
    before.rsplit_once("\n[").and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}

/// [`cut`] in place.
pub(super) fn cut_in_place(text: &mut String, bytes: usize) {
    if let Cow::Owned(short) = cut(text, bytes) {
        *text = short;
    }
}

/// Makes a record fit and gives it as JSON. The record itself is cut, too.
pub(super) fn fit(record: &mut Record, limits: &RecordLimits) -> Bytes {
    for halvings in 0..=HALVINGS {
        shrink(record, limits, halvings);
        let (bytes, items) = halved(limits, halvings);
        cut_in_place(&mut record.message, bytes.max(NAME_BYTES));
        if record.warnings.len() > items {
            record.warnings.drain(items / 2..record.warnings.len() - items / 2);
        }
        for warning in &mut record.warnings {
            cut_in_place(&mut warning.message, bytes);
        }
        let json = to_json(record);
        if json.len() <= limits.record_bytes {
            return json;
        }
    }
    // Steps whose texts are as good as gone and that are still too many.
    let mut kept = record.steps.len();
    loop {
        kept /= 2;
        thin(record, kept);
        let json = to_json(record);
        if json.len() <= limits.record_bytes || kept == 0 {
            return json;
        }
    }
}

/// Cuts texts and lists of all steps to what is left of their bounds after so many halvings.
pub(super) fn shrink(record: &mut Record, limits: &RecordLimits, halvings: u32) {
    for step in &mut record.steps {
        step.bound(limits, halvings);
    }
}

/// Bytes of a text and items of a list after so many halvings.
fn halved(limits: &RecordLimits, halvings: u32) -> (usize, usize) {
    ((limits.text_bytes >> halvings).max(64), (limits.items >> halvings).max(2))
}

/// Leaves the first and the last of so many steps, and those that failed.
fn thin(record: &mut Record, kept: usize) {
    let length = record.steps.len();
    let mut place = 0;
    record.steps.retain(|step| {
        let keep = place < kept.div_ceil(2) || place >= length - kept / 2 || step.state == StepOutcome::Failed;
        place += 1;
        keep
    });
    record.steps_left_out += length - record.steps.len();
    if kept == 0 {
        record.warnings.clear();
    }
}

fn to_json(record: &Record) -> Bytes {
    // Strings, numbers and lists of them: there is nothing that JSON can't say.
    serde_json::to_vec(record).unwrap_or_default().into()
}

impl RecordStep {
    /// Cuts what is long of the step, after so many halvings.
    pub(super) fn bound(&mut self, limits: &RecordLimits, halvings: u32) {
        let failed = self.state == StepOutcome::Failed;
        let (bytes, items) = halved(limits, halvings.saturating_sub(if failed { FAILED } else { 0 }));
        let names = [&mut self.package, &mut self.package_name, &mut self.name, &mut self.image, &mut self.exec];
        for name in names {
            cut_in_place(name, NAME_BYTES);
        }
        cut_in_place(&mut self.condition, bytes.min(NAME_BYTES));
        cut_in_place(&mut self.error, bytes);
        cut_in_place(&mut self.stderr, bytes);
        if self.results.len() > items {
            self.results_left_out += self.results.len() - items;
            self.results.truncate(items);
        }
        if let Some(changes) = &mut self.changes {
            changes.bound(bytes, items);
        }
        // All results together are one text.
        let each = (bytes / self.results.len().max(1)).max(64);
        for result in &mut self.results {
            result.bound(each);
        }
    }

    /// Bytes that it takes, about.
    pub(super) fn size(&self) -> usize {
        let texts = [
            &self.package,
            &self.package_name,
            &self.name,
            &self.image,
            &self.exec,
            &self.condition,
            &self.error,
            &self.stderr,
        ];
        let texts: usize = texts.iter().map(|text| text.len()).sum();
        let changes = self.changes.as_ref().map_or(0, RecordChanges::size);
        600 + texts + changes + self.results.iter().map(Finding::size).sum::<usize>()
    }
}

impl RecordChanges {
    /// All differences together are one text.
    fn bound(&mut self, bytes: usize, items: usize) {
        if self.resources.len() > items {
            self.left_out += self.resources.len() - items;
            self.resources.truncate(items);
        }
        let each = (bytes / self.resources.len().max(1)).max(64);
        for change in &mut self.resources {
            cut_in_place(&mut change.diff, each);
            for name in [&mut change.resource, &mut change.path].into_iter().chain(&mut change.old_path) {
                cut_in_place(name, bytes.min(NAME_BYTES));
            }
        }
    }

    fn size(&self) -> usize {
        self.resources.iter().map(|change| 100 + change.resource.len() + change.path.len() + change.diff.len()).sum()
    }
}

impl Finding {
    fn texts(&mut self) -> impl Iterator<Item = &mut String> {
        let of = self.resource_ref.iter_mut();
        let of = of.flat_map(|of| [&mut of.api_version, &mut of.kind, &mut of.name, &mut of.namespace]);
        let field = self.field.iter_mut().flat_map(|field| {
            [Some(&mut field.path), field.current_value.as_mut(), field.proposed_value.as_mut()].into_iter().flatten()
        });
        let rest = self.severity.iter_mut().chain(self.file.iter_mut().map(|file| &mut file.path));
        of.chain(field).chain(rest).chain(self.tags.values_mut())
    }

    fn bound(&mut self, bytes: usize) {
        cut_in_place(&mut self.message, bytes);
        let mut tags = 0;
        self.tags.retain(|name, _| {
            tags += 1;
            tags <= TAGS && name.len() <= NAME_BYTES
        });
        for text in self.texts() {
            cut_in_place(text, bytes.min(NAME_BYTES));
        }
    }

    fn size(&self) -> usize {
        let tags: usize = self.tags.iter().map(|(name, value)| name.len() + value.len() + 8).sum();
        let field = self.field.as_ref().map_or(0, |field| {
            let values = [&field.current_value, &field.proposed_value];
            field.path.len() + values.into_iter().flatten().map(String::len).sum::<usize>()
        });
        200 + self.message.len() + tags + field
    }
}
