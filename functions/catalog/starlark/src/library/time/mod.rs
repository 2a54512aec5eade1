//! `time.star`: times and durations, in UTC and fixed offsets from it.

mod instant;
mod layout;

use std::cmp::Ordering;
use std::fmt;

use allocative::Allocative;
use jiff::Timestamp;
use starlark::collections::StarlarkHasher;
use starlark::environment::{GlobalsBuilder, Methods, MethodsBuilder};
use starlark::values::{
    Heap, NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, UnpackValue as _, Value, ValueError,
    ValueLike as _, starlark_value,
};
use starlark::{starlark_module, starlark_simple_value};

use self::instant::{Civil, HOUR, Instant, MICROSECOND, MILLISECOND, MINUTE, SECOND, Zone};
use super::Fault;

const RFC3339: &str = "2006-01-02T15:04:05Z07:00";

/// How Go shows a time.
const SHOWN: &str = "2006-01-02 15:04:05.999999999 -0700 MST";

/// A point in time.
#[derive(Debug, Clone, Copy, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(super) struct Time(#[allocative(skip)] Instant);

/// A span of time, in nanoseconds.
#[derive(Debug, Clone, Copy, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(super) struct Duration(i64);

starlark_simple_value!(Time);
starlark_simple_value!(Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&layout::format(&self.0, SHOWN))
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&instant::duration_text(self.0))
    }
}

fn out_of_range() -> starlark::Error {
    starlark::Error::new_native(Fault("time: the result is out of range".to_owned()))
}

fn time_of(value: Value<'_>) -> Option<&Time> {
    value.downcast_ref::<Time>()
}

fn duration_of(value: Value<'_>) -> Option<&Duration> {
    value.downcast_ref::<Duration>()
}

starlark::methods_static!(TIME_METHODS = time_methods);

#[starlark_value(type = "time.time")]
impl<'v> StarlarkValue<'v> for Time {
    fn get_methods() -> Option<&'static Methods> {
        Some(TIME_METHODS.methods())
    }

    fn get_attr(&self, attribute: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        let civil = self.0.civil();
        let value = match attribute {
            "year" => civil.year,
            "month" => civil.month,
            "day" => civil.day,
            "hour" => civil.hour,
            "minute" => civil.minute,
            "second" => civil.second,
            "nanosecond" => civil.nanosecond,
            "unix" => self.0.at.as_second(),
            "unix_nano" => i64::try_from(self.0.at.as_nanosecond()).ok()?,
            _ => return None,
        };
        Some(heap.alloc(value))
    }

    fn dir_attr(&self) -> Vec<String> {
        ["year", "month", "day", "hour", "minute", "second", "nanosecond", "unix", "unix_nano"]
            .map(str::to_owned)
            .into()
    }

    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(time_of(other).is_some_and(|other| other.0.at == self.0.at))
    }

    fn compare(&self, other: Value<'v>) -> starlark::Result<Ordering> {
        match time_of(other) {
            Some(other) => Ok(self.0.at.cmp(&other.0.at)),
            None => ValueError::unsupported_with(self, "compare", other),
        }
    }

    fn write_hash(&self, hasher: &mut StarlarkHasher) -> starlark::Result<()> {
        std::hash::Hash::hash(&self.0.at, hasher);
        Ok(())
    }

    fn add(&self, rhs: Value<'v>, heap: Heap<'v>) -> Option<starlark::Result<Value<'v>>> {
        let duration = duration_of(rhs)?;
        Some(self.0.later(duration.0).map(|at| heap.alloc(Time(at))).ok_or_else(out_of_range))
    }

    fn sub(&self, other: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        if let Some(duration) = duration_of(other) {
            let earlier = duration.0.checked_neg().and_then(|back| self.0.later(back));
            return earlier.map(|at| heap.alloc(Time(at))).ok_or_else(out_of_range);
        }
        let Some(other) = time_of(other) else { return ValueError::unsupported_with(self, "-", other) };
        let span = self.0.at.as_nanosecond() - other.0.at.as_nanosecond();
        i64::try_from(span).map(|span| heap.alloc(Duration(span))).map_err(|_| out_of_range())
    }
}

