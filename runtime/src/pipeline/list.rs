//! The resources of a render on their way through the steps.

use portico_krm::Resource;

/// Where a resource stood before the render: a file by its number, a document by its index and its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Source {
    pub(crate) file: u32,
    pub(crate) document: u32,
    pub(crate) offset: u32,
}

/// A resource and, where it was not made by a function, its source.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) resource: Resource,
    pub(crate) source: Option<Source>,
}

/// Takes the resources out for a call that works on them alone; [`join`] puts them back.
pub(crate) fn split(items: Vec<Item>) -> (Vec<Resource>, Vec<Option<Source>>) {
    items.into_iter().map(|item| (item.resource, item.source)).unzip()
}

/// The inverse of [`split`].
pub(crate) fn join(resources: Vec<Resource>, sources: &[Option<Source>]) -> Vec<Item> {
    resources.into_iter().zip(sources).map(|(resource, source)| Item { resource, source: *source }).collect()
}
