//! The ceilings of a component.
//!
//! A component is a small program of its own that puts modules together: it may define each of them once and instantiate
//! it often, within components that are instantiated often themselves. The compiler follows all of that, so what counts
//! is not what stands in the file but what becomes of it: twenty components of two lines each, every one instantiating
//! the one before it twice, are a million instances.

use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind, ComponentTypeRef, Encoding,
    Instance, Parser, Payload,
};

use super::{Counts, ceiling, invalid};
use crate::error::ModuleError;

/// Modules that stand in a component and in the components within it. Toolchains make four of them, and one for each
/// library that is linked when the program starts.
const MODULES: u64 = 64;

/// Components that stand in a component.
const COMPONENTS: u64 = 64;

/// Instances of modules that running the component makes. Each takes a slot of a pooled engine.
const CORE_INSTANCES: u64 = 64;

/// Instances of everything that running the component makes.
const INSTANCES: u64 = 1_000;

/// Items of each kind that are written down in a component: types, imports, exports, aliases, conversions.
const ITEMS: u64 = 10_000;

/// What to tell an author whose component has nothing to run.
const NO_RUN_ADVICE: &str =
    "build it as a program (with a `main`) for WASI 0.2, for example with the Rust target `wasm32-wasip2`";

/// The export that makes a component a program, without its version.
const RUN: &str = "wasi:cli/run";

/// The interfaces of WASI 0.2 that a component may import: those of a command line program. What a function does not
/// get of them (files, sockets) answers with an error, so that programs link and libraries can try.
pub(crate) const INTERFACES: [&str; 27] = [
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:random/random",
    "wasi:sockets/instance-network",
    "wasi:sockets/ip-name-lookup",
    "wasi:sockets/network",
    "wasi:sockets/tcp",
    "wasi:sockets/tcp-create-socket",
    "wasi:sockets/udp",
    "wasi:sockets/udp-create-socket",
];

/// Checks a component and all modules in it.
pub(super) fn structure(wasm: &[u8]) -> Result<(), ModuleError> {
    walk(wasm, true).map(drop)
}

/// How many instances of modules a run makes: what it takes of a pool. For a component that passed [`structure`].
pub(crate) fn core_instances(wasm: &[u8]) -> Result<u32, ModuleError> {
    walk(wasm, false).map(|weight| u32::try_from(weight.core).unwrap_or(u32::MAX))
}

/// What instantiating a component makes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Weight {
    /// Instances of modules.
    core: u64,
    /// Instances of modules and components.
    all: u64,
}

impl Weight {
    fn add(&mut self, other: Self) {
        self.core = self.core.saturating_add(other.core);
        self.all = self.all.saturating_add(other.all);
    }

    fn max(self, other: Self) -> Self {
        Self { core: self.core.max(other.core), all: self.all.max(other.all) }
    }

    fn check(self) -> Result<(), ModuleError> {
        ceiling("instances of modules", self.core, CORE_INSTANCES)?;
        ceiling("instances", self.all, INSTANCES)
    }
}

/// The component or module whose sections are being read.
enum Scope {
    Module(Counts),
    Component(Nested),
}

#[derive(Default)]
struct Nested {
    weight: Weight,
    /// The components that can be named here, by their index.
    components: Vec<Weight>,
}

#[derive(Default)]
struct Walk {
    /// From the outermost inwards.
    scopes: Vec<Scope>,
    modules: u64,
    components: u64,
    /// No component read so far makes more than this. For those that are reached through another instance's exports:
    /// they are among the ones that were read.
    heaviest: Weight,
    items: u64,
    unknown: Vec<String>,
    runs: bool,
}

fn walk(wasm: &[u8], code: bool) -> Result<Weight, ModuleError> {
    let mut walk = Walk::default();
    let mut root = Weight::default();
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.map_err(invalid)? {
            Payload::Version { encoding, .. } => walk.begin(encoding)?,
            Payload::End(_) => root = walk.end()?,
            payload => match walk.scopes.last_mut() {
                Some(Scope::Module(_)) if !code => {}
                Some(Scope::Module(counts)) => counts.look(payload)?,
                _ => walk.look(payload)?,
            },
        }
    }
    if code {
        walk.finish()?;
    }
    Ok(root)
}

