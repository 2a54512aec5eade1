//! x
use std::io::Read;
use starlark::environment::{GlobalsBuilder, Module, LibraryExtension};
use starlark::eval::Evaluator;
use starlark::syntax::{AstModule, Dialect, DialectTypes};
fn main() {
    let mut s = String::new();
    std::io::stdin().read_to_string(&mut s).unwrap();
    let d = Dialect { enable_top_level_stmt: true, enable_types: DialectTypes::Disable, enable_load: true, ..Dialect::Standard };
    let g = GlobalsBuilder::extended_by(&[LibraryExtension::SetType, LibraryExtension::Print]).build();
    let r = AstModule::parse("x", s, &d).and_then(|ast| Module::with_temp_heap(|m| {
        let mut e = Evaluator::new(&m);
        if let Some(a) = std::env::args().nth(1) { e.set_max_callstack_size(a.parse().unwrap()).unwrap(); }
        e.eval_module(ast, &g)?;
        starlark::Result::Ok(())
    }));
    if let Err(e) = r { eprintln!("{:?} {}", e.kind(), e.without_diagnostic()); }
}
