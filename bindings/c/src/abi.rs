//! The structs and numbers of `portico.h`. Fields and their meaning are described there; a test has a C compiler compare
//! both.
#![expect(missing_docs, reason = "`portico.h` describes each field and constant; two descriptions would drift apart")]

use std::ffi::c_char;
use std::ptr;

pub const ABI_VERSION: u32 = 1;

pub const OK: i32 = 0;
pub const PENDING: i32 = 1;
pub const INVALID_ARGUMENT: i32 = 2;
pub const ABI_MISMATCH: i32 = 3;
pub const ENGINE: i32 = 4;
pub const BUSY: i32 = 5;
pub const PACKAGE: i32 = 6;
pub const CANCELLED: i32 = 7;
pub const WORKER: i32 = 8;
pub const INTERNAL: i32 = 9;

pub const COMPILE_FORBIDDEN: u32 = 0;
pub const COMPILE_CHILD: u32 = 1;

pub const STYLE_PRESERVE: u32 = 0;
pub const STYLE_KPT: u32 = 1;

pub const RECORD_FULL: u32 = 0;
pub const RECORD_CONDITIONS: u32 = 1;
pub const RECORD_NONE: u32 = 2;

pub const FLAG_CONDITIONS: u32 = 1;

pub const STATUS_RENDERED: i32 = 0;
pub const STATUS_BAD_PACKAGE: i32 = 1;
pub const STATUS_UNRESOLVED: i32 = 2;
pub const STATUS_FUNCTION_FAILED: i32 = 3;
pub const STATUS_BAD_OUTPUT: i32 = 4;

pub const STEP_MUTATOR: u32 = 0;
pub const STEP_VALIDATOR: u32 = 1;

pub const STEP_PASSED: u32 = 0;
pub const STEP_FAILED: u32 = 1;
pub const STEP_SKIPPED: u32 = 2;
pub const STEP_NOT_RUN: u32 = 3;

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Text {
    pub data: *const c_char,
    pub len: usize,
}

impl Text {
    /// No bytes, with a zero byte behind them.
    pub const EMPTY: Text = Text { data: c"".as_ptr(), len: 0 };
    /// An absent text.
    pub const ABSENT: Text = Text { data: ptr::null(), len: 0 };
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct File {
    pub path: Text,
    pub content: Text,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    pub name: Text,
    pub value: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Function {
    pub image: Text,
    pub module: Text,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct EngineOptions {
    pub struct_size: usize,
    pub abi_version: u32,
    pub compile: u32,
    pub program: Text,
    pub cache_dir: Text,
    pub workers: u32,
    pub queue: u32,
    pub pool_slots: u32,
    pub isolate: u32,
    pub functions: *const Function,
    pub function_count: usize,
    pub function_dirs: *const Text,
    pub function_dir_count: usize,
    pub limits: *const Limit,
    pub limit_count: usize,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct RenderOptions {
    pub struct_size: usize,
    pub style: u32,
    pub record: u32,
    pub root: Text,
    pub tenant: Text,
    pub image_prefix: Text,
    pub limits: *const Limit,
    pub limit_count: usize,
    pub flags: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Change {
    pub path: Text,
    pub content: Text,
    pub deleted: u32,
    pub reserved: u32,
}

impl Change {
    /// None.
    pub const EMPTY: Change = Change { path: Text::EMPTY, content: Text::EMPTY, deleted: 0, reserved: 0 };
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub struct_size: usize,
    pub package: Text,
    pub name: Text,
    pub image: Text,
    pub execution_error: Text,
    pub cause: Text,
    pub stderr_text: Text,
    pub stderr_dropped: u64,
    pub elapsed_nanoseconds: u64,
    pub fuel: u64,
    pub peak_memory: u64,
    pub resources: i64,
    pub exit_code: i32,
    pub kind: u32,
    pub index: u32,
    pub state: u32,
}

impl Step {
    /// None.
    pub const EMPTY: Step = Step {
        struct_size: size_of::<Step>(),
        package: Text::EMPTY,
        name: Text::EMPTY,
        image: Text::EMPTY,
        execution_error: Text::EMPTY,
        cause: Text::EMPTY,
        stderr_text: Text::EMPTY,
        stderr_dropped: 0,
        elapsed_nanoseconds: 0,
        fuel: 0,
        peak_memory: 0,
        resources: -1,
        exit_code: 0,
        kind: STEP_MUTATOR,
        index: 0,
        state: STEP_NOT_RUN,
    };
}