impl Walk {
    fn begin(&mut self, encoding: Encoding) -> Result<(), ModuleError> {
        self.scopes.push(match encoding {
            Encoding::Module => {
                self.modules += 1;
                ceiling("modules", self.modules, MODULES)?;
                Scope::Module(Counts { nested: true, ..Counts::default() })
            }
            Encoding::Component => {
                self.components += 1;
                ceiling("components", self.components, COMPONENTS + 1)?;
                Scope::Component(Nested::default())
            }
        });
        Ok(())
    }

    /// Ends the innermost scope and tells what it makes.
    fn end(&mut self) -> Result<Weight, ModuleError> {
        let Some(Scope::Component(ended)) = self.scopes.pop() else { return Ok(Weight::default()) };
        ended.weight.check()?;
        self.heaviest = self.heaviest.max(ended.weight);
        if let Some(Scope::Component(outer)) = self.scopes.last_mut() {
            outer.components.push(ended.weight);
        }
        Ok(ended.weight)
    }

    fn items(&mut self, count: u32) -> Result<(), ModuleError> {
        self.items += u64::from(count);
        ceiling("types, imports, exports, aliases and conversions", self.items, ITEMS)
    }

    /// A section of the innermost component.
    fn look(&mut self, payload: Payload<'_>) -> Result<(), ModuleError> {
        match payload {
            Payload::CoreTypeSection(reader) => self.items(reader.count())?,
            Payload::ComponentTypeSection(reader) => self.items(reader.count())?,
            Payload::ComponentCanonicalSection(reader) => self.items(reader.count())?,
            Payload::ComponentImportSection(reader) => {
                self.items(reader.count())?;
                for import in reader {
                    let import = import.map_err(invalid)?;
                    if matches!(import.ty, ComponentTypeRef::Component(_)) {
                        self.name(self.heaviest);
                    }
                    if self.scopes.len() == 1 && !is_offered(import.name.name, import.ty) {
                        self.unknown.push(import.name.name.to_owned());
                    }
                }
            }
            Payload::ComponentExportSection(reader) => {
                self.items(reader.count())?;
                for export in reader {
                    let export = export.map_err(invalid)?;
                    match export.kind {
                        // What is exported gets a name of its own.
                        ComponentExternalKind::Component => {
                            let weight = self.weight_of(0, export.index);
                            self.name(weight);
                        }
                        ComponentExternalKind::Instance if self.scopes.len() == 1 => {
                            self.runs |= interface(export.name.name) == Some(RUN);
                        }
                        _ => {}
                    }
                }
            }
            Payload::ComponentAliasSection(reader) => {
                self.items(reader.count())?;
                for alias in reader {
                    match alias.map_err(invalid)? {
                        ComponentAlias::InstanceExport { kind: ComponentExternalKind::Component, .. } => {
                            self.name(self.heaviest);
                        }
                        ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, count, index } => {
                            let weight = self.weight_of(count, index);
                            self.name(weight);
                        }
                        _ => {}
                    }
                }
            }
            Payload::InstanceSection(reader) => {
                ceiling("instances", reader.count().into(), INSTANCES)?;
                for instance in reader {
                    let made = match instance.map_err(invalid)? {
                        Instance::Instantiate { .. } => Weight { core: 1, all: 1 },
                        Instance::FromExports(_) => Weight { core: 0, all: 1 },
                    };
                    self.make(made)?;
                }
            }
            Payload::ComponentInstanceSection(reader) => {
                ceiling("instances", reader.count().into(), INSTANCES)?;
                for instance in reader {
                    let mut made = Weight { core: 0, all: 1 };
                    if let ComponentInstance::Instantiate { component_index, .. } = instance.map_err(invalid)? {
                        made.add(self.weight_of(0, component_index));
                    }
                    self.make(made)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn make(&mut self, made: Weight) -> Result<(), ModuleError> {
        let Some(Scope::Component(nested)) = self.scopes.last_mut() else { return Ok(()) };
        nested.weight.add(made);
        nested.weight.check()
    }

    /// Gives the next index to a component.
    fn name(&mut self, weight: Weight) {
        if let Some(Scope::Component(nested)) = self.scopes.last_mut() {
            nested.components.push(weight);
        }
    }

    /// What the component of this index makes, so many scopes outwards. An index that does not exist is for the compiler
    /// to refuse.
    fn weight_of(&self, outwards: u32, index: u32) -> Weight {
        let scope = self.scopes.iter().rev().nth(outwards as usize);
        match scope {
            Some(Scope::Component(nested)) => nested.components.get(index as usize).copied().unwrap_or(self.heaviest),
            _ => self.heaviest,
        }
    }

    fn finish(self) -> Result<(), ModuleError> {
        if let Some(first) = self.unknown.first() {
            let advice = advice(first);
            let mut names: Vec<String> = self.unknown.iter().take(3).map(|name| format!("`{name}`")).collect();
            if self.unknown.len() > 3 {
                names.push("more".into());
            }
            return Err(ModuleError::MissingImport { imports: names.join(", "), advice });
        }
        if self.runs { Ok(()) } else { Err(ModuleError::NoRun { advice: NO_RUN_ADVICE }) }
    }
}

/// The interface that a name of WASI 0.2 means. Its releases only add to each other, so any will do.
fn interface(name: &str) -> Option<&str> {
    let (interface, version) = name.split_once('@')?;
    let patch = version.strip_prefix("0.2.")?;
    (!patch.is_empty() && patch.bytes().all(|byte| byte.is_ascii_digit())).then_some(interface)
}

fn is_offered(name: &str, ty: ComponentTypeRef) -> bool {
    match ty {
        ComponentTypeRef::Instance(_) => interface(name).is_some_and(|interface| INTERFACES.contains(&interface)),
        // A name for a type that is known already needs nothing from us.
        ComponentTypeRef::Type(wasmparser::TypeBounds::Eq(_)) => true,
        _ => false,
    }
}

/// What an unknown import tells about how the component was built.
fn advice(name: &str) -> &'static str {
    let (interface, version) = name.split_once('@').unwrap_or((name, ""));
    match interface {
        _ if INTERFACES.contains(&interface) && version.starts_with("0.2.") => {
            "it was built for a draft of WASI 0.2: build it anew with a current toolchain"
        }
        _ if interface.starts_with("wasi:") && version.starts_with("0.3") => {
            "it was built for WASI 0.3: build it for WASI 0.2, for example with the Rust target `wasm32-wasip2`"
        }
        _ if interface.starts_with("wasi:http/") => "functions have no network: give them what they need as input",
        _ => "build it as a command line program for WASI 0.2, which gets stdin, stdout, stderr and its arguments",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(text: &str) -> Result<u64, ModuleError> {
        walk(&wat::parse_str(text).unwrap_or_else(|error| panic!("{error}")), false).map(|weight| weight.core)
    }

    #[test]
    fn instances_are_counted_as_often_as_they_are_made() {
        let inner = "(component $c (core module $m) (core instance (instantiate $m)) (core instance (instantiate $m)))";
        for (uses, expected) in
            [("", 0), ("(instance (instantiate $c))", 2), ("(instance (instantiate $c))".repeat(3).as_str(), 6)]
        {
            assert_eq!(weight(&format!("(component {inner} {uses})")).unwrap(), expected);
        }
    }

    #[test]
    fn a_component_behind_an_alias_or_an_export_is_counted_too() {
        let text = r#"(component
            (component $c (core module $m) (core instance (instantiate $m)))
            (component $holder (component $inner (core module $m) (core instance (instantiate $m))) (export "c" (component $inner)))
            (instance $held (instantiate $holder))
            (alias export $held "c" (component $alias))
            (instance (instantiate $alias))
            (component $outer (alias outer 1 $c (component $again)) (instance (instantiate $again)) (instance (instantiate $again)))
            (instance (instantiate $outer)))"#;
        assert_eq!(weight(text).unwrap(), 3);
    }

    #[test]
    fn doubling_twenty_times_is_refused() {
        let twice = "(instance (instantiate $c))".repeat(2);
        let doubling: Vec<String> =
            (1..=20).map(|n| format!("(component $c{n} (alias outer 1 $c{} (component $c)) {twice})", n - 1)).collect();
        let text = format!(
            "(component (component $c0 (core module $m) (core instance (instantiate $m))) {} (instance (instantiate $c20)))",
            doubling.concat()
        );
        let error = weight(&text).unwrap_err().to_string();
        assert!(error.contains("instances of modules"), "{error}");
    }

    #[test]
    fn versions_of_wasi_are_told_apart() {
        assert_eq!(interface("wasi:cli/run@0.2.0"), Some("wasi:cli/run"));
        assert_eq!(interface("wasi:cli/run@0.2.12"), Some("wasi:cli/run"));
        for other in ["wasi:cli/run", "wasi:cli/run@0.3.0", "wasi:cli/run@0.2.0-rc-2023-11-10", "wasi:cli/run@0.2."] {
            assert_eq!(interface(other), None, "{other}");
        }
    }
}
