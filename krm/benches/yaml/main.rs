//! How fast YAML is read and written, and how much memory a tree takes.
//!
//! `cargo bench -p portico-krm --bench yaml`

mod corpus;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use portico_krm::splice::{Edited, splice};
use portico_krm::yaml::{EmitOptions, ParseLimits, SourceFile, Tree, emit_document};

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

fn write(c: &mut Criterion) {
    let limits = ParseLimits::default();
    let text = corpus::file(SIZE);
    let Ok(file) = SourceFile::parse(text.as_bytes(), &limits) else { return };
    let mut group = c.benchmark_group("write");
    group.sample_size(20);
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("kpt style", |b| {
        b.iter(|| {
            let mut out = String::with_capacity(text.len());
            for document in file.documents() {
                let options = EmitOptions { sequences: document.seq_style };
                emit_document(black_box(&document.tree), &options, &mut out);
            }
            out.len()
        });
    });
    let copies: Vec<Tree> = file.documents().iter().map(|document| document.tree.clone()).collect();
    group.bench_function("preserve style, equal documents", |b| {
        let documents: Vec<Edited<'_>> = copies.iter().enumerate().map(|(n, tree)| Edited::Changed(n, tree)).collect();
        b.iter(|| splice(black_box(&file), &documents).len());
    });
    let changed: Vec<Tree> = copies
        .iter()
        .map(|tree| {
            let mut tree = tree.clone();
            let root = tree.root();
            let metadata = tree.ensure_mapping(root, "metadata");
            let value = tree.string("added");
            tree.set(metadata, "namespace", value);
            tree
        })
        .collect();
    group.bench_function("preserve style, one field in each document", |b| {
        let documents: Vec<Edited<'_>> = changed.iter().enumerate().map(|(n, tree)| Edited::Changed(n, tree)).collect();
        b.iter(|| splice(black_box(&file), &documents).len());
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

criterion_group!(benches, read, write);
criterion_main!(benches);
