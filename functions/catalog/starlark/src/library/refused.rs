//! Modules that load, so that a script which only names them works, and whose functions refuse.

use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::dict::UnpackDictEntries;
use starlark::values::none::NoneType;
use starlark::values::tuple::UnpackTuple;

use super::Fault;

type Args<'v> = UnpackTuple<Value<'v>>;

/// Keyword arguments of any kind.
type Named<'v> = UnpackDictEntries<&'v str, Value<'v>>;

fn no_network(function: &str) -> anyhow::Result<NoneType> {
    Err(Fault(format!(
        "{function}: functions have no network; bring the data along in a resource or the functionConfig"
    ))
    .into())
}

fn not_there(function: &str) -> anyhow::Result<NoneType> {
    Err(Fault(format!("{function}: this library is not available here")).into())
}

macro_rules! refusing {
    ($(#[$doc:meta])* $register:ident, $module:literal, $refusal:ident, $($name:ident)*) => {
        $(#[$doc])*
        #[starlark_module]
        pub(super) fn $register(module: &mut GlobalsBuilder) {
            $(
                /// Refuses.
                fn $name<'v>(
                    #[starlark(args)] args: Args<'v>,
                    #[starlark(kwargs)] kwargs: Named<'v>,
                ) -> anyhow::Result<NoneType> {
                    let _ = (args, kwargs);
                    $refusal(concat!($module, stringify!($name)))
                }
            )*
        }
    };
}

refusing!(
    /// HTTP requests.
    http, "http.", no_network, get put post delete patch options
);
refusing!(
    /// HTML by tag.
    bsoup, "bsoup.", not_there, parseHtml
);
refusing!(
    /// Geometry.
    geo, "geo.", not_there, Point Line Polygon MultiPolygon within parseGeoJSON
);
refusing!(
    /// HTML by selector: the module is the function.
    html, "", not_there, html
);
refusing!(
    /// Spreadsheets.
    xlsx, "xlsx.", not_there, get_url read
);
refusing!(
    /// Archives: the module is the type.
    zipfile, "", not_there, ZipFile
);
