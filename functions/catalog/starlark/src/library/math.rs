//! `math.star`: functions of floats.

use std::f64::consts;

use num_bigint::BigInt;
use num_traits::FromPrimitive as _;
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::float::UnpackFloat;

use super::Fault;

/// A whole float as int.
fn whole(function: &str, x: f64) -> anyhow::Result<BigInt> {
    BigInt::from_f64(x).ok_or_else(|| Fault(format!("math.{function}: cannot convert float {x} to integer")).into())
}

#[starlark_module]
pub(super) fn register(module: &mut GlobalsBuilder) {
    /// The base of natural logarithms.
    const e: f64 = consts::E;
    /// The ratio of a circle's circumference to its diameter.
    const pi: f64 = consts::PI;

    /// The smallest int that is not less.
    fn ceil(x: UnpackFloat) -> anyhow::Result<BigInt> {
        whole("ceil", x.0.ceil())
    }
    /// The largest int that is not greater.
    fn floor(x: UnpackFloat) -> anyhow::Result<BigInt> {
        whole("floor", x.0.floor())
    }
    /// The nearest whole number, halves away from zero.
    fn round(x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.round())
    }
    /// `x` with the sign of `y`.
    fn copysign(x: UnpackFloat, y: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.copysign(y.0))
    }
    /// The absolute value.
    fn fabs(x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.abs())
    }
    /// The remainder with the sign of `x`.
    fn r#mod(x: UnpackFloat, y: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0 % y.0)
    }
    /// The IEEE 754 remainder.
    fn remainder(x: UnpackFloat, y: UnpackFloat) -> anyhow::Result<f64> {
        Ok(libm::remainder(x.0, y.0))
    }
    /// `x` to the power of `y`.
    fn pow(x: UnpackFloat, y: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.powf(y.0))
    }
    /// The square root.
    fn sqrt(x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.sqrt())
    }
    /// `e` to the power of `x`.
    fn exp(x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.exp())
    }
    /// The logarithm, natural unless a base is given.
    fn log(x: UnpackFloat, #[starlark(default = UnpackFloat(consts::E))] base: UnpackFloat) -> anyhow::Result<f64> {
        if x.0 <= 0.0 || base.0 <= 0.0 {
            return Err(Fault("math.log: want positive numbers".to_owned()).into());
        }
        if base.0.to_bits() == 1f64.to_bits() {
            return Err(Fault("math.log: division by zero".to_owned()).into());
        }
        Ok(if base.0.to_bits() == consts::E.to_bits() { x.0.ln() } else { x.0.ln() / base.0.ln() })
    }
    /// Arc cosine, in radians.
    fn acos(x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.acos())
    }
    /// Arc sine, in radians.
    fn asin(x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.asin())
    }
    /// Arc tangent, in radians.
    fn atan(x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.atan())
    }
    /// The angle of the point (x, y).
    fn atan2(y: UnpackFloat, x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(y.0.atan2(x.0))
    }
    /// Cosine of radians.
    fn cos(x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.cos())
    }
    /// The length of the vector (x, y).
    fn hypot(x: UnpackFloat, y: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.hypot(y.0))
    }
    /// Sine of radians.
    fn sin(x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.sin())
    }
    /// Tangent of radians.
    fn tan(x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.tan())
    }
    /// Radians to degrees.
    fn degrees(x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.to_degrees())
    }
    /// Degrees to radians.
    fn radians(x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.to_radians())
    }
    /// Inverse hyperbolic cosine.
    fn acosh(x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.acosh())
    }
    /// Inverse hyperbolic sine.
    fn asinh(x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.asinh())
    }
    /// Inverse hyperbolic tangent.
    fn atanh(x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.atanh())
    }
    /// Hyperbolic cosine.
    fn cosh(x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.cosh())
    }
    /// Hyperbolic sine.
    fn sinh(x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.sinh())
    }
    /// Hyperbolic tangent.
    fn tanh(x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.tanh())
    }
    /// The Gamma function.
    fn gamma(x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(libm::tgamma(x.0))
    }
}
