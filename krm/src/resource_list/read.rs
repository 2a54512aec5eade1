//! Reads a `ResourceList`: strictly as a function's input, with kpt's leniency as its output.

use std::sync::Arc;

use super::error::{ResourceListError, ResourceListFault as Fault};
use super::{Resource, ResourceList};
use crate::annotations::{self, mirror};
use crate::resource::{go_kind, string_value};
use crate::results::parse_results;
use crate::yaml::{NodeId, ParseError, ParseLimits, SourceFile, Tree};

impl ResourceList {
    /// Reads the input of a function: one document of kind `ResourceList`. Missing items are none.
    ///
    /// Bytes that are given away are freed as soon as they are decoded, before most of the work begins.
    pub fn parse(bytes: impl AsRef<[u8]>, limits: &ParseLimits) -> Result<ResourceList, ResourceListError> {
        let mut trees = documents(bytes, limits)?;
        let Some(tree) = (if trees.len() == 1 { trees.pop() } else { None }) else {
            return Err(second_document(&trees));
        };
        let kind = root_kind(&tree)?.to_owned();
        if kind != "ResourceList" {
            return Err(ResourceListError::at(Fault::UnexpectedKind(kind), &tree, tree.root()));
        }
        unwrap(tree, limits)
    }

    /// Reads the output of a function: one `ResourceList`, one `List`, or bare documents, each of which is an item and
    /// gets its place as index annotation. Bytes that are given away are freed early, as in [`ResourceList::parse`].
    pub fn parse_output(bytes: impl AsRef<[u8]>, limits: &ParseLimits) -> Result<ResourceList, ResourceListError> {
        let mut trees = documents(bytes, limits)?;
        if trees.is_empty() {
            return Err(ResourceListError { fault: Fault::Empty, position: None, excerpt: None });
        }
        for tree in &trees {
            let kind = root_kind(tree)?;
            if kind == "ResourceList" && trees.len() > 1 {
                return Err(second_document(&trees));
            }
        }
        if trees.len() == 1 {
            let (tree, root) = (&trees[0], trees[0].root());
            let kind = root_kind(tree)?;
            let wraps = tree.get(root, "items").is_some() || tree.get(root, "functionConfig").is_some();
            match kind {
                "ResourceList" | "List" if wraps => return unwrap(trees.remove(0), limits),
                "ResourceList" => return Err(ResourceListError::at(Fault::NoItems, tree, root)),
                _ => {}
            }
        }
        let bare = trees.into_iter().enumerate().map(|(index, tree)| {
            let mut resource = Resource { tree };
            mirror::fill_missing(&mut resource);
            resource.set_annotation(annotations::LEGACY_INDEX, &index.to_string());
            resource.set_annotation(annotations::INDEX, &index.to_string());
            resource
        });
        Ok(ResourceList { items: bare.collect(), ..ResourceList::default() })
    }
}

fn documents(bytes: impl AsRef<[u8]>, limits: &ParseLimits) -> Result<Vec<Tree>, ResourceListError> {
    let fault = |error: ParseError, source: &str| {
        let position = Some(error.position);
        ResourceListError::new(Fault::Syntax(error), position, source)
    };
    // the text of a file that is no UTF-8 is not known; what can be shown of it is
    let (text, encoding) = SourceFile::text_of(bytes.as_ref(), limits)
        .map_err(|error| fault(error, &String::from_utf8_lossy(bytes.as_ref())))?;
    drop(bytes);
    match SourceFile::read(Arc::clone(&text), encoding, limits) {
        Ok(file) => Ok(file.into_documents().into_iter().map(|document| document.tree).collect()),
        Err(mut errors) => Err(fault(errors.swap_remove(0), &text)),
    }
}

fn second_document(trees: &[Tree]) -> ResourceListError {
    match trees.get(1) {
        Some(second) => ResourceListError::at(Fault::SecondDocument, second, second.root()),
        None => ResourceListError { fault: Fault::Empty, position: None, excerpt: None },
    }
}

fn root_kind(tree: &Tree) -> Result<&str, ResourceListError> {
    let root = tree.root();
    if !tree.is_mapping(root) {
        let fault = Fault::NotAMapping { index: None, got: go_kind(tree, root) };
        return Err(ResourceListError::at(fault, tree, root));
    }
    Ok(tree.get(root, "kind").map_or("", |id| string_value(tree, id)))
}

fn unwrap(tree: Tree, limits: &ParseLimits) -> Result<ResourceList, ResourceListError> {
    let root = tree.root();
    let list = tree.text_at(root, &["kind"]) == Some("ResourceList");
    if let Some(id) = tree.get(root, "apiVersion") {
        let api_version = string_value(&tree, id);
        if list && !api_version.is_empty() && !api_version.starts_with("config.kubernetes.io/") {
            return Err(ResourceListError::at(Fault::ForeignGroup(api_version.to_owned()), &tree, id));
        }
    }
    let mut parts: Vec<NodeId> = Vec::new();
    if let Some(items) = tree.get(root, "items").filter(|id| !tree.is_null(*id)) {
        if !tree.is_sequence(items) {
            return Err(ResourceListError::at(Fault::ItemsNotAList, &tree, items));
        }
        parts.extend(tree.elements(items));
        if let Some(first_beyond) = parts.get(limits.documents) {
            let fault = Fault::TooManyItems { found: parts.len(), limit: limits.documents };
            return Err(ResourceListError::at(fault, &tree, *first_beyond));
        }
        if let Some(index) = parts.iter().position(|item| !tree.is_mapping(*item)) {
            let fault = Fault::NotAMapping { index: Some(index), got: go_kind(&tree, parts[index]) };
            return Err(ResourceListError::at(fault, &tree, parts[index]));
        }
    }
    let results = match tree.get(root, "results") {
        Some(results) => parse_results(&tree, results).map_err(|error| {
            let position = error.position;
            ResourceListError::new(Fault::Results(error), position, tree.source())
        })?,
        None => Vec::new(),
    };
    // the parts are cut out in document order, and the configuration may stand before the items or behind them
    let config = tree.get(root, "functionConfig").filter(|id| !tree.is_null(*id));
    let mut config_at = None;
    if let Some(config) = config {
        if !tree.is_mapping(config) {
            return Err(ResourceListError::at(Fault::ConfigNotAMapping, &tree, config));
        }
        let first = parts.first().is_some_and(|item| *item < config);
        config_at = Some(if first { parts.len() } else { 0 });
        parts.insert(if first { parts.len() } else { 0 }, config);
    }
    let source = tree.source().clone();
    let line_base = 0;
    let mut trees = tree.cut_out(&parts).map_err(|alias| {
        let position = Some(crate::yaml::position_at(&source, alias.offset, line_base));
        ResourceListError::new(Fault::ForeignAlias(alias.name), position, &source)
    })?;
    let function_config = config_at.map(|at| Resource { tree: trees.remove(at) });
    let items = trees.into_iter().map(|tree| Resource { tree }).collect();
    Ok(ResourceList { items, function_config, results })
}
