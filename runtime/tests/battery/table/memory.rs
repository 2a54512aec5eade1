//! Functions that want all the memory there is.

use super::text::{bare, main, program};
use super::{End, Row, row};

const MIB: u64 = 1 << 20;

/// Takes a page at a time until it gets none, then does this.
fn grower(then: &str) -> Vec<u8> {
    main(&format!("(loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) {then}"))
}

/// Takes this many mebibytes at once and does this.
fn holding(mebibytes: u32, then: &str) -> Vec<u8> {
    main(&format!(
        "(if (i32.eq (memory.grow (i32.const {})) (i32.const -1)) (then unreachable)) {then}",
        mebibytes * 16 - 2
    ))
}

/// Takes table elements until it gets none, then does this.
fn table_grower(then: &str) -> Vec<u8> {
    program(&format!(
        r#"(table $t 1 funcref)
           (func (export "_start")
             (loop $more (br_if $more (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1))))
             {then})"#
    ))
}

pub(super) fn rows() -> Vec<Row> {
    vec![
        row("memory grower that crashes", || grower("unreachable"))
            .bound(|bounds| bounds.memory = Some(4 * MIB))
            .ends(End::Memory, &["memory limit 4 MiB exceeded"]),
        row("memory grower that goes on for ever", || {
            main("(loop $more (drop (memory.grow (i32.const 1))) (br $more))")
        })
        .bound(|bounds| bounds.memory = Some(4 * MIB))
        .ends(End::Fuel, &["used up the fuel budget"]),
        row("memory grower that gives up with a code of its own", || grower("(call $exit (i32.const 2))"))
            .bound(|bounds| bounds.memory = Some(4 * MIB))
            .ends(End::Exit(2), &["failed with exit code 2"])
            .component_ends(End::Exit(1), &["failed with exit code 1"]),
        row("memory grower that touches every page", || {
            main(
                "(local $at i32)
                 (loop $more
                   (local.set $at (memory.grow (i32.const 1)))
                   (if (i32.eq (local.get $at) (i32.const -1)) (then unreachable))
                   (i32.store (i32.mul (local.get $at) (i32.const 65536)) (i32.const 1))
                   (br $more))",
            )
        })
        .bound(|bounds| bounds.memory = Some(16 * MIB))
        .ends(End::Memory, &["memory limit 16 MiB exceeded"]),
        row("more memory at once than there is", || {
            main("(if (i32.eq (memory.grow (i32.const 60000)) (i32.const -1)) (then unreachable))")
        })
        .bound(|bounds| (bounds.fuel, bounds.memory) = (Some(50_000_000), Some(64 * MIB)))
        .ends(End::Memory, &["memory limit 64 MiB exceeded"]),
        row("a first memory beyond the limit", || {
            bare(r#"(module (memory (export "memory") 65535) (func (export "_start")))"#)
        })
        .bound(|bounds| bounds.memory = Some(64 * MIB))
        .ends(End::Memory, &["memory limit 64 MiB exceeded"]),
        // A component's adapter has pages of its own: less is left of the maximum.
        row("memory of the maximum without a touch", || holding(1024, "(call $echo)"))
            .bound(|bounds| bounds.fuel = Some(50_000_000))
            .component_ends(End::Memory, &["memory limit"]),
        row("memory.fill of a maximum of 16 MiB", || {
            holding(16, "(memory.fill (i32.const 0) (i32.const 1) (i32.const 16777216)) unreachable")
        })
        .bound(|bounds| (bounds.fuel, bounds.memory) = (Some(40_000_000), Some(16 * MIB)))
        .ends(End::Trap("Unreachable"), &["it gave up"])
        .component_ends(End::Memory, &["memory limit 16 MiB exceeded"]),
        row("memory.fill of the maximum", || {
            holding(1024, "(memory.fill (i32.const 0) (i32.const 1) (i32.const 1073741824)) unreachable")
        })
        .bound(|bounds| bounds.fuel = None)
        .ends(End::Trap("Unreachable"), &["it gave up"])
        .component_ends(End::Memory, &["memory limit"])
        .once(),
        row("memory.fill for ever", || {
            holding(4, "(loop $more (memory.fill (i32.const 0) (i32.const 1) (i32.const 4194304)) (br $more))")
        })
        .bound(|bounds| bounds.fuel = Some(20_000_000))
        .ends(End::Fuel, &["used up the fuel budget"]),
        row("memory.copy for ever", || {
            holding(4, "(loop $more (memory.copy (i32.const 0) (i32.const 1) (i32.const 4194303)) (br $more))")
        })
        .bound(|bounds| bounds.fuel = Some(20_000_000))
        .ends(End::Fuel, &["used up the fuel budget"]),
        row("table grower that crashes", || table_grower("unreachable"))
            .ends(End::Table, &["ran out of table space: the limit is 100000 elements"]),
        row("table grower that gives up with a code of its own", || table_grower("(call $exit (i32.const 2))"))
            .ends(End::Exit(2), &["failed with exit code 2"])
            .component_ends(End::Exit(1), &["failed with exit code 1"]),
        row("table.fill for ever", || {
            table_grower("(loop $again (table.fill $t (i32.const 0) (ref.null func) (i32.const 90000)) (br $again))")
        })
        .ends(End::Fuel, &["used up the fuel budget"]),
        row("more table elements at once than there are", || {
            program(
                r#"(table $t 1 funcref)
                   (func (export "_start")
                     (if (i32.eq (table.grow $t (ref.null func) (i32.const -2)) (i32.const -1)) (then unreachable)))"#,
            )
        })
        // Paid before it is tried.
        .ends(End::Fuel, &["used up the fuel budget"]),
    ]
}
