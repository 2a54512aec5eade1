//! Several writers of one directory.

use std::path::Path;
use std::sync::Barrier;

use portico_runtime::package::{ApplyError, PackageDir, PackageLimits};

use crate::{CHILD, child, package, read, text, write};

#[test]
fn of_two_different_renders_at_once_one_wins_and_the_other_is_told() {
    for _ in 0..50 {
        let temp = package(&[("Kptfile", "k"), ("a.yaml", "-"), ("b.yaml", "-"), ("sub/c.yaml", "-")]);
        let barrier = Barrier::new(2);
        let render = |content: &'static str| {
            let (dir, base) = read(temp.path());
            barrier.wait();
            dir.apply(&["a.yaml", "b.yaml", "sub/c.yaml", "new/n.yaml"].map(|path| write(path, content)), &base)
        };
        let (first, second) = std::thread::scope(|scope| {
            let first = scope.spawn(|| render("first"));
            let second = scope.spawn(|| render("second"));
            (first.join().expect("ends"), second.join().expect("ends"))
        });
        let (winner, loser) = match (first, second) {
            (Ok(_), Err(loser)) => ("first", loser),
            (Err(loser), Ok(_)) => ("second", loser),
            both => panic!("one wins: {both:?}"),
        };
        assert!(matches!(loser, ApplyError::Edited(_) | ApplyError::Appeared(_)), "{loser}");
        for path in ["a.yaml", "b.yaml", "sub/c.yaml", "new/n.yaml"] {
            assert_eq!(text(temp.path(), path), winner);
        }
    }
}

#[test]
fn of_two_equal_renders_at_once_both_succeed() {
    let temp = package(&[("Kptfile", "k"), ("a.yaml", "-")]);
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let (dir, base) = read(temp.path());
                barrier.wait();
                dir.apply(&[write("a.yaml", "new"), write("b.yaml", "new")], &base).expect("no conflict");
            });
        }
    });
    assert_eq!((text(temp.path(), "a.yaml").as_str(), text(temp.path(), "b.yaml").as_str()), ("new", "new"));
}

const ROUNDS: u32 = 40;

/// Counts up in two files, again and again, with other processes doing the same: nobody ever sees the two
/// files differ, and no count is lost.
#[test]
fn processes_never_read_half_a_write_nor_lose_one() {
    if let Some(dir) = std::env::var_os(CHILD) {
        return count_up(Path::new(&dir));
    }
    let temp = package(&[("Kptfile", "k"), ("a.yaml", "00000000"), ("z.yaml", "00000000")]);
    let processes: Vec<_> = (0..3)
        .map(|_| {
            child("together::processes_never_read_half_a_write_nor_lose_one", temp.path()).spawn().expect("starts")
        })
        .collect();
    for mut process in processes {
        assert!(process.wait().expect("ends").success());
    }
    assert_eq!(text(temp.path(), "a.yaml"), format!("{:08}", 3 * ROUNDS));
    assert_eq!(text(temp.path(), "z.yaml"), format!("{:08}", 3 * ROUNDS));
}

fn count_up(path: &Path) {
    let dir = PackageDir::open(path).expect("opens");
    let mut done = 0;
    while done < ROUNDS {
        let base = dir.read(&PackageLimits::default()).expect("reads");
        let value = |path: &str| String::from_utf8_lossy(&base.files[path].bytes).into_owned();
        assert_eq!(value("a.yaml"), value("z.yaml"));
        let next = format!("{:08}", value("a.yaml").parse::<u32>().expect("a number") + 1);
        match dir.apply(&[write("a.yaml", &next), write("z.yaml", &next)], &base) {
            Ok(applied) => done += u32::from(applied.written.len() == 2),
            Err(ApplyError::Edited(_)) => {}
            Err(error) => panic!("unexpected: {error}"),
        }
    }
}
