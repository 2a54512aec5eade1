//! Whether every function that a template calls is there, and none needs itself.

use std::collections::BTreeMap;

use regorus::Engine;

use crate::builtins::is_builtin;
use crate::scan::Scan;

/// A text of a template that is compiled.
#[derive(Debug)]
pub(crate) struct Module<'r> {
    /// How messages name it, and the engine knows it: `rego`, `libs[0]`.
    pub(crate) place: String,
    /// `data.PACKAGE`.
    pub(crate) package: String,
    pub(crate) scan: Scan<'r>,
}

/// A function: its module and its name.
type Function<'m> = (usize, &'m str);

/// Checks the calls of all texts of a template; the error is the first fault.
pub(crate) fn check(engine: &Engine, modules: &[Module<'_>]) -> Result<(), String> {
    let mut calls: BTreeMap<Function<'_>, Vec<(Function<'_>, usize)>> = BTreeMap::new();
    for (number, module) in modules.iter().enumerate() {
        for call in &module.scan.calls {
            let Some(callee) = resolve(engine, modules, number, call.name) else {
                if is_builtin(call.name) {
                    continue;
                }
                return Err(format!("`{}`, line {}: there is no function `{}`", module.place, call.line, call.name));
            };
            if let Some(caller) = call.within {
                calls.entry((number, caller)).or_default().push((callee, call.line));
            }
        }
    }
    match cycle(&calls) {
        Some(((module, name), line)) => Err(format!(
            "`{}`, line {line}: function `{name}` calls itself, maybe through others: Rego has no recursion",
            modules[module].place
        )),
        None => Ok(()),
    }
}

/// The function of the template that a name in a module stands for.
fn resolve<'m>(engine: &Engine, modules: &'m [Module<'_>], within: usize, name: &'m str) -> Option<Function<'m>> {
    let module = &modules[within];
    let declares =
        |module: &Module<'_>, name: &str| engine.has_declared_rule_rooted_at(&module.place, name).unwrap_or(false);
    if declares(module, name) {
        return Some((within, name));
    }
    let (root, rest) = name.split_once('.')?;
    let (base, rest) = match module.scan.imports.get(root) {
        Some(path) => (*path, rest),
        None if root == "data" => ("data", rest),
        None => return None,
    };
    modules.iter().enumerate().find_map(|(number, module)| {
        // the name below the package, wherever the import ends
        let function = match module.package.strip_prefix(base) {
            Some("") => rest,
            Some(below) => rest.strip_prefix(below.strip_prefix('.')?)?.strip_prefix('.')?,
            None => return None,
        };
        declares(module, function).then_some((number, function))
    })
}

/// A function that is reached from itself, and the line of a call that leads there.
fn cycle<'m>(calls: &BTreeMap<Function<'m>, Vec<(Function<'m>, usize)>>) -> Option<(Function<'m>, usize)> {
    // false while a function is on the path that is being followed, true when nothing below it leads back
    let mut done: BTreeMap<Function<'m>, bool> = BTreeMap::new();
    for start in calls.keys() {
        let mut path = vec![(*start, 0)];
        while let Some((function, next)) = path.last_mut() {
            let function = *function;
            if *next == 0 && done.insert(function, false) == Some(true) {
                done.insert(function, true);
                path.pop();
                continue;
            }
            let Some((callee, line)) = calls.get(&function).and_then(|callees| callees.get(*next)) else {
                done.insert(function, true);
                path.pop();
                continue;
            };
            *next += 1;
            match done.get(callee) {
                Some(true) => {}
                Some(false) => return Some((*callee, *line)),
                None => path.push((*callee, 0)),
            }
        }
    }
    None
}
