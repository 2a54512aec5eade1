//! The core against a store that keeps to the rules, with every answer in the test's hand.

mod errors;
mod life;
mod lists;
mod random;
mod supersede;
mod world;
