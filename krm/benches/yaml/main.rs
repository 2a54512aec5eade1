//! How fast YAML is read, and how much memory a tree takes.
//!
//! `cargo bench -p portico-krm --bench yaml`

mod corpus;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use portico_krm::yaml::{ParseLimits, SourceFile, Tree};

/// Bytes of the corpus.
const SIZE: usize = 5_000_000;

fn read(c: &mut Criterion) {
    let limits = ParseLimits::default();
    let file = corpus::file(SIZE);
    let list = corpus::list(SIZE);
    memory("file of many documents", &file, &limits);
    memory("list of many items", &list, &limits);
    let mut group = c.benchmark_group("parse");
    group.sample_size(20);
    group.throughput(Throughput::Bytes(file.len() as u64));
    group.bench_function("file of many documents", |b| {
        b.iter(|| SourceFile::parse(black_box(file.as_bytes()), &limits).map(|file| file.documents().len()));
    });
    group.throughput(Throughput::Bytes(list.len() as u64));
    let list: std::sync::Arc<str> = list.into();
    group.bench_function("list of many items", |b| {
        b.iter(|| Tree::parse(black_box(list.clone()), &limits).map(|tree| tree.is_some()));
    });
    group.finish();
}

#[expect(clippy::print_stdout, reason = "a benchmark reports on its output")]
fn memory(name: &str, text: &str, limits: &ParseLimits) {
    let Ok(file) = SourceFile::parse(text.as_bytes(), limits) else { return };
    let trees: usize = file.documents().iter().map(|d| d.tree.heap_size()).sum();
    let hundredths = trees * 100 / text.len();
    println!("memory/{name}: {}.{:02} bytes of tree for each byte of text", hundredths / 100, hundredths % 100);
}

criterion_group!(benches, read);
criterion_main!(benches);
