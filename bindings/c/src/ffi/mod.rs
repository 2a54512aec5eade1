//! The functions of `portico.h`.
//!
//! Contract, for all of them, as the header states it: pointers that are not NULL point to what their type says, for the
//! length of the call (handles: until they are freed, once), with the lengths that stand beside them; nobody writes to
//! what goes in during the call; out parameters may be written. What can be checked is checked: NULL, alignment, lengths
//! that no object can have, UTF-8, numbers that stand for a choice, sizes of structs.
#![expect(unsafe_code, reason = "C calls these, with pointers; contract above")]
#![expect(clippy::missing_safety_doc, reason = "the contract is that of the module and of `portico.h`")]

mod input;
mod options;
mod results;

use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

pub use self::results::*;
use crate::abi;
use crate::engine::Engine;
use crate::error::{Error, ErrorReport};
use crate::queue::words;
use crate::render::Render;
use crate::report::Report;

/// The numbers of the header that this library has.
#[unsafe(no_mangle)]
pub extern "C" fn portico_abi_version() -> u32 {
    abi::ABI_VERSION
}

/// The version as a C string.
#[unsafe(no_mangle)]
pub extern "C" fn portico_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };
    VERSION.as_ptr()
}

/// Makes an engine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_engine_new(
    options: *const abi::EngineOptions,
    engine: *mut *mut Engine,
    error: *mut *mut ErrorReport,
) -> i32 {
    // SAFETY: the module's contract, for the three pointers.
    unsafe {
        guarded(engine, "engine", error, || {
            let settings = options::engine(options)?;
            Ok(Box::into_raw(Box::new(Engine::new(settings)?)))
        })
    }
}

/// Frees an engine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_engine_free(engine: *mut Engine) {
    if !engine.is_null() {
        // SAFETY: it comes from `portico_engine_new` and is freed once.
        quietly(|| drop(unsafe { Box::from_raw(engine) }));
    }
}

/// Starts a render.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_render(
    engine: *mut Engine,
    files: *const abi::File,
    file_count: usize,
    options: *const abi::RenderOptions,
    render: *mut *mut Render,
    error: *mut *mut ErrorReport,
) -> i32 {
    // SAFETY: the module's contract, for all pointers.
    unsafe {
        guarded(render, "render", error, || {
            let engine = engine.as_ref().ok_or_else(|| Error::argument("engine", "is NULL"))?;
            let settings = options::render(options)?;
            let files = options::files(files, file_count)?;
            Ok(Arc::into_raw(engine.render(files, settings)?).cast_mut())
        })
    }
}

/// Starts one function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_evaluate(
    engine: *mut Engine,
    image: abi::Text,
    resource_list: abi::Text,
    options: *const abi::RenderOptions,
    render: *mut *mut Render,
    error: *mut *mut ErrorReport,
) -> i32 {
    // SAFETY: the module's contract, for all pointers.
    unsafe {
        guarded(render, "render", error, || {
            let engine = engine.as_ref().ok_or_else(|| Error::argument("engine", "is NULL"))?;
            let settings = options::render(options)?;
            let image = input::utf8("image", image)?.to_owned();
            let resource_list = input::bytes("resource_list", resource_list)?.to_vec();
            Ok(Arc::into_raw(engine.evaluate(image, resource_list, settings)?).cast_mut())
        })
    }
}

/// Waits for a render.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_wait(
    render: *mut Render,
    timeout_milliseconds: i64,
    result: *mut *const Report,
    error: *mut *mut ErrorReport,
) -> i32 {
    let mut pending = false;
    // SAFETY: the module's contract, for all pointers. `*const Report` and `*mut Report` are the same to C.
    let code = unsafe {
        guarded(result.cast::<*mut Report>(), "result", error, || {
            let render = render.as_ref().ok_or_else(|| Error::argument("render", "is NULL"))?;
            let timeout = u64::try_from(timeout_milliseconds).ok().map(Duration::from_millis);
            let Some(end) = render.wait(timeout) else {
                pending = true;
                return Ok(ptr::null_mut());
            };
            // The render keeps it as long as it lives: its end is never replaced.
            Ok(Arc::as_ptr(&end?).cast_mut())
        })
    };
    if pending { abi::PENDING } else { code }
}

/// Stops a render.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_cancel(render: *mut Render) {
    // SAFETY: the module's contract.
    if let Some(render) = unsafe { render.as_ref() } {
        quietly(|| render.cancel());
    }
}

/// Frees a render.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_render_free(render: *mut Render) {
    if !render.is_null() {
        quietly(|| {
            // SAFETY: it comes from `portico_render`, which gave this count of it away, and is freed once.
            let render = unsafe { Arc::from_raw(render.cast_const()) };
            render.cancel();
        });
    }
}

/// The number of an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_error_code(error: *const ErrorReport) -> i32 {
    // SAFETY: the module's contract.
    unsafe { error.as_ref() }.map_or(abi::OK, ErrorReport::code)
}

/// The words of an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_error_message(error: *const ErrorReport) -> *const c_char {
    // SAFETY: the module's contract.
    unsafe { error.as_ref() }.map_or(c"", ErrorReport::message).as_ptr()
}

/// Frees an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn portico_error_free(error: *mut ErrorReport) {
    if !error.is_null() {
        // SAFETY: it comes from a function of this module and is freed once.
        quietly(|| drop(unsafe { Box::from_raw(error) }));
    }
}

/// Does what a function is for, and answers as C expects: a number, the value in `out`, an error in `error`.
///
/// # Safety
///
/// Both pointers are NULL or may be written.
unsafe fn guarded<T>(
    out: *mut *mut T,
    name: &str,
    error: *mut *mut ErrorReport,
    work: impl FnOnce() -> Result<*mut T, Error>,
) -> i32 {
    // SAFETY: this function's contract.
    let out = unsafe {
        if let Some(error) = error.as_mut() {
            *error = ptr::null_mut();
        }
        out.as_mut()
    };
    // Whatever a panic leaves behind is not looked at again: what was made is dropped on the way.
    let done = catch_unwind(AssertUnwindSafe(|| {
        let out = out.ok_or_else(|| Error::argument(name, "is NULL; it must point to where the answer goes"))?;
        *out = ptr::null_mut();
        *out = work()?;
        Ok(())
    }));
    let failure = match done {
        Ok(Ok(())) => return abi::OK,
        Ok(Err(failure)) => failure,
        Err(panic) => Error::Panic(words(&*panic)),
    };
    // SAFETY: as above.
    if let Some(error) = unsafe { error.as_mut() } {
        *error = Box::into_raw(Box::new(ErrorReport::new(&failure)));
    }
    failure.code()
}

/// Does something that nobody expects to fail; a panic is told by the hook alone.
fn quietly(work: impl FnOnce()) {
    drop(catch_unwind(AssertUnwindSafe(work)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let mut out: *mut u8 = ptr::null_mut();
        let mut error = ptr::null_mut();
        // SAFETY: both point to variables.
        let code = unsafe { guarded(&raw mut out, "out", &raw mut error, || panic!("as planned")) };
        assert_eq!(code, abi::INTERNAL);
        // SAFETY: the error was made above, and is freed once.
        unsafe {
            let message = CStr::from_ptr(portico_error_message(error)).to_str().unwrap().to_owned();
            assert_eq!(message, "internal error: as planned; please report it");
            assert_eq!(portico_error_code(error), abi::INTERNAL);
            portico_error_free(error);
        }
    }
}
