//! Which resources a function gets, and how its answer is put back among the others.

use portico_krm::annotations::KPT_RESOURCE_ID;
use portico_krm::{Resource, Selector};

use super::list::Item;

/// The whole list with a gap for each resource that a function gets; nothing when there are no selectors and it gets
/// all of them.
#[derive(Debug)]
pub(crate) struct Rest(Option<Vec<Option<Item>>>);

/// True when a function with these selectors gets the resource. Two selectors that match choose it once.
pub(crate) fn matches(selectors: &[Selector], exclude: &[Selector], resource: &Resource) -> bool {
    (selectors.is_empty() || selectors.iter().any(|selector| selector.matches(resource)))
        && !exclude.iter().any(|selector| !selector.is_empty() && selector.matches(resource))
}

/// Splits the list into what a function gets, in list order, and the rest. With selectors or exclusions each chosen
/// resource is marked by its place in the whole list.
pub(crate) fn select(items: Vec<Item>, selectors: &[Selector], exclude: &[Selector]) -> (Vec<Item>, Rest) {
    if selectors.is_empty() && exclude.is_empty() {
        return (items, Rest(None));
    }
    let mut chosen = Vec::new();
    let mut rest = Vec::with_capacity(items.len());
    for (place, mut item) in items.into_iter().enumerate() {
        if matches(selectors, exclude, &item.resource) {
            item.resource.set_annotation(KPT_RESOURCE_ID, &place.to_string());
            chosen.push(item);
            rest.push(None);
        } else {
            rest.push(Some(item));
        }
    }
    (chosen, Rest(Some(rest)))
}

impl Rest {
    /// True when a selector or an exclusion had a say.
    pub(crate) fn is_selective(&self) -> bool {
        self.0.is_some()
    }

    /// The resources that the function does not get.
    pub(crate) fn items(&self) -> impl Iterator<Item = &Item> {
        self.0.iter().flatten().flatten()
    }

    /// Puts the answer of a function into the list. Without selectors it is the list. With them a chosen resource
    /// is replaced in its place or, when the answer lacks it, gone; whatever else the answer holds stands at the end.
    pub(crate) fn merge(self, answer: Vec<Item>) -> Vec<Item> {
        let Some(mut list) = self.0 else { return answer };
        let gaps: Vec<bool> = list.iter().map(Option::is_none).collect();
        let mut added = Vec::new();
        for mut item in answer {
            let place = item.resource.annotation(KPT_RESOURCE_ID).and_then(place_of);
            item.resource.remove_annotation(KPT_RESOURCE_ID);
            match place {
                // A second resource with the same mark is a copy that the function made.
                Some(place) if gaps.get(place) == Some(&true) && list[place].is_none() => list[place] = Some(item),
                _ => added.push(item),
            }
        }
        list.into_iter().flatten().chain(added).collect()
    }

    /// Puts the chosen resources back where they were.
    pub(crate) fn restore(self, chosen: Vec<Item>) -> Vec<Item> {
        let Some(list) = self.0 else { return chosen };
        let mut chosen = chosen.into_iter();
        list.into_iter().filter_map(|item| item.or_else(|| chosen.next())).collect()
    }
}

/// The decimal spelling of a place and nothing else.
pub(crate) fn place_of(text: &str) -> Option<usize> {
    let place: usize = text.parse().ok()?;
    (place.to_string() == text).then_some(place)
}
