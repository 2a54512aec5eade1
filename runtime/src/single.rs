//! One function on the bytes of a `ResourceList`, for those who drive a pipeline of their own and want nothing but the call.

use std::time::Duration;

use portico_krm::{FunctionResult, ResourceList};

use crate::call::{Caller, with_causes};
use crate::cancel::CancelToken;
use crate::function::{FunctionError, FunctionSource, full_image};
use crate::load::check_resources;
use crate::pipeline::{FunctionName, FunctionRunner, RunFailure};
use crate::renderer::{CallOptions, Renderer};
use crate::report::Cause;

/// What one function is to do.
#[derive(Debug, Clone, Default)]
pub struct FunctionCall {
    /// The image, as a Kptfile names it: short names get the prefix, a missing tag is `latest`.
    pub image: String,
    /// A tag or version constraint, as the `tag` field of a Kptfile, or empty.
    pub tag: String,
    /// The `ResourceList`, in YAML. It goes to the function byte for byte.
    pub resource_list: Vec<u8>,
}

/// What a function did.
#[derive(Debug, Clone, Default)]
pub struct FunctionReply {
    /// The full image that was run.
    pub image: String,
    /// The function's exit code; 1 when it came to no end of its own.
    pub exit_code: i32,
    /// What it wrote, byte for byte. A `ResourceList` when it passed; anything when it failed.
    pub output: Vec<u8>,
    /// The `results` of what it wrote, as far as that can be read.
    pub results: Vec<FunctionResult>,
    /// Standard error, up to [`Limits::stderr`](crate::Limits::stderr): any bytes.
    pub stderr: Vec<u8>,
    /// Bytes of standard error that were not kept.
    pub stderr_dropped: u64,
    /// Why it did not pass and what that was, in words without the function's name; `None` when it passed.
    pub failure: Option<(Cause, String)>,
    /// Something that a user of the image should know.
    pub warning: Option<String>,
    /// Instructions it used.
    pub fuel: u64,
    /// The most linear memory it held, in bytes.
    pub peak_memory: u64,
    /// How long it ran.
    pub elapsed: Duration,
}

/// Why a function was not called.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The image or the tag is none.
    #[error("{0}")]
    Name(String),
    /// No source has it.
    #[error("{text}")]
    NotFound {
        /// The full image, as far as it is known.
        image: String,
        /// The whole story.
        text: String,
    },
    /// A source has it, and it cannot be used.
    #[error("{text}")]
    Unusable {
        /// The full image.
        image: String,
        /// The whole story.
        text: String,
        /// Of which kind that is.
        cause: Cause,
    },
    /// The input is no `ResourceList`, or a larger one than is taken.
    #[error("{text}")]
    Input {
        /// What is wrong with it.
        text: String,
        /// Whether a limit says so.
        too_large: bool,
    },
    /// This renderer does not do that.
    #[error("{0}")]
    Refused(String),
    /// It was cancelled.
    #[error("the call was cancelled")]
    Cancelled,
}

