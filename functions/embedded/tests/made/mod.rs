//! The module that holds the small functions, as a component.
//!
//! The functions are linked with a C library whose `malloc`, when it is first called, takes all memory that it finds for
//! its own, also the pages that the adapter added before. (Libraries since 2023 do not.) So the adapter gets its memory from
//! a function that is added here, from below the program's stack, of which the functions need little.

use std::path::{Path, PathBuf};

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
};
use wasm_encoder::reencode::{self, Reencode, utils};
use wasm_encoder::{
    CodeSection, ConstExpr, ExportKind, ExportSection, Function, FunctionSection, GlobalSection, GlobalType,
    TypeSection, ValType,
};
use wit_component::ComponentEncoder;

/// As `cargo xtask functions` left it.
const MODULE: &str = "catalog-small.wasm";

/// Where the adapter's memory begins. The first page or two of the stack's end.
const FREE: i32 = 1024;

/// The component; none where the functions are not built.
pub(crate) fn component() -> Option<Vec<u8>> {
    let dir = std::env::var_os("PORTICO_FUNCTIONS_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/functions"), PathBuf::from);
    let wasm = std::fs::read(dir.join(MODULE)).ok()?;
    let module = with_realloc(&wasm);
    let encoder = ComponentEncoder::default().module(&module).expect("a module");
    let adapted = encoder.adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER);
    Some(adapted.and_then(|encoder| encoder.validate(true).encode()).expect("a component"))
}

fn with_realloc(wasm: &[u8]) -> Vec<u8> {
    let mut module = wasm_encoder::Module::new();
    let imported = wasmparser::Parser::new(0).parse_all(wasm).find_map(|payload| match payload.expect("a module") {
        wasmparser::Payload::ImportSection(section) => Some(section.into_imports().count()),
        _ => None,
    });
    // All that programs import are functions.
    let functions = u32::try_from(imported.unwrap_or(0)).expect("a small number");
    let mut adding = Adding { functions, ..Adding::default() };
    adding.parse_core_module(&mut module, wasmparser::Parser::new(0), wasm).expect("a module");
    module.finish()
}

/// Copies a module and adds `cabi_realloc`, which gives memory away and never takes it back.
#[derive(Default)]
struct Adding {
    ty: u32,
    /// Functions so far: those that are imported, then those of the module.
    functions: u32,
    /// Holds the address that comes next.
    global: u32,
}

type Copied = Result<(), reencode::Error<std::convert::Infallible>>;

impl Reencode for Adding {
    type Error = std::convert::Infallible;

    fn parse_type_section(&mut self, types: &mut TypeSection, section: wasmparser::TypeSectionReader<'_>) -> Copied {
        utils::parse_type_section(self, types, section)?;
        self.ty = types.len();
        types.ty().function([ValType::I32; 4], [ValType::I32]);
        Ok(())
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: wasmparser::FunctionSectionReader<'_>,
    ) -> Copied {
        utils::parse_function_section(self, functions, section)?;
        self.functions += functions.len();
        functions.function(self.ty);
        Ok(())
    }

    fn parse_global_section(
        &mut self,
        globals: &mut GlobalSection,
        section: wasmparser::GlobalSectionReader<'_>,
    ) -> Copied {
        utils::parse_global_section(self, globals, section)?;
        self.global = globals.len();
        let ty = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
        globals.global(ty, &ConstExpr::i32_const(FREE));
        Ok(())
    }

    fn parse_export_section(
        &mut self,
        exports: &mut ExportSection,
        section: wasmparser::ExportSectionReader<'_>,
    ) -> Copied {
        utils::parse_export_section(self, exports, section)?;
        exports.export("cabi_realloc", ExportKind::Func, self.functions);
        Ok(())
    }

    fn parse_code_section(&mut self, code: &mut CodeSection, section: wasmparser::CodeSectionReader<'_>) -> Copied {
        utils::parse_code_section(self, code, section)?;
        // Old address and size, alignment, new size; the address that is given.
        let (alignment, size, given) = (2, 3, 4);
        let mut body = Function::new([(1, ValType::I32)]);
        body.instructions()
            .global_get(self.global)
            .local_get(alignment)
            .i32_add()
            .i32_const(1)
            .i32_sub()
            .i32_const(0)
            .local_get(alignment)
            .i32_sub()
            .i32_and()
            .local_tee(given)
            .local_get(size)
            .i32_add()
            .global_set(self.global)
            .local_get(given)
            .end();
        code.function(&body);
        Ok(())
    }
}
