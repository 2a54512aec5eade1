//! The Kubernetes API as its clients see it: kube-rs, kubectl, and plain requests.
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

mod crud;
mod discovery;
mod events;
mod files;
mod harness;
mod kubectl;
mod lifecycle;
mod lists;
mod races;
mod watches;
mod wishes;
