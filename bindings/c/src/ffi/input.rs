//! From pointers to values, with all the checks that can be made.

use std::ffi::OsStr;
use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::abi::{self, Text};
use crate::error::Error;

/// Structs of which the caller says the size, since programs may be older or newer than this library.
///
/// # Safety
///
/// `repr(C)`, begins with the size as a `usize`, and may hold any bytes: numbers and raw pointers.
pub(super) unsafe trait Versioned: Copy {
    /// The argument, for messages.
    const NAME: &'static str;
    /// Bytes of the first version that there was.
    const LEAST: usize;
}

// SAFETY: numbers and raw pointers behind a `usize`, `repr(C)`.
unsafe impl Versioned for abi::EngineOptions {
    const NAME: &'static str = "options";
    const LEAST: usize = offset_of!(abi::EngineOptions, limit_count) + size_of::<usize>();
}

// SAFETY: as above.
unsafe impl Versioned for abi::RenderOptions {
    const NAME: &'static str = "options";
    const LEAST: usize = offset_of!(abi::RenderOptions, reserved) + size_of::<u32>();
}

// SAFETY: as above.
unsafe impl Versioned for abi::Step {
    const NAME: &'static str = "step";
    const LEAST: usize = offset_of!(abi::Step, state) + size_of::<u32>();
}

/// The size that the caller says its struct has.
///
/// # Safety
///
/// The pointer points to a struct of at least the size that stands in it, or to a `usize` that is too small.
pub(super) unsafe fn size_of_callers<T: Versioned>(pointer: *const T) -> Result<usize, Error> {
    if !pointer.is_aligned() {
        return Err(Error::argument(T::NAME, "is not aligned"));
    }
    // SAFETY: aligned, and by this function's contract there is a `usize` at least.
    let size = unsafe { pointer.cast::<usize>().read() };
    if size < T::LEAST || size > isize::MAX.cast_unsigned() {
        let problem = format!("has a `struct_size` of {size}, at least {} are needed; set it to its sizeof", T::LEAST);
        return Err(Error::argument(T::NAME, problem));
    }
    Ok(size)
}

/// Reads a struct: what an older program has not got is zero, what a newer program has beyond must be.
///
/// # Safety
///
/// As [`size_of_callers`].
pub(super) unsafe fn versioned<T: Versioned>(pointer: *const T) -> Result<T, Error> {
    // SAFETY: this function's contract.
    let size = unsafe { size_of_callers(pointer) }?;
    let mut value = std::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: there are `size` bytes to read and as many as `T` has to write; any bytes are a value of `T`.
    let (value, beyond) = unsafe {
        std::ptr::copy_nonoverlapping(pointer.cast::<u8>(), value.as_mut_ptr().cast::<u8>(), size.min(size_of::<T>()));
        let rest = size.saturating_sub(size_of::<T>());
        let beyond = std::slice::from_raw_parts(pointer.cast::<u8>().add(size - rest), rest);
        (value.assume_init(), beyond)
    };
    if beyond.iter().any(|byte| *byte != 0) {
        return Err(Error::argument(T::NAME, "sets something that this library is too old to know; use a newer one"));
    }
    Ok(value)
}

/// An array.
///
/// # Safety
///
/// NULL, or as many elements, which stay unchanged for `'a`.
pub(super) unsafe fn slice<'a, T>(name: &str, pointer: *const T, count: usize) -> Result<&'a [T], Error> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(Error::argument(name, format!("is NULL, but is to have {count} elements")));
    }
    if !pointer.is_aligned() {
        return Err(Error::argument(name, "is not aligned"));
    }
    if count > isize::MAX.cast_unsigned() / size_of::<T>().max(1) {
        return Err(Error::argument(name, format!("can't have {count} elements")));
    }
    // SAFETY: this function's contract, and the checks above.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// The bytes of a text; an absent one has none.
///
/// # Safety
///
/// As [`slice`], for what it points to.
pub(super) unsafe fn bytes<'a>(name: &str, text: Text) -> Result<&'a [u8], Error> {
    // SAFETY: this function's contract.
    unsafe { slice(name, text.data.cast::<u8>(), text.len) }
}

/// A text that has to be UTF-8.
///
/// # Safety
///
/// As [`bytes`].
pub(super) unsafe fn utf8<'a>(name: &str, text: Text) -> Result<&'a str, Error> {
    // SAFETY: this function's contract.
    let bytes = unsafe { bytes(name, text) }?;
    std::str::from_utf8(bytes).map_err(|error| Error::argument(name, format!("is not UTF-8: {error}")))
}

/// The path of a file; `None` for an absent or empty text.
///
/// # Safety
///
/// As [`bytes`].
pub(super) unsafe fn path(name: &str, text: Text) -> Result<Option<PathBuf>, Error> {
    // SAFETY: this function's contract.
    let bytes = unsafe { bytes(name, text) }?;
    if bytes.contains(&0) {
        return Err(Error::argument(name, "has a zero byte in it, which no path may have"));
    }
    Ok((!bytes.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(bytes))))
}
