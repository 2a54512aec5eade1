//! The hostile battery: every function of the table is rendered through the library.
//!
//! After each one the same engine renders the next package, a neighbour that renders all the time gets the same answer
//! as ever, and the process holds no more memory than before. One test a row and kind of engine, one after the other,
//! since memory is that of the process: `cargo test --release -p portico-runtime --test battery -- WORDS`.

mod library;
mod neighbour;
mod table;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use portico_runtime::Allocation;

use library::Library;
use table::Row;

const CORE: &str = "core module";
const COMPONENT: &str = "component";

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let pool = Allocation::Pooling { slots: 8, keep_resident: 1 << 20 };
    // What one engine compiled serves the other.
    let cache = tempfile::tempdir().expect("a directory");
    let mut trials = Vec::new();
    for (kind, allocation, main_form) in [("on demand", Allocation::OnDemand, CORE), ("pooled", pool, COMPONENT)] {
        let library = Arc::new(Library::new(allocation, cache.path()));
        let trial = |row: Row, form: &str| {
            let library = Arc::clone(&library);
            let name = format!("{}, {form}, {kind}", row.name);
            // Each form is repeated as often as the contract says on one engine, and a little on the other.
            let repeats = if form == main_form { row.repeats } else { row.repeats / 10 };
            Trial::test(name, move || library.check(&row, repeats.max(1)).map_err(Into::into))
        };
        // What takes long is done once in each form.
        let rows = |form| table::rows().into_iter().filter(move |row| form == main_form || row.repeats > 1);
        trials.extend(rows(CORE).map(|row| trial(row, CORE)));
        trials.extend(rows(COMPONENT).map(|row| {
            let name = row.name.clone();
            match row.into_component() {
                Ok(row) => trial(row, COMPONENT),
                Err(why) => Trial::test(format!("{name}, {COMPONENT}: {why}"), || Ok(())).with_ignored_flag(true),
            }
        }));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
