//! Programs in WebAssembly text.

use std::fmt::Write as _;

/// What a program begins with: the calls it makes, a memory, and a helper that writes.
fn prelude(pages: usize) -> String {
    format!(
        r#"
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") {pages})
  (func $write (param $fd i32) (param $address i32) (param $length i32)
    (i32.store (i32.const 0) (local.get $address))
    (i32.store (i32.const 4) (local.get $length))
    (drop (call $fd_write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8))))
  ;; Copies the rest of stdin to stdout.
  (func $echo
    (loop $more
      (i32.store (i32.const 0) (i32.const 1024))
      (i32.store (i32.const 4) (i32.const 32768))
      (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
      (if (i32.load (i32.const 8))
        (then
          (call $write (i32.const 1) (i32.const 1024) (i32.load (i32.const 8)))
          (br $more)))))
"#
    )
}

/// A module from this text alone.
pub(super) fn bare(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// A program of two pages from these fields.
pub(super) fn program(body: &str) -> Vec<u8> {
    importing("", body)
}

/// As [`program`], with further imports.
pub(super) fn importing(imports: &str, body: &str) -> Vec<u8> {
    bare(&format!("(module {imports} {} {body})", prelude(2)))
}

/// A program that only does this.
pub(super) fn main(code: &str) -> Vec<u8> {
    program(&format!(r#"(func (export "_start") {code})"#))
}

/// Where the texts of [`printing`] lie: behind the buffer of `$echo`.
const TEXT: usize = 65_536;

/// Prints a text and exits with 0.
pub(super) fn printing(text: &[u8]) -> Vec<u8> {
    let pages = 1 + (TEXT + text.len()).div_ceil(65_536);
    bare(&format!(
        r#"(module {} (data (i32.const {TEXT}) "{}")
          (func (export "_start") (call $write (i32.const 1) (i32.const {TEXT}) (i32.const {}))))"#,
        prelude(pages),
        escaped(text),
        text.len()
    ))
}

/// Gives its input back and adds a text: behind `items`, the last key of the input, further items.
pub(super) fn adding(text: &str) -> Vec<u8> {
    many("(call $echo)", text, "", 0)
}

/// Gives its input back, and adds a text and then another one so many times.
pub(super) fn adding_many(head: &str, text: &str, times: u32) -> Vec<u8> {
    many("(call $echo)", head, text, times)
}

/// Prints a head and then a text so many times.
pub(super) fn repeating(head: &str, text: &str, times: u32) -> Vec<u8> {
    many("", head, text, times)
}

/// The text is written many times with one call, as far as it fits into a buffer.
fn many(before: &str, head: &str, text: &str, times: u32) -> Vec<u8> {
    let at_once = (65_536 / text.len().max(1)).clamp(1, times.max(1) as usize);
    let (rounds, rest) = (times as usize / at_once, times as usize % at_once);
    let block = text.repeat(at_once);
    let head_at = TEXT + block.len();
    let pages = 1 + (head_at + head.len()).div_ceil(65_536);
    bare(&format!(
        r#"(module {prelude}
          (data (i32.const {TEXT}) "{block}")
          (data (i32.const {head_at}) "{head}")
          (func (export "_start") (local $left i32)
            {before}
            (call $write (i32.const 1) (i32.const {head_at}) (i32.const {head_length}))
            (local.set $left (i32.const {rounds}))
            (block $done
              (loop $more
                (br_if $done (i32.eqz (local.get $left)))
                (call $write (i32.const 1) (i32.const {TEXT}) (i32.const {block_length}))
                (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                (br $more)))
            (call $write (i32.const 1) (i32.const {TEXT}) (i32.const {rest_length}))))"#,
        prelude = prelude(pages),
        block = escaped(block.as_bytes()),
        head = escaped(head.as_bytes()),
        head_length = head.len(),
        block_length = block.len(),
        rest_length = rest * text.len(),
    ))
}

/// Gives its input back, or prints a head if there is one, and then a text so many times, in which the first eight zeroes
/// in a row become the number of each.
pub(super) fn numbered(head: &str, text: &str, times: u32) -> Vec<u8> {
    let digits = TEXT + text.find("00000000").expect("a place for the number");
    let head_at = TEXT + text.len();
    let pages = 1 + (head_at + head.len()).div_ceil(65_536);
    let start = if head.is_empty() {
        "(call $echo)".to_owned()
    } else {
        format!("(call $write (i32.const 1) (i32.const {head_at}) (i32.const {}))", head.len())
    };
    bare(&format!(
        r#"(module {prelude}
          (data (i32.const {TEXT}) "{text}")
          (data (i32.const {head_at}) "{head}")
          (func (export "_start") (local $left i32) (local $digit i32)
            {start}
            (local.set $left (i32.const {times}))
            (loop $more
              (call $write (i32.const 1) (i32.const {TEXT}) (i32.const {length}))
              (local.set $digit (i32.const {last}))
              (block $counted
                (loop $carry
                  (i32.store8 (local.get $digit) (i32.add (i32.load8_u (local.get $digit)) (i32.const 1)))
                  (br_if $counted (i32.le_u (i32.load8_u (local.get $digit)) (i32.const 57)))
                  (i32.store8 (local.get $digit) (i32.const 48))
                  (local.set $digit (i32.sub (local.get $digit) (i32.const 1)))
                  (br $carry)))
              (local.set $left (i32.sub (local.get $left) (i32.const 1)))
              (br_if $more (local.get $left)))))"#,
        prelude = prelude(pages),
        text = escaped(text.as_bytes()),
        head = escaped(head.as_bytes()),
        length = text.len(),
        last = digits + 7,
    ))
}

/// Bytes as WebAssembly text spells them.
pub(super) fn escaped(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 3), |mut all, byte| {
        _ = write!(all, "\\{byte:02x}");
        all
    })
}

/// Items of a module, one for each number.
pub(super) fn each(count: u32, item: impl Fn(u32) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(" ")
}
