//! Any bytes are read or refused; what is read is written, and what is written reads as the same value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portico_krm::yaml::{EmitOptions, ParseLimits, SourceFile, Tree, emit_document, value_eq};

fuzz_target!(|bytes: &[u8]| {
    let limits = ParseLimits::default();
    let Ok(file) = SourceFile::parse(bytes, &limits) else { return };
    for document in file.documents() {
        let mut text = String::new();
        emit_document(&document.tree, &EmitOptions { sequences: document.seq_style }, &mut text);
        let again = Tree::parse(text.as_str(), &limits);
        let Ok(Some(again)) = again else { panic!("written but not read: {text:?}") };
        assert!(value_eq(&document.tree, document.tree.root(), &again, again.root()), "another value: {text:?}");
    }
});
