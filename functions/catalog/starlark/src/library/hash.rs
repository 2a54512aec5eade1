//! `hash.star`: digests of a string, in hex.

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;

fn hex<D: Digest>(text: &str) -> String {
    use std::fmt::Write as _;
    D::digest(text).iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[starlark_module]
pub(super) fn register(module: &mut GlobalsBuilder) {
    /// MD5.
    fn md5(string: &str) -> anyhow::Result<String> {
        Ok(hex::<Md5>(string))
    }

    /// SHA-1.
    fn sha1(string: &str) -> anyhow::Result<String> {
        Ok(hex::<Sha1>(string))
    }

    /// SHA-256.
    fn sha256(string: &str) -> anyhow::Result<String> {
        Ok(hex::<Sha256>(string))
    }
}
