//! Conformance runner and end-to-end tests.
