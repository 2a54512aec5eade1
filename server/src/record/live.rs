//! The record of one render while it runs.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use portico_runtime::{Event, StepKind, StepReport, StepState};
use portico_scheduler::model::RevisionKey;
use serde_json::json;
use tokio::sync::watch;

use super::bound::{HALVINGS, NAME_BYTES, cut, fit, shrink};
use super::limits::RecordLimits;
use super::model::{Record, RecordOutcome, RecordStep, RecordWarning, RenderId, StepOutcome};
use super::text;
use super::time::{micros, now_ms, rfc3339};

/// A render's record, and how far it has come. Readers get parts of it as they ask; nothing is kept for each.
#[derive(Debug)]
pub struct Live {
    id: RenderId,
    key: RevisionKey,
    began: Instant,
    limits: RecordLimits,
    state: Mutex<State>,
    /// How many entries there are; readers wait for more.
    told: watch::Sender<usize>,
}

#[derive(Debug)]
struct State {
    record: Record,
    /// What happened, in order.
    entries: Vec<Entry>,
    /// The steps that were told since the render began, or began anew.
    seen: HashSet<(String, StepKind, usize)>,
    /// Where the step stands in the record that runs now.
    running: Option<usize>,
    /// Bytes of the record's steps, about.
    size: usize,
    /// How often the bounds of texts have been halved to keep it small.
    halvings: u32,
    /// Bytes of warnings.
    warned: usize,
    /// The whole record, when the render has ended.
    json: Option<Bytes>,
}

/// Something that happened; the record has the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Began,
    StepBegan(usize),
    StepEnded(usize),
    Warned(usize),
    Ended,
}

/// Longest warning, in bytes.
const WARNING_BYTES: usize = 4 << 10;

/// How a reader wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Text for people.
    Text,
    /// A JSON object a line.
    Json,
}

impl Live {
    pub(super) fn new(key: &RevisionKey, content_version: u64, limits: RecordLimits) -> Self {
        let id = RenderId::random();
        let record = Record::new(id.clone(), key, content_version, now_ms());
        let state = State {
            record,
            size: 0,
            halvings: 0,
            warned: 0,
            entries: vec![Entry::Began],
            seen: HashSet::new(),
            running: None,
            json: None,
        };
        Self {
            id,
            key: key.clone(),
            began: Instant::now(),
            limits,
            state: Mutex::new(state),
            told: watch::Sender::new(1),
        }
    }

    /// One that has ended already, to be read as if it had been followed.
    pub(super) fn ended(record: Record, limits: RecordLimits) -> Self {
        let mut entries = vec![Entry::Began];
        let mut warnings = record.warnings.iter().enumerate().peekable();
        for (place, step) in record.steps.iter().enumerate() {
            while let Some((warning, _)) = warnings.next_if(|(_, warning)| warning.after_steps <= place) {
                entries.push(Entry::Warned(warning));
            }
            if step.start_microseconds.is_some() {
                entries.push(Entry::StepBegan(place));
            }
            entries.push(Entry::StepEnded(place));
        }
        entries.extend(warnings.map(|(warning, _)| Entry::Warned(warning)));
        entries.push(Entry::Ended);
        let told = watch::Sender::new(entries.len());
        let key = RevisionKey {
            namespace: Arc::clone(&record.namespace),
            name: Arc::clone(&record.name),
            uid: Arc::clone(&record.uid),
        };
        let (id, seen, json) = (record.render.clone(), HashSet::new(), Some(Bytes::new()));
        let state = Mutex::new(State { record, entries, seen, running: None, size: 0, halvings: 0, warned: 0, json });
        Self { id, key, began: Instant::now(), limits, state, told }
    }

    /// The render's id.
    pub fn id(&self) -> &RenderId {
        &self.id
    }

    /// Of what.
    pub fn key(&self) -> &RevisionKey {
        &self.key
    }

    /// The record as it is now.
    pub fn record(&self) -> Record {
        let state = self.lock();
        let mut record = state.record.clone();
        if record.outcome == RecordOutcome::Running {
            record.elapsed_microseconds = micros(self.began.elapsed());
        }
        record
    }

    /// How long it has been running, and the function that runs now.
    pub fn progress(&self) -> (Duration, Option<String>) {
        let state = self.lock();
        let function =
            state.running.and_then(|place| state.record.steps.get(place)).map(|step| step.function().to_owned());
        (self.began.elapsed(), function)
    }

