//! `re.star`: regular expressions.

use std::fmt;

use allocative::Allocative;
use starlark::environment::{GlobalsBuilder, Methods, MethodsBuilder};
use starlark::values::list::AllocList;
use starlark::values::tuple::AllocTuple;
use starlark::values::{
    Heap, NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, ValueLike as _, starlark_value,
};
use starlark::{starlark_module, starlark_simple_value};

use super::Fault;

/// What `compile` gives.
#[derive(Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(super) struct Pattern {
    source: String,
    #[allocative(skip)]
    regex: go_regex::Regex,
}

starlark_simple_value!(Pattern);

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<regexp {:?}>", self.source)
    }
}

starlark::methods_static!(METHODS = methods);

#[expect(clippy::elidable_lifetime_names, reason = "the macro asks for the name")]
#[starlark_value(type = "regexp")]
impl<'v> StarlarkValue<'v> for Pattern {
    fn get_methods() -> Option<&'static Methods> {
        Some(METHODS.methods())
    }
}

fn compile(pattern: &str) -> Result<go_regex::Regex, Fault> {
    go_regex::compile(pattern).map_err(|error| Fault(format!("error parsing regexp: {error}")))
}

/// Each match as a tuple: the whole, then the groups.
fn matches<'v>(regex: &go_regex::Regex, text: &str, heap: Heap<'v>) -> Value<'v> {
    let found = regex.captures_iter(text).map(|captures| {
        let groups: Vec<Value<'v>> =
            captures.iter().map(|group| heap.alloc(group.map_or("", |g| g.as_str()))).collect();
        heap.alloc(AllocTuple(groups))
    });
    heap.alloc(AllocList(found.collect::<Vec<_>>()))
}

fn find_all<'v>(regex: &go_regex::Regex, text: &str, heap: Heap<'v>) -> Value<'v> {
    let found: Vec<Value<'v>> = regex.find_iter(text).map(|found| heap.alloc(found.as_str())).collect();
    heap.alloc(AllocTuple(found))
}

fn split<'v>(regex: &go_regex::Regex, text: &str, maxsplit: i32, heap: Heap<'v>) -> Value<'v> {
    let limit = usize::try_from(maxsplit).ok().filter(|n| *n > 0);
    let parts: Vec<Value<'v>> = match limit {
        None => regex.split(text).map(|part| heap.alloc(part)).collect(),
        Some(limit) => regex.splitn(text, limit.saturating_add(1)).map(|part| heap.alloc(part)).collect(),
    };
    heap.alloc(AllocTuple(parts))
}

fn replace(regex: &go_regex::Regex, template: &str, text: &str, count: i32) -> String {
    regex.replacen(text, usize::try_from(count).unwrap_or(0), template).into_owned()
}

fn this(value: Value<'_>) -> Result<&Pattern, Fault> {
    value.downcast_ref::<Pattern>().ok_or_else(|| Fault(format!("re: a {} is no regexp", value.get_type())))
}

#[starlark_module]
pub(super) fn register(module: &mut GlobalsBuilder) {
    /// A pattern to use several times.
    fn compile(pattern: &str) -> anyhow::Result<Pattern> {
        Ok(Pattern { source: pattern.to_owned(), regex: self::compile(pattern)? })
    }

    /// All matches, each a tuple of the whole and its groups.
    fn r#match<'v>(
        pattern: &str,
        string: &str,
        #[starlark(default = 0)] flags: i32,
        heap: Heap<'v>,
    ) -> anyhow::Result<Value<'v>> {
        let _ = flags;
        Ok(matches(&self::compile(pattern)?, string, heap))
    }

    /// The texts of all matches.
    fn findall<'v>(
        pattern: &str,
        text: &str,
        #[starlark(default = 0)] flags: i32,
        heap: Heap<'v>,
    ) -> anyhow::Result<Value<'v>> {
        let _ = flags;
        Ok(find_all(&self::compile(pattern)?, text, heap))
    }

    /// What lies between the matches.
    fn split<'v>(
        pattern: &str,
        text: &str,
        #[starlark(default = 0)] maxsplit: i32,
        #[starlark(default = 0)] flags: i32,
        heap: Heap<'v>,
    ) -> anyhow::Result<Value<'v>> {
        let _ = flags;
        Ok(self::split(&self::compile(pattern)?, text, maxsplit, heap))
    }

    /// The text with matches replaced; `$1` or `${name}` stands for a group.
    fn sub(
        pattern: &str,
        repl: &str,
        text: &str,
        #[starlark(default = 0)] count: i32,
        #[starlark(default = 0)] flags: i32,
    ) -> anyhow::Result<String> {
        let _ = flags;
        Ok(replace(&self::compile(pattern)?, repl, text, count))
    }
}

#[starlark_module]
fn methods(module: &mut MethodsBuilder) {
    /// All matches, each a tuple of the whole and its groups.
    fn r#match<'v>(
        this: Value<'v>,
        text: &str,
        #[starlark(default = 0)] flags: i32,
        heap: Heap<'v>,
    ) -> anyhow::Result<Value<'v>> {
        let _ = flags;
        Ok(matches(&self::this(this)?.regex, text, heap))
    }

    /// The texts of all matches.
    fn findall<'v>(
        this: Value<'v>,
        text: &str,
        #[starlark(default = 0)] flags: i32,
        heap: Heap<'v>,
    ) -> anyhow::Result<Value<'v>> {
        let _ = flags;
        Ok(find_all(&self::this(this)?.regex, text, heap))
    }

    /// What lies between the matches.
    fn split<'v>(
        this: Value<'v>,
        text: &str,
        #[starlark(default = 0)] maxsplit: i32,
        #[starlark(default = 0)] flags: i32,
        heap: Heap<'v>,
    ) -> anyhow::Result<Value<'v>> {
        let _ = flags;
        Ok(self::split(&self::this(this)?.regex, text, maxsplit, heap))
    }

    /// The text with matches replaced.
    fn sub<'v>(
        this: Value<'v>,
        repl: &str,
        text: &str,
        #[starlark(default = 0)] count: i32,
        #[starlark(default = 0)] flags: i32,
    ) -> anyhow::Result<String> {
        let _ = flags;
        Ok(replace(&self::this(this)?.regex, repl, text, count))
    }
}