#[starlark_value(type = "time.duration")]
impl<'v> StarlarkValue<'v> for Duration {
    fn get_attr(&self, attribute: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        // a duration has fewer digits than it takes for a float to lose any that are shown
        #[expect(clippy::cast_precision_loss, reason = "Go's `Hours` and its like round as well")]
        let float = |unit: i64| heap.alloc(self.0 as f64 / unit as f64);
        Some(match attribute {
            "hours" => float(HOUR),
            "minutes" => float(MINUTE),
            "seconds" => float(SECOND),
            "milliseconds" => heap.alloc(self.0 / MILLISECOND),
            "microseconds" => heap.alloc(self.0 / MICROSECOND),
            "nanoseconds" => heap.alloc(self.0),
            _ => return None,
        })
    }

    fn dir_attr(&self) -> Vec<String> {
        ["hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds"].map(str::to_owned).into()
    }

    fn to_bool(&self) -> bool {
        self.0 != 0
    }

    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(duration_of(other).is_some_and(|other| other.0 == self.0))
    }

    fn compare(&self, other: Value<'v>) -> starlark::Result<Ordering> {
        match duration_of(other) {
            Some(other) => Ok(self.0.cmp(&other.0)),
            None => ValueError::unsupported_with(self, "compare", other),
        }
    }

    fn write_hash(&self, hasher: &mut StarlarkHasher) -> starlark::Result<()> {
        std::hash::Hash::hash(&self.0, hasher);
        Ok(())
    }

    fn add(&self, rhs: Value<'v>, heap: Heap<'v>) -> Option<starlark::Result<Value<'v>>> {
        if let Some(time) = time_of(rhs) {
            return Some(time.0.later(self.0).map(|at| heap.alloc(Time(at))).ok_or_else(out_of_range));
        }
        let sum = self.0.checked_add(duration_of(rhs)?.0);
        Some(sum.map(|sum| heap.alloc(Duration(sum))).ok_or_else(out_of_range))
    }

    fn sub(&self, other: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let Some(other) = duration_of(other) else { return ValueError::unsupported_with(self, "-", other) };
        self.0.checked_sub(other.0).map(|rest| heap.alloc(Duration(rest))).ok_or_else(out_of_range)
    }

    fn mul(&self, other: Value<'v>, heap: Heap<'v>) -> Option<starlark::Result<Value<'v>>> {
        let factor = i64::unpack_value(other).ok().flatten()?;
        Some(self.0.checked_mul(factor).map(|product| heap.alloc(Duration(product))).ok_or_else(out_of_range))
    }

    fn rmul(&self, lhs: Value<'v>, heap: Heap<'v>) -> Option<starlark::Result<Value<'v>>> {
        self.mul(lhs, heap)
    }

    fn div(&self, other: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        if let Some(other) = duration_of(other) {
            #[expect(clippy::cast_precision_loss, reason = "a ratio is a float")]
            let ratio = self.0 as f64 / other.0 as f64;
            return Ok(heap.alloc(ratio));
        }
        match i64::unpack_value(other).ok().flatten() {
            Some(0) => Err(starlark::Error::new_native(Fault("time.duration division by zero".to_owned()))),
            Some(divisor) => {
                self.0.checked_div(divisor).map(|part| heap.alloc(Duration(part))).ok_or_else(out_of_range)
            }
            None => ValueError::unsupported_with(self, "/", other),
        }
    }
}

fn zone(name: &str) -> Result<Zone, Fault> {
    match name {
        "" | "UTC" | "GMT" | "Etc/UTC" | "Local" => Ok(Zone::UTC),
        _ => Err(Fault(format!("unknown time zone {name}: only UTC is known here"))),
    }
}

fn parse(text: &str, format: &str, location: &str) -> anyhow::Result<Time> {
    let parsed = layout::parse(text, format, zone(location)?);
    parsed.map(Time).ok_or_else(|| Fault(format!("parsing time \"{text}\" as \"{format}\": it does not fit")).into())
}

