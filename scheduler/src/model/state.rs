//! How a render stands, and the two conditions that say it.

use super::condition::{RENDER_FINISHED, RENDERED, bounded};
use super::{Condition, ConditionStatus, ContentDigest, Reason};

/// How the render of a content stands. The two conditions are written from it and nowhere else, so that they
/// can't contradict each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RenderState {
    /// Waits for a worker: `RenderFinished=False`, no `Rendered`.
    Scheduled,
    /// Waits for another try, for this reason in words: as [`RenderState::Scheduled`], with a message.
    Waiting(String),
    /// A worker has it: `RenderFinished=False`, no `Rendered`.
    Rendering,
    /// Has ended: `RenderFinished=True`, `Rendered=True|False`.
    Ended(Ending),
}

/// How a render ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Whether the package is rendered now: the status of `Rendered`.
    pub rendered: bool,
    /// Why, in one word.
    pub reason: Reason,
    /// Why, in words. Cut to [`super::MESSAGE_BYTES`] where it becomes a condition.
    pub message: String,
    /// Under which configuration, where that matters; see [`Condition::configuration`].
    pub configuration: Option<u64>,
}

impl Ending {
    /// The pipeline ended well.
    pub fn success() -> Self {
        Self { rendered: true, reason: Reason::RenderSuccess, message: String::new(), configuration: None }
    }

    /// It did not, for this reason.
    pub fn failure(reason: Reason, message: impl Into<String>) -> Self {
        Self { rendered: false, reason, message: message.into(), configuration: None }
    }
}

impl RenderState {
    /// Whether a condition of this type belongs to the scheduler alone.
    pub fn owns(kind: &str) -> bool {
        kind == RENDER_FINISHED || kind == RENDERED
    }

    /// Whether `conditions` say exactly this of `content`.
    pub fn stands_in(&self, conditions: &[Condition], content: ContentDigest) -> bool {
        let mut left = 0;
        let mine = self.conditions(content, 0);
        for condition in conditions.iter().filter(|c| Self::owns(&c.kind)) {
            if !mine.iter().any(|m| Condition { since_ms: condition.since_ms, ..m.clone() } == *condition) {
                return false;
            }
            left += 1;
        }
        left == mine.len()
    }

    /// Puts the conditions of this state, of `content`, in place of those that stand in `conditions`. Foreign ones
    /// stay as they are; a status that stays keeps its time.
    pub fn write(&self, conditions: &mut Vec<Condition>, content: ContentDigest, now_ms: u64) {
        let mut mine = self.conditions(content, now_ms);
        for new in &mut mine {
            if let Some(old) = conditions.iter().find(|old| old.kind == new.kind && old.status == new.status) {
                new.since_ms = old.since_ms;
            }
        }
        conditions.retain(|condition| !Self::owns(&condition.kind));
        conditions.append(&mut mine);
    }

    /// What `conditions` say of `content`, `None` where they say nothing or nonsense.
    pub fn read(conditions: &[Condition], content: ContentDigest) -> Option<Self> {
        let of = |kind: &str| conditions.iter().find(|c| c.kind == kind && c.content == content);
        let finished = of(RENDER_FINISHED)?;
        match finished.status {
            ConditionStatus::False if finished.reason == Reason::Rendering.as_str() => Some(Self::Rendering),
            ConditionStatus::False if !finished.message.is_empty() => Some(Self::Waiting(finished.message.clone())),
            ConditionStatus::False => Some(Self::Scheduled),
            ConditionStatus::True => {
                let rendered = of(RENDERED)?;
                Some(Self::Ended(Ending {
                    rendered: rendered.status == ConditionStatus::True,
                    reason: Reason::parse(&rendered.reason)?,
                    message: rendered.message.clone(),
                    configuration: rendered.configuration,
                }))
            }
            ConditionStatus::Unknown => None,
        }
    }

    fn conditions(&self, content: ContentDigest, now_ms: u64) -> Vec<Condition> {
        let condition = |kind: &'static str, holds: bool, reason: Reason, message: &str| Condition {
            kind: kind.into(),
            status: if holds { ConditionStatus::True } else { ConditionStatus::False },
            reason: reason.as_str().into(),
            message: bounded(message).into_owned(),
            content,
            configuration: None,
            since_ms: now_ms,
        };
        match self {
            Self::Scheduled => vec![condition(RENDER_FINISHED, false, Reason::Scheduled, "")],
            Self::Waiting(why) => vec![condition(RENDER_FINISHED, false, Reason::Scheduled, why)],
            Self::Rendering => vec![condition(RENDER_FINISHED, false, Reason::Rendering, "")],
            Self::Ended(Ending { rendered, reason, message, configuration }) => {
                let word = condition(RENDERED, *rendered, *reason, message);
                vec![condition(RENDER_FINISHED, true, *reason, ""), Condition { configuration: *configuration, ..word }]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENT: ContentDigest = ContentDigest([7; 32]);

    fn foreign() -> Condition {
        Condition {
            kind: "Ready".into(),
            status: ConditionStatus::Unknown,
            reason: "Theirs".into(),
            message: "leave me".into(),
            content: ContentDigest([1; 32]),
            configuration: None,
            since_ms: 1,
        }
    }

    #[test]
    fn what_is_written_is_read_again_and_foreign_conditions_stay() {
        let states = [
            RenderState::Scheduled,
            RenderState::Waiting("tried again in 10 s: no route to host".to_owned()),
            RenderState::Rendering,
            RenderState::Ended(Ending::success()),
            RenderState::Ended(Ending::failure(Reason::RenderFailed, "no")),
        ];
        let mut conditions = vec![foreign()];
        for (now, state) in (10..).zip(&states) {
            state.write(&mut conditions, CONTENT, now);
            assert_eq!(RenderState::read(&conditions, CONTENT).as_ref(), Some(state));
            assert_eq!(RenderState::read(&conditions, ContentDigest([8; 32])), None, "of another content");
            for other in &states {
                assert_eq!(other.stands_in(&conditions, CONTENT), other == state);
            }
            assert_eq!(conditions[0], foreign());
        }
        assert_eq!(conditions.len(), 3);
    }

    #[test]
    fn a_status_that_stays_keeps_its_time() {
        let mut conditions = vec![];
        RenderState::Scheduled.write(&mut conditions, CONTENT, 10);
        RenderState::Rendering.write(&mut conditions, CONTENT, 20);
        assert_eq!(conditions[0].since_ms, 10);
        RenderState::Ended(Ending::success()).write(&mut conditions, CONTENT, 30);
        assert!(conditions.iter().all(|c| c.since_ms == 30));
    }

    #[test]
    fn the_text_of_a_failure_is_bounded() {
        let mut conditions = vec![];
        let long = Ending::failure(Reason::RenderFailed, "x".repeat(100_000));
        RenderState::Ended(long).write(&mut conditions, CONTENT, 1);
        assert!(conditions.iter().all(|c| c.message.len() <= super::super::MESSAGE_BYTES));
    }
}