    /// The whole record as JSON; `None` while the render runs.
    pub fn json(&self) -> Option<Bytes> {
        self.lock().json.clone()
    }

    /// Tells how many entries there are.
    pub(super) fn subscribe(&self) -> watch::Receiver<usize> {
        self.told.subscribe()
    }

    /// Bytes that it takes in memory, about.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        let state = self.lock();
        let warnings: usize = state.record.warnings.iter().map(|warning| warning.message.len()).sum();
        state.record.steps.iter().map(RecordStep::size).sum::<usize>() + warnings
    }

    /// The content version that it is of.
    pub(super) fn content_version(&self) -> u64 {
        self.lock().record.content_version
    }

    /// What happened from the entry `from` on, at most `most` bytes and at least one entry of it; where to go on, and
    /// whether that is the end.
    pub(super) fn read(&self, from: usize, form: Form, most: usize) -> (String, usize, bool) {
        let state = self.lock();
        let mut out = String::new();
        let mut next = from;
        for entry in state.entries.iter().skip(from) {
            if out.len() >= most {
                break;
            }
            match form {
                Form::Text => entry.text(&state.record, &mut out),
                Form::Json => entry.json(&state.record, &mut out),
            }
            next += 1;
        }
        (out, next, state.json.is_some() && next >= state.entries.len())
    }

    /// Something happened in the runtime.
    pub(super) fn event(&self, event: &Event<'_>) {
        match event {
            Event::StepStarted(step) => self.step_began(step),
            Event::StepPassed(step) | Event::StepFailed(step) => self.step_ended(step),
            Event::StepSkipped { step, condition } => {
                let mut taken = self.taken(step);
                taken.condition = cut(condition, NAME_BYTES).into_owned();
                self.see(step);
                self.add(&mut self.lock(), taken, false);
            }
            Event::Warning(text) => self.warn(text),
            // The steps name their packages. Events of later versions of the runtime are not known here.
            _ => {}
        }
    }

    /// Something to tell.
    pub(super) fn warn(&self, message: &str) {
        let mut state = self.lock();
        if state.record.warnings.len() > self.limits.items || state.warned > self.limits.record_bytes / 8 {
            return;
        }
        let message = cut(message, self.limits.text_bytes.min(WARNING_BYTES));
        state.warned += message.len();
        let full = state.record.warnings.len() == self.limits.items || state.warned > self.limits.record_bytes / 8;
        let message = if full { "further warnings are left out".to_owned() } else { message.into_owned() };
        let after_steps = state.record.steps.len();
        state.record.warnings.push(RecordWarning { after_steps, message });
        let place = state.record.warnings.len() - 1;
        self.tell(&mut state, Entry::Warned(place));
    }

    fn step_began(&self, report: &StepReport) {
        let mut step = self.taken(report);
        step.state = StepOutcome::Running;
        step.start_microseconds = Some(micros(self.began.elapsed()));
        self.see(report);
        self.add(&mut self.lock(), step, true);
    }

    /// Takes note that this step's turn has come.
    fn see(&self, report: &StepReport) {
        if self.lock().seen.insert(place_of(report)) {
            return;
        }
        // In isolation a process that died is replaced, and the render begins anew.
        self.interrupted();
        self.warn("the process that rendered it died; the render begins anew");
        let seen = &mut self.lock().seen;
        seen.clear();
        seen.insert(place_of(report));
    }

    fn step_ended(&self, report: &StepReport) {
        let mut step = self.taken(report);
        let mut state = self.lock();
        state.record.fuel = state.record.fuel.saturating_add(report.fuel);
        state.record.peak_memory_bytes = state.record.peak_memory_bytes.max(report.peak_memory);
        match state.running.take() {
            Some(place) => {
                step.start_microseconds = state.record.steps[place].start_microseconds;
                state.size += step.size();
                state.record.steps[place] = step;
                self.tell(&mut state, Entry::StepEnded(place));
            }
            // There are too many to list them all; this one matters.
            None if report.state == StepState::Failed => {
                // It was counted when it began.
                state.record.steps_left_out = state.record.steps_left_out.saturating_sub(1);
                state.size += step.size();
                state.record.steps.push(step);
                let place = state.record.steps.len() - 1;
                self.tell(&mut state, Entry::StepEnded(place));
            }
            None => {}
        }
        self.keep_small(&mut state);
    }

    /// The step that runs does not any more.
    fn interrupted(&self) {
        let mut state = self.lock();
        if let Some(place) = state.running.take() {
            let step = &mut state.record.steps[place];
            step.state = StepOutcome::Stopped;
            let ran = micros(self.began.elapsed()).saturating_sub(step.start_microseconds.unwrap_or_default());
            step.elapsed_microseconds = ran;
            self.tell(&mut state, Entry::StepEnded(place));
        }
    }

    /// The render has ended; `steps` are all that its plan had, where it came to an end of its own. Gives the record as JSON.
    pub(super) fn end(&self, outcome: RecordOutcome, message: &str, steps: &[StepReport]) -> Bytes {
        self.interrupted();
        if let Some(json) = self.json() {
            return json;
        }
        for report in steps {
            if self.lock().seen.insert(place_of(report)) {
                let step = self.taken(report);
                self.add(&mut self.lock(), step, false);
            }
        }
        let mut state = self.lock();
        let record = &mut state.record;
        record.outcome = outcome;
        record.message = cut(message, self.limits.text_bytes).into_owned();
        record.elapsed_microseconds = micros(self.began.elapsed());
        record.end_time = Some(rfc3339(now_ms()));
        let mut whole = record.clone();
        let json = fit(&mut whole, &self.limits);
        state.json = Some(json.clone());
        self.tell(&mut state, Entry::Ended);
        json
    }

    /// A step within its bounds.
    fn taken(&self, report: &StepReport) -> RecordStep {
        let mut step = RecordStep::of(report, self.limits.items);
        step.bound(&self.limits, self.lock().halvings);
        step
    }

    fn add(&self, state: &mut State, step: RecordStep, runs: bool) {
        if state.record.steps.len() >= self.limits.items && step.state != StepOutcome::Failed {
            state.record.steps_left_out += 1;
            return;
        }
        state.size += step.size();
        state.record.steps.push(step);
        let place = state.record.steps.len() - 1;
        if runs {
            state.running = Some(place);
            self.tell(state, Entry::StepBegan(place));
        } else {
            self.tell(state, Entry::StepEnded(place));
        }
        self.keep_small(state);
    }

    /// Cuts what is there when it has become twice as large as the whole may be in the end.
    fn keep_small(&self, state: &mut State) {
        while state.size > 2 * self.limits.record_bytes && state.halvings < HALVINGS {
            state.halvings += 1;
            shrink(&mut state.record, &self.limits, state.halvings);
            state.size = state.record.steps.iter().map(RecordStep::size).sum();
        }
    }

    fn tell(&self, state: &mut State, entry: Entry) {
        state.entries.push(entry);
        self.told.send_replace(state.entries.len());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // What panics under it leaves at worst an entry that is missing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn text(self, record: &Record, out: &mut String) {
        match self {
            Self::Began => text::began(out, record),
            Self::StepBegan(place) => text::step_began(out, &record.steps[place]),
            Self::StepEnded(place) => text::step_ended(out, &record.steps[place]),
            Self::Warned(place) => {
                // Those in the middle of very many are gone.
                if let Some(warning) = record.warnings.get(place) {
                    text::warned(out, warning);
                }
            }
            Self::Ended => text::ended(out, record),
        }
    }

    fn json(self, record: &Record, out: &mut String) {
        let head = || Record { steps: Vec::new(), warnings: Vec::new(), ..record.clone() };
        let value = match self {
            Self::Began => json!({ "type": "Began", "record": head() }),
            Self::StepBegan(place) => json!({ "type": "StepBegan", "index": place, "step": record.steps[place] }),
            Self::StepEnded(place) => json!({ "type": "StepEnded", "index": place, "step": record.steps[place] }),
            Self::Warned(place) => json!({ "type": "Warned", "warning": record.warnings.get(place) }),
            Self::Ended => json!({ "type": "Ended", "record": head() }),
        };
        out.push_str(&value.to_string());
        out.push('\n');
    }
}

fn place_of(report: &StepReport) -> (String, StepKind, usize) {
    (report.package.clone(), report.kind, report.index)
}