fn parse_span(text: &str) -> anyhow::Result<Duration> {
    instant::parse_duration(text)
        .map(Duration)
        .ok_or_else(|| Fault(format!("time: invalid duration \"{text}\"")).into())
}

#[starlark_module]
pub(super) fn register(module: &mut GlobalsBuilder) {
    /// One nanosecond.
    const nanosecond: Duration = Duration(1);
    /// One microsecond.
    const microsecond: Duration = Duration(MICROSECOND);
    /// One millisecond.
    const millisecond: Duration = Duration(MILLISECOND);
    /// One second.
    const second: Duration = Duration(SECOND);
    /// One minute.
    const minute: Duration = Duration(MINUTE);
    /// One hour.
    const hour: Duration = Duration(HOUR);

    /// The time of the host's clock, which may stand still.
    fn now() -> anyhow::Result<Time> {
        Ok(Time(Instant { at: Timestamp::now(), zone: Zone::UTC }))
    }

    /// The first instant of year 1.
    fn zero() -> anyhow::Result<Time> {
        parse("0001-01-01T00:00:00Z", RFC3339, "UTC")
    }

    /// A time from its parts.
    fn time(
        #[starlark(default = 0)] year: i64,
        #[starlark(default = 1)] month: i64,
        #[starlark(default = 1)] day: i64,
        #[starlark(default = 0)] hour: i64,
        #[starlark(default = 0)] minute: i64,
        #[starlark(default = 0)] second: i64,
        #[starlark(default = 0)] nanosecond: i64,
        #[starlark(default = "UTC")] location: &str,
    ) -> anyhow::Result<Time> {
        let civil = Civil { year, month, day, hour, minute, second, nanosecond, weekday: 0 };
        Instant::of(&civil, zone(location)?)
            .map(Time)
            .ok_or_else(|| Fault("time.time: there is no such day or hour".to_owned()).into())
    }

    /// A time from its text, in RFC 3339 or a layout of Go.
    fn parse_time(
        x: &str,
        #[starlark(default = RFC3339)] format: &str,
        #[starlark(default = "UTC")] location: &str,
    ) -> anyhow::Result<Time> {
        parse(x, format, location)
    }

    /// A time from seconds since 1970.
    fn from_timestamp(sec: i64, #[starlark(default = 0)] nsec: i64) -> anyhow::Result<Time> {
        let nanoseconds = i128::from(sec) * i128::from(SECOND) + i128::from(nsec);
        let at = Timestamp::from_nanosecond(nanoseconds)
            .map_err(|_| Fault(format!("time.from_timestamp: {sec} is out of range")))?;
        Ok(Time(Instant { at, zone: Zone::UTC }))
    }

    /// A duration from its text: `1h15m30.918s`.
    fn parse_duration(d: &str) -> anyhow::Result<Duration> {
        parse_span(d)
    }

    /// The older name of `parse_duration`.
    fn duration(d: &str) -> anyhow::Result<Duration> {
        parse_span(d)
    }

    /// Whether a zone is known.
    fn is_valid_timezone(loc: &str) -> anyhow::Result<bool> {
        Ok(zone(loc).is_ok())
    }
}

#[starlark_module]
fn time_methods(module: &mut MethodsBuilder) {
    /// The time as text, in a layout of Go.
    fn format<'v>(this: Value<'v>, format: &str) -> anyhow::Result<String> {
        let time = time_of(this).ok_or_else(|| Fault(format!("time: a {} is no time", this.get_type())))?;
        Ok(layout::format(&time.0, format))
    }

    /// The same time in another zone.
    fn in_location<'v>(this: Value<'v>, location: &str) -> anyhow::Result<Time> {
        let time = time_of(this).ok_or_else(|| Fault(format!("time: a {} is no time", this.get_type())))?;
        Ok(Time(Instant { zone: zone(location)?, ..time.0 }))
    }
}
