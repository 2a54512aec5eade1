//! A script over the resources of a package: values in, values out.

use std::collections::HashMap;

use portico_krm::yaml::Tree;
use starlark::environment::Module;
use starlark::values::dict::{AllocDict, DictRef};
use starlark::values::list::{AllocList, ListRef};
use starlark::values::structs::AllocStruct;
use starlark::values::tuple::{AllocTuple, TupleRef};
use starlark::values::{Heap, Value, ValueIdentity};

use crate::convert::{self, DEPTH, Keys, Unfit};
use crate::error::ScriptError;
use crate::eval::{self, Script};
use crate::open_api::OpenApi;
use crate::printer::Printer;

/// What a script sees beside the resources.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surroundings<'a> {
    /// `ctx.resource_list["functionConfig"]`.
    pub function_config: Option<&'a Tree>,
    /// `ctx.environment`.
    pub environment: &'a [(String, String)],
}

/// Runs the script over the resources and gives back what stands in `ctx.resource_list["items"]` behind it.
///
/// A resource that the script did not change is given back as it came. One that it changed keeps the spelling and the
/// comments of everything that is as before.
pub fn transform(
    script: &Script,
    items: Vec<Tree>,
    surroundings: Surroundings<'_>,
    printer: &dyn Printer,
) -> Result<Vec<Tree>, ScriptError> {
    let mut originals = Vec::with_capacity(items.len());
    for (i, tree) in items.into_iter().enumerate() {
        let expanded = convert::expanded(&tree).map_err(|unfit| unfit_item(i, &unfit))?;
        originals.push(Original { tree, expanded });
    }
    Module::with_temp_heap(|module| {
        expose(&module, &originals, surroundings)?;
        eval::run(&module, script, printer)?;
        read_back(&module, originals)
    })
}

/// A resource as it came, and with its aliases written out where it has any.
struct Original {
    tree: Tree,
    expanded: Option<Tree>,
}

impl Original {
    /// The tree that values are made from and laid over.
    fn base(&self) -> &Tree {
        self.expanded.as_ref().unwrap_or(&self.tree)
    }
}

fn unfit_item(index: usize, unfit: &Unfit) -> ScriptError {
    ScriptError::new(format!("item {index}: {}", unfit.message()))
}

/// Puts `ctx` into the module. The module's extra value keeps the resource list and the dicts of the resources: the
/// evaluator's garbage collector moves values, and knows of this one.
fn expose(module: &Module<'_>, originals: &[Original], surroundings: Surroundings<'_>) -> Result<(), ScriptError> {
    let heap = module.heap();
    let mut keys = Keys::new();
    let mut items = Vec::with_capacity(originals.len());
    for (i, original) in originals.iter().enumerate() {
        let base = original.base();
        items.push(convert::to_value(base, base.root(), heap, &mut keys).map_err(|unfit| unfit_item(i, &unfit))?);
    }
    let config = match surroundings.function_config {
        None => Value::new_none(),
        Some(tree) => config_value(tree, heap)?,
    };
    let resource_list = heap.alloc(AllocDict([
        ("apiVersion", heap.alloc("config.kubernetes.io/v1")),
        ("kind", heap.alloc("ResourceList")),
        ("items", heap.alloc(AllocList(items.iter().copied()))),
        ("functionConfig", config),
    ]));
    let environment = heap.alloc(AllocDict(surroundings.environment.iter().map(|(k, v)| (k.as_str(), v.as_str()))));
    let ctx = heap.alloc(AllocStruct([
        ("resource_list", resource_list),
        ("open_api", heap.alloc(OpenApi::Document)),
        ("environment", environment),
    ]));
    module.set("ctx", ctx);
    module.set_extra_value(heap.alloc(AllocTuple([resource_list, heap.alloc(AllocTuple(items))])));
    Ok(())
}

fn config_value<'v>(tree: &Tree, heap: Heap<'v>) -> Result<Value<'v>, ScriptError> {
    let told = |unfit: Unfit| ScriptError::new(format!("functionConfig: {}", unfit.message()));
    let expanded = convert::expanded(tree).map_err(told)?;
    let base = expanded.as_ref().unwrap_or(tree);
    convert::to_value(base, base.root(), heap, &mut Keys::new()).map_err(told)
}

/// What stands in `items` after the script.
fn read_back(module: &Module<'_>, originals: Vec<Original>) -> Result<Vec<Tree>, ScriptError> {
    let heap = module.heap();
    let kept = module.extra_value().and_then(TupleRef::from_value);
    let Some([resource_list, dicts]) = kept.map(TupleRef::content) else { return Ok(Vec::new()) };
    let dicts = TupleRef::from_value(*dicts).map_or(&[][..], TupleRef::content);
    let mut places: HashMap<ValueIdentity<'_>, usize> =
        dicts.iter().enumerate().map(|(i, dict)| (dict.identity(), i)).collect();
    let mut originals: Vec<Option<Original>> = originals.into_iter().map(Some).collect();

    let items = DictRef::from_value(*resource_list).and_then(|list| list.get_str("items"));
    let items = match items {
        Some(items) if !items.is_none() => items,
        _ => return Ok(Vec::new()),
    };
    let values: Vec<Value<'_>> = if let Some(list) = ListRef::from_value(items) {
        list.iter().collect()
    } else if let Some(tuple) = TupleRef::from_value(items) {
        tuple.iter().collect()
    } else {
        let message = format!("`ctx.resource_list[\"items\"]` must be a list, but it is a {}", items.get_type());
        return Err(ScriptError::new(message));
    };

    let mut out = Vec::with_capacity(values.len());
    for (i, value) in values.into_iter().enumerate() {
        if DictRef::from_value(value).is_none() {
            let message =
                format!("`ctx.resource_list[\"items\"][{i}]` must be a dict, but it is a {}", value.get_type());
            return Err(ScriptError::new(message));
        }
        let original = places.remove(&value.identity()).and_then(|place| originals[place].take());
        let tree = match original {
            Some(original) => changed(original, value, heap),
            None => new(value, heap),
        };
        out.push(tree.map_err(|unfit| unfit_item(i, &unfit))?);
    }
    Ok(out)
}

fn new<'v>(value: Value<'v>, heap: Heap<'v>) -> Result<Tree, Unfit> {
    let mut tree = Tree::new_mapping();
    let root = convert::build(&mut tree, value, heap, DEPTH)?;
    tree.set_root(root);
    Ok(tree)
}

fn changed<'v>(original: Original, value: Value<'v>, heap: Heap<'v>) -> Result<Tree, Unfit> {
    let Original { tree, expanded } = original;
    let mut base = match expanded {
        None => tree,
        // aliases stay only where nothing changed: an anchor that changes would change them all
        Some(base) if convert::same(&base, base.root(), value, heap) => return Ok(tree),
        Some(base) => base,
    };
    let root = base.root();
    if let Some(root) = convert::update(&mut base, root, value, heap, DEPTH)? {
        base.set_root(root);
    }
    Ok(base)
}

#[cfg(test)]
mod tests;
