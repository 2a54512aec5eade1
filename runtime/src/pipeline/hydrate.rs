//! The order of packages: depth first with subpackages before their parent, or level by level from the root.

use std::collections::{HashMap, VecDeque};

use super::list::Item;
use super::package::{Package, Run, Stop};

/// What the pipelines made of the resources.
#[derive(Debug)]
pub(crate) struct Hydrated {
    /// The resources at the end or, after a failure, as they stood. Packages that were not reached may be missing.
    pub(crate) items: Vec<Item>,
    /// Why it stopped before the end.
    pub(crate) stop: Option<Stop>,
}

/// Runs the pipelines of all packages; `packages[0]` is the root.
pub(crate) fn hydrate(run: &mut Run<'_>, packages: &mut [Package], breadth_first: bool) -> Hydrated {
    let own: Vec<Vec<Item>> = packages.iter_mut().map(|package| std::mem::take(&mut package.own)).collect();
    if breadth_first { top_down(run, packages, own) } else { bottom_up(run, packages, own) }
}

fn bottom_up(run: &mut Run<'_>, packages: &[Package], mut own: Vec<Vec<Item>>) -> Hydrated {
    let mut items = Vec::new();
    let stop = visit(run, packages, &mut own, 0, &mut items).err();
    Hydrated { items, stop }
}

/// Appends the resources of a package and all below it to `list`, rendered. The depth of packages is bounded by that
/// of directories, which the package reader limits.
fn visit(
    run: &mut Run<'_>,
    packages: &[Package],
    own: &mut [Vec<Item>],
    at: usize,
    list: &mut Vec<Item>,
) -> Result<(), Stop> {
    let mut items = std::mem::take(&mut own[at]);
    for &child in &packages[at].children {
        if let Err(stop) = visit(run, packages, own, child, &mut items) {
            list.append(&mut items);
            return Err(stop);
        }
    }
    let (mut items, outcome) = run.package(packages, at, items);
    list.append(&mut items);
    outcome
}

fn top_down(run: &mut Run<'_>, packages: &[Package], mut lists: Vec<Vec<Item>>) -> Hydrated {
    let by_path: HashMap<&str, usize> =
        packages.iter().enumerate().map(|(at, package)| (package.abs.as_str(), at)).collect();
    let order = level_order(packages);
    let mut stop = None;
    for &at in &order {
        let family = preorder(packages, at);
        let input = family.iter().flat_map(|&member| std::mem::take(&mut lists[member])).collect();
        let (output, outcome) = run.package(packages, at, input);
        for item in output {
            // A resource whose package is not known, or lies elsewhere, stays with the package whose function gave it.
            let owner = item.resource.package_path().and_then(|path| by_path.get(path)).copied();
            lists[owner.filter(|owner| family.contains(owner)).unwrap_or(at)].push(item);
        }
        if let Err(reason) = outcome {
            stop = Some(reason);
            break;
        }
    }
    let items = order.into_iter().flat_map(|at| std::mem::take(&mut lists[at])).collect();
    Hydrated { items, stop }
}

fn level_order(packages: &[Package]) -> Vec<usize> {
    let mut order = Vec::with_capacity(packages.len());
    let mut queue = VecDeque::from([0]);
    while let Some(at) = queue.pop_front() {
        order.push(at);
        queue.extend(&packages[at].children);
    }
    order
}

fn preorder(packages: &[Package], at: usize) -> Vec<usize> {
    let mut order = Vec::new();
    let mut stack = vec![at];
    while let Some(at) = stack.pop() {
        order.push(at);
        stack.extend(packages[at].children.iter().rev());
    }
    order
}
