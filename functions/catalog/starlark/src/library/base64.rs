//! `encoding/base64.star`: `encode`, `decode`.

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;

use super::Fault;

fn dialect(name: &str) -> Result<&'static GeneralPurpose, Fault> {
    match name {
        "standard" => Ok(&STANDARD),
        "standard_raw" => Ok(&STANDARD_NO_PAD),
        "url" => Ok(&URL_SAFE),
        "url_raw" => Ok(&URL_SAFE_NO_PAD),
        _ => Err(Fault(format!("unsupported encoding format: '{name}'"))),
    }
}

#[starlark_module]
pub(super) fn register(module: &mut GlobalsBuilder) {
    /// The base64 form of a string.
    fn encode(src: &str, #[starlark(default = "standard")] encoding: &str) -> anyhow::Result<String> {
        Ok(dialect(encoding)?.encode(src))
    }

    /// The string of a base64 form, line feeds in it aside.
    fn decode(src: &str, #[starlark(default = "standard")] encoding: &str) -> anyhow::Result<String> {
        let text: String = src.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
        let bytes = dialect(encoding)?.decode(text).map_err(|e| Fault(format!("base64.decode: {e}")))?;
        String::from_utf8(bytes)
            .map_err(|_| Fault("base64.decode: the decoded bytes are no UTF-8 text".to_owned()).into())
    }
}
