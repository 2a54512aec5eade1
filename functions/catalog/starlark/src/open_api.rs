//! `ctx.open_api`: the `OpenAPI` document of Kubernetes, of which nothing is read before a script asks for it.

use std::fmt;

use allocative::Allocative;
use schema_core::{Bundle, BundleError};
use serde_json::{Map, Value as Json, json};
use starlark::environment::{Methods, MethodsBuilder};
use starlark::values::list::AllocList;
use starlark::values::{
    Heap, NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, ValueLike as _, starlark_value,
};
use starlark::{starlark_module, starlark_simple_value};

use crate::library::Fault;
use crate::library::json::from_json;

/// Where definitions say what kinds they are.
const KINDS: &str = "x-kubernetes-group-version-kind";

/// A level of the document that reads like a dict. What lies below is a dict of its own each time that it is read.
#[derive(Clone, Copy, Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(crate) enum OpenApi {
    /// The whole.
    Document,
    /// Its `definitions`.
    Definitions,
}

starlark_simple_value!(OpenApi);

impl fmt::Display for OpenApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OpenApi::Document => "<open_api>",
            OpenApi::Definitions => "<open_api definitions>",
        })
    }
}

thread_local! {
    static BUNDLE: Result<Bundle, BundleError> = Bundle::embedded();
}

/// Reads in the schemas of the newest version of Kubernetes.
fn read<T>(read: impl FnOnce(&Bundle, usize) -> Result<T, BundleError>) -> Result<T, Fault> {
    BUNDLE.with(|bundle| {
        let bundle = bundle.as_ref().map_err(|error| Fault(error.to_string()))?;
        read(bundle, bundle.versions().len().saturating_sub(1)).map_err(|error| Fault(error.to_string()))
    })
}

impl OpenApi {
    fn keys(self) -> Result<Vec<String>, Fault> {
        match self {
            OpenApi::Document => Ok(["definitions", "info", "paths", "swagger"].map(str::to_owned).into()),
            OpenApi::Definitions => read(Bundle::names),
        }
    }

    fn get<'v>(self, key: &str, heap: Heap<'v>) -> Result<Option<Value<'v>>, Fault> {
        let value = match (self, key) {
            (OpenApi::Document, "definitions") => return Ok(Some(heap.alloc(OpenApi::Definitions))),
            (OpenApi::Document, "info") => {
                let version = read(|bundle, version| Ok(bundle.versions().get(version).copied().unwrap_or_default()))?;
                Some(json!({"title": "Kubernetes", "version": format!("v{version}.0")}))
            }
            (OpenApi::Document, "paths") => Some(json!({})),
            (OpenApi::Document, "swagger") => Some(json!("2.0")),
            (OpenApi::Document, _) => None,
            (OpenApi::Definitions, name) => read(|bundle, version| {
                let Some(found) = bundle.describe(name, version)? else { return Ok(None) };
                let kind = name.rsplit('.').next().unwrap_or_default();
                Ok(serde_json::from_str(found.schema).ok().map(|schema| definition(schema, found.api_version, kind)))
            })?,
        };
        Ok(value.map(|value| from_json(&value, heap)))
    }

    fn has(self, key: &str) -> Result<bool, Fault> {
        match self {
            OpenApi::Document => Ok(self.keys()?.iter().any(|one| one == key)),
            OpenApi::Definitions => read(|bundle, version| Ok(bundle.describe(key, version)?.is_some())),
        }
    }
}

/// A definition as the `OpenAPI` document has it: the embedded form is JSON Schema, in which every value may be null.
fn definition(schema: Json, api_version: Option<&str>, kind: &str) -> Json {
    let mut schema = open_api(schema);
    if let (Json::Object(fields), Some(api_version)) = (&mut schema, api_version) {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        fields.insert(KINDS.to_owned(), json!([{"group": group, "kind": kind, "version": version}]));
    }
    schema
}

/// Recursion is as deep as the embedded schemas.
fn open_api(schema: Json) -> Json {
    match schema {
        Json::Object(fields) => {
            let field = |(key, value): (String, Json)| {
                let value = match (&*key, value) {
                    ("$ref", Json::String(name)) => Json::String(format!("#/definitions/{name}")),
                    ("type", Json::Array(types)) => types.into_iter().next().unwrap_or_default(),
                    (_, value) => open_api(value),
                };
                (key, value)
            };
            Json::Object(fields.into_iter().map(field).collect::<Map<_, _>>())
        }
        Json::Array(elements) => Json::Array(elements.into_iter().map(open_api).collect()),
        other => other,
    }
}

fn missing(key: Value<'_>) -> Fault {
    Fault(format!("key {} not in dict", key.to_repr()))
}

starlark::methods_static!(METHODS = methods);

#[starlark_value(type = "open_api")]
impl<'v> StarlarkValue<'v> for OpenApi {
    fn get_methods() -> Option<&'static Methods> {
        Some(METHODS.methods())
    }

    fn at(&self, index: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let found = index.unpack_str().map(|key| self.get(key, heap)).transpose();
        let found = found.map_err(starlark::Error::new_native)?.flatten();
        found.ok_or_else(|| starlark::Error::new_native(missing(index)))
    }

    fn is_in(&self, other: Value<'v>) -> starlark::Result<bool> {
        other.unpack_str().map_or(Ok(false), |key| self.has(key)).map_err(starlark::Error::new_native)
    }

    fn length(&self) -> starlark::Result<i32> {
        let keys = self.keys().map_err(starlark::Error::new_native)?;
        Ok(i32::try_from(keys.len()).unwrap_or(i32::MAX))
    }

    fn iterate_collect(&self, heap: Heap<'v>) -> starlark::Result<Vec<Value<'v>>> {
        let keys = self.keys().map_err(starlark::Error::new_native)?;
        Ok(keys.iter().map(|key| heap.alloc(key.as_str())).collect())
    }
}

fn this(value: Value<'_>) -> Result<OpenApi, Fault> {
    let level = value.downcast_ref::<OpenApi>();
    level.copied().ok_or_else(|| Fault(format!("open_api: a {} is no document", value.get_type())))
}

#[starlark_module]
fn methods(module: &mut MethodsBuilder) {
    /// The value of a key, or the default.
    fn get<'v>(
        this: Value<'v>,
        #[starlark(require = pos)] key: &str,
        #[starlark(require = pos)] default: Option<Value<'v>>,
        heap: Heap<'v>,
    ) -> anyhow::Result<Value<'v>> {
        Ok(self::this(this)?.get(key, heap)?.unwrap_or_else(|| default.unwrap_or_else(Value::new_none)))
    }

    /// The keys.
    fn keys<'v>(this: Value<'v>, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        let keys = self::this(this)?.keys()?;
        Ok(heap.alloc(AllocList(keys.iter().map(String::as_str))))
    }

    /// Keys and values, in pairs.
    fn items<'v>(this: Value<'v>, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        let level = self::this(this)?;
        let mut pairs = Vec::new();
        for key in level.keys()? {
            let value = level.get(&key, heap)?.unwrap_or_else(Value::new_none);
            pairs.push(heap.alloc((key.as_str(), value)));
        }
        Ok(heap.alloc(AllocList(pairs)))
    }

    /// The values.
    fn values<'v>(this: Value<'v>, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        let level = self::this(this)?;
        let mut values = Vec::new();
        for key in level.keys()? {
            values.push(level.get(&key, heap)?.unwrap_or_else(Value::new_none));
        }
        Ok(heap.alloc(AllocList(values)))
    }
}
