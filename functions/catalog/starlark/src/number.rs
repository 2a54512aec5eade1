//! Numbers between texts and Starlark values.

use num_bigint::BigInt;
use starlark::values::float::StarlarkFloat;
use starlark::values::{Heap, UnpackValue, Value, ValueLike as _};

/// The digits of an int of any size; `None` for other values.
pub(crate) fn int_text(value: Value<'_>) -> Option<String> {
    if let Some(small) = value.unpack_i32() {
        return Some(small.to_string());
    }
    BigInt::unpack_value(value).ok().flatten().map(|big| big.to_string())
}

/// The float; `None` for other values, ints too.
pub(crate) fn float(value: Value<'_>) -> Option<f64> {
    value.downcast_ref::<StarlarkFloat>().map(|f| f.0)
}

/// An int from its digits, with sign, in a radix.
pub(crate) fn parse_int(digits: &str, radix: u32) -> Option<BigInt> {
    BigInt::parse_bytes(digits.as_bytes(), radix)
}

/// A number of JSON: an int unless it has a fraction or an exponent.
pub(crate) fn json_number<'v>(text: &str, heap: Heap<'v>) -> Option<Value<'v>> {
    if text.contains(['.', 'e', 'E']) {
        return text.parse().ok().map(|f: f64| heap.alloc(f));
    }
    match text.parse::<i64>() {
        Ok(small) => Some(heap.alloc(small)),
        Err(_) => parse_int(text, 10).map(|big| heap.alloc(big)),
    }
}

/// A float as YAML and JSON know it: whole numbers without a fraction, as Go writes them, so that a computed
/// `replicas` is an int for Kubernetes.
pub(crate) fn float_text(float: f64) -> String {
    if float.is_nan() {
        return ".nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    if float != 0.0 && (float.abs() >= 1e21 || float.abs() < 1e-6) {
        let text = format!("{float:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
        return format!("{mantissa}e{sign}{digits:0>2}");
    }
    format!("{float}")
}
