//! Functions that write for ever.

use super::text::main;
use super::{End, Row, row};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

const ONE: &str = "its adapter writes one range of a call";

/// Writes so many bytes at once, so many times, from a memory of so many pages.
fn flood(fd: u32, at_once: u64, times: u64, pages: u32) -> Vec<u8> {
    main(&format!(
        "(local $left i64)
         (drop (memory.grow (i32.const {pages})))
         (local.set $left (i64.const {times}))
         (loop $more
           (call $write (i32.const {fd}) (i32.const 16) (i32.const {at_once}))
           (local.set $left (i64.sub (local.get $left) (i64.const 1)))
           (br_if $more (i64.ne (local.get $left) (i64.const 0))))"
    ))
}

/// Writes a buffer of 1 MiB 1,024 times with one call.
fn scattered(fd: u32) -> Vec<u8> {
    main(&format!(
        "(local $at i32)
         (drop (memory.grow (i32.const 20)))
         (local.set $at (i32.const 16))
         (loop $more
           (i32.store (local.get $at) (i32.const 65536))
           (i32.store offset=4 (local.get $at) (i32.const 1048576))
           (local.set $at (i32.add (local.get $at) (i32.const 8)))
           (br_if $more (i32.lt_u (local.get $at) (i32.const 8208))))
         (loop $again
           (drop (call $fd_write (i32.const {fd}) (i32.const 16) (i32.const 1024) (i32.const 8)))
           (br $again))"
    ))
}

pub(super) fn rows() -> Vec<Row> {
    let full = &["wrote more than 128 MiB to stdout"];
    // Together with the two pages of the beginning.
    let one_gib = 16_384 - 2;
    vec![
        // Refused before a byte is copied.
        row("1 GiB to stdout in one write", move || flood(1, GIB - 65_536, 1, one_gib))
            .bound(|bounds| bounds.fuel = Some(200_000_000))
            .ends(End::Stdout, full)
            // Its adapter has pages of its own: there is no such memory, and no such write.
            .component_ends(End::Somehow, &[]),
        row("1 GiB to stdout in writes of 1 MiB", || flood(1, MIB, 1024, 20))
            .bound(|bounds| (bounds.fuel, bounds.stdout) = (Some(20_000_000), Some(8 * MIB)))
            .ends(End::Stdout, &["to stdout"]),
        row("1 GiB to stdout in one-byte writes", || flood(1, 1, GIB, 0))
            .bound(|bounds| (bounds.fuel, bounds.stdout) = (Some(40_000_000), Some(20_000)))
            // A command line that cannot set the bound of stdout meets that of fuel first.
            .ends(End::Stdout, &[]),
        row("1 GiB to stdout in one-byte writes, by its fuel", || flood(1, 1, GIB, 0))
            .ends(End::Fuel, &["used up the fuel budget"]),
        row("1 GiB to stdout in 1,024 pieces of one call", || scattered(1))
            .bound(|bounds| bounds.fuel = Some(200_000_000))
            .ends(End::Stdout, full)
            .no_component(ONE),
        row("empty writes to stdout for ever", || flood(1, 0, u64::MAX, 0))
            .ends(End::Fuel, &["used up the fuel budget"]),
        // What is not kept costs fuel, too.
        row("1 GiB to stderr in one write", move || {
            main(&format!(
                "(drop (memory.grow (i32.const {one_gib})))
                 (call $write (i32.const 2) (i32.const 16) (i32.const {}))
                 unreachable",
                GIB - 65_536
            ))
        })
        .bound(|bounds| bounds.fuel = Some(200_000_000))
        .ends(End::Trap("Unreachable"), &["it gave up"])
        .component_ends(End::Somehow, &[]),
        row("1 GiB to stderr in one-byte writes", || flood(2, 1, GIB, 0)).ends(End::Fuel, &["used up the fuel budget"]),
        row("1 GiB to stderr in 1,024 pieces of one call", || scattered(2))
            .bound(|bounds| bounds.fuel = Some(200_000_000))
            .ends(End::Fuel, &["used up the fuel budget"])
            .no_component(ONE),
        row("empty writes to stderr for ever", || flood(2, 0, u64::MAX, 0))
            .ends(End::Fuel, &["used up the fuel budget"]),
        row("control characters on stderr", || {
            super::text::program(
                r#"(data (i32.const 64) "\1b[2J\1b]0;title\07\r\00\ff\fe\e2\80\aegnp\n")
                   (func (export "_start")
                     (call $write (i32.const 2) (i32.const 64) (i32.const 30))
                     (call $exit (i32.const 1)))"#,
            )
        })
        .ends(End::Exit(1), &["failed with exit code 1"]),
    ]
}