impl Renderer {
    /// Runs one function, on the calling thread. A function that fails is a reply with a failure.
    ///
    /// A cancel stops the function as it stops one of a [render](Self::render).
    pub fn call(
        &self,
        call: FunctionCall,
        options: &CallOptions,
        cancel: &CancelToken,
    ) -> Result<FunctionReply, CallError> {
        self.not_isolated("running a single function").map_err(|error| CallError::Refused(error.to_string()))?;
        let image = self.full_image(&call.image, &call.tag, options)?;
        // Commands are for those who sit before the machine; a caller names images.
        let options = CallOptions { allow_exec: false, ..options.clone() };
        let mut caller = Caller::new(&self.engine, &self.sources, &options, cancel);
        if cancel.is_cancelled() {
            return Err(CallError::Cancelled);
        }
        let resolved = caller
            .resolve(FunctionName { image: &image, tag: "", exec: "" })
            .map_err(|unresolved| self.unresolved(image, unresolved.message, unresolved.cause, cancel))?;
        // Behind the search for the function: what nobody has is told whatever the input is.
        check_input(&call.resource_list, &options)?;
        let run = caller.run(resolved.handle, call.resource_list);
        let mut reply = FunctionReply { image: resolved.image, warning: resolved.warning, ..FunctionReply::default() };
        let output = match run {
            Err(RunFailure::Cancelled) => return Err(CallError::Cancelled),
            Err(RunFailure::Ended { message, so_far, .. }) => {
                reply.failure = Some((so_far.cause.unwrap_or(Cause::NotStarted), message));
                *so_far
            }
            Ok(output) => {
                if output.exit_code != 0 {
                    let cause = output.cause.unwrap_or(Cause::Exit);
                    reply.failure = Some((cause, format!("it ended with exit code {}", output.exit_code)));
                }
                output
            }
        };
        reply.exit_code = output.exit_code;
        reply.stderr = output.stderr;
        reply.stderr_dropped = output.stderr_dropped;
        reply.fuel = output.fuel;
        reply.peak_memory = output.peak_memory;
        reply.elapsed = output.elapsed;
        reply.output = output.stdout;
        reply.check_output(&options);
        if cancel.is_cancelled() { Err(CallError::Cancelled) } else { Ok(reply) }
    }

    /// The image that a call stands for; nothing is looked up but its tags.
    pub fn full_image(&self, image: &str, tag: &str, options: &CallOptions) -> Result<String, CallError> {
        let tags = |image: &str| self.sources.tags(image);
        let resolved = full_image(image, tag, &options.image_prefix, &tags).map_err(|error| match error {
            FunctionError::NoTag { ref image, .. } => {
                CallError::NotFound { text: with_causes(&error), image: image.clone() }
            }
            error => CallError::Name(with_causes(&error)),
        })?;
        Ok(resolved.image)
    }

    /// Whether a source has the function of this full image, or says itself what is wrong with it.
    pub fn knows(&self, image: &str) -> bool {
        !matches!(self.sources.resolve(image), Ok(None))
    }

    fn unresolved(&self, image: String, text: String, cause: Cause, cancel: &CancelToken) -> CallError {
        if cancel.is_cancelled() {
            CallError::Cancelled
        } else if cause == Cause::NotFound && !self.knows(&image) {
            CallError::NotFound { image, text }
        } else {
            CallError::Unusable { image, text, cause }
        }
    }
}

fn check_input(bytes: &[u8], options: &CallOptions) -> Result<(), CallError> {
    let input = |text: String, too_large| CallError::Input { text, too_large };
    let list = ResourceList::parse(bytes, &options.limits.yaml)
        .map_err(|error| input(format!("the input is no ResourceList: {error}"), false))?;
    check_resources("resource_list", &options.limits, list.items.len() as u64)
        .map_err(|error| input(error.to_string(), true))
}

impl FunctionReply {
    /// Whether it passed: exit code 0 and a `ResourceList` written.
    pub fn passed(&self) -> bool {
        self.failure.is_none()
    }

    /// Reads what the function wrote: nothing of a failed one needs to be readable, all of one that passed.
    fn check_output(&mut self, options: &CallOptions) {
        let empty = self.output.iter().all(u8::is_ascii_whitespace);
        let read = ResourceList::parse(&self.output, &options.limits.yaml);
        if self.failure.is_some() {
            self.results = read.map(|list| list.results).unwrap_or_default();
            return;
        }
        let refused = match read {
            Ok(list) => {
                let found = list.items.len() as u64;
                self.results = list.results;
                check_resources("its output", &options.limits, found)
                    .err()
                    .map(|error| (Cause::Limit(crate::LimitName::Resources), error.to_string()))
            }
            Err(_) if empty => {
                let text = "it wrote no ResourceList: its output is empty although it ended with exit code 0";
                Some((Cause::BadOutput, text.to_owned()))
            }
            Err(error) => Some((Cause::BadOutput, format!("it wrote something that is no ResourceList: {error}"))),
        };
        if refused.is_some() {
            self.failure = refused;
        }
    }
}
