//! Reads results.

use std::ptr;

use super::input;
use crate::abi::{self, Text};
use crate::report::Report;

/// How a render ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_result_status(result: *const Report) -> i32 {
    // SAFETY: the module's contract.
    unsafe { result.as_ref() }.map_or(abi::STATUS_BAD_PACKAGE, Report::status)
}

/// Why it failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_result_message(result: *const Report) -> Text {
    // SAFETY: the module's contract.
    unsafe { result.as_ref() }.map_or(Text::EMPTY, Report::message)
}

/// Where it failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_result_failed_package(result: *const Report) -> Text {
    // SAFETY: the module's contract.
    unsafe { result.as_ref() }.map_or(Text::EMPTY, Report::failed_package)
}

/// With which step it failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_result_failed_step(result: *const Report) -> i64 {
    // SAFETY: the module's contract.
    unsafe { result.as_ref() }.map_or(-1, Report::failed_step)
}

/// Whether the changes are unfinished.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_result_saved_on_failure(result: *const Report) -> i32 {
    // SAFETY: the module's contract.
    unsafe { result.as_ref() }.is_some_and(Report::saved_on_failure).into()
}

/// What the functions reported.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_result_yaml(result: *const Report) -> Text {
    // SAFETY: the module's contract.
    unsafe { result.as_ref() }.map_or(Text::EMPTY, Report::results)
}

/// What the function of `portico_evaluate` wrote.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_result_output(result: *const Report) -> Text {
    // SAFETY: the module's contract.
    unsafe { result.as_ref() }.map_or(Text::EMPTY, Report::output)
}

/// How many packages there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_result_packages(result: *const Report) -> usize {
    // SAFETY: the module's contract.
    unsafe { result.as_ref() }.map_or(0, Report::packages)
}

/// How many files change.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_result_changes(result: *const Report) -> usize {
    // SAFETY: the module's contract.
    unsafe { result.as_ref() }.map_or(0, Report::change_count)
}

/// One change.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_result_change(result: *const Report, at: usize, change: *mut abi::Change) -> i32 {
    // SAFETY: the module's contract.
    let (result, change) = unsafe { (result.as_ref(), change.as_mut()) };
    let Some(change) = change else { return abi::INVALID_ARGUMENT };
    let found = result.and_then(|result| result.change(at));
    *change = found.unwrap_or(abi::Change::EMPTY);
    if found.is_some() { abi::OK } else { abi::INVALID_ARGUMENT }
}

/// How many steps there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_result_steps(result: *const Report) -> usize {
    // SAFETY: the module's contract.
    unsafe { result.as_ref() }.map_or(0, Report::step_count)
}

/// One step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_result_step(result: *const Report, at: usize, step: *mut abi::Step) -> i32 {
    if step.is_null() {
        return abi::INVALID_ARGUMENT;
    }
    // SAFETY: the module's contract: the caller has set the size of its struct.
    let Ok(size) = (unsafe { input::size_of_callers(step) }) else { return abi::INVALID_ARGUMENT };
    // SAFETY: the module's contract.
    let found = unsafe { result.as_ref() }.and_then(|result| result.step(at));
    let value = abi::Step { struct_size: size, ..found.unwrap_or(abi::Step::EMPTY) };
    // SAFETY: the caller's struct has `size` bytes, ours as many as it has: the smaller number is copied, and what the
    // caller's has beyond ours is zero.
    unsafe {
        let (from, to) = ((&raw const value).cast::<u8>(), step.cast::<u8>());
        let common = size.min(size_of::<abi::Step>());
        ptr::copy_nonoverlapping(from, to, common);
        ptr::write_bytes(to.add(common), 0, size - common);
    }
    if found.is_some() { abi::OK } else { abi::INVALID_ARGUMENT }
}

/// How many warnings there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_result_warnings(result: *const Report) -> usize {
    // SAFETY: the module's contract.
    unsafe { result.as_ref() }.map_or(0, Report::warning_count)
}

/// One warning.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_result_warning(result: *const Report, at: usize) -> Text {
    // SAFETY: the module's contract.
    unsafe { result.as_ref() }.and_then(|result| result.warning(at)).unwrap_or(Text::EMPTY)
}
