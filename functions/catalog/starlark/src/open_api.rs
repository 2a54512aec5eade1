//! `ctx.open_api`: named, not there.

use std::fmt;

use allocative::Allocative;
use starlark::starlark_simple_value;
use starlark::values::{Heap, NoSerialize, ProvidesStaticType, StarlarkPagable, StarlarkValue, Value, starlark_value};

/// Stands for the `OpenAPI` document of Kubernetes; refuses to be read.
#[derive(Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagable)]
pub(crate) struct OpenApi;

starlark_simple_value!(OpenApi);

impl fmt::Display for OpenApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<open_api>")
    }
}

fn refuse<T>() -> starlark::Result<T> {
    Err(starlark::Error::new_native(crate::library::Fault(
        "ctx.open_api is not available here: the OpenAPI document of Kubernetes does not come with this function"
            .to_owned(),
    )))
}

#[starlark_value(type = "open_api")]
impl<'v> StarlarkValue<'v> for OpenApi {
    fn at(&self, _index: Value<'v>, _heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        refuse()
    }

    fn is_in(&self, _other: Value<'v>) -> starlark::Result<bool> {
        refuse()
    }

    fn length(&self) -> starlark::Result<i32> {
        refuse()
    }
}
