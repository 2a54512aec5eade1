//! Whole renders with closures as functions: the rules of the pipeline, one test each.

mod bounds;
mod changes;
mod conditions;
mod evaluating;
mod failures;
mod harness;
mod order;
mod paths;
mod selectors;
mod steps;
mod writing;
