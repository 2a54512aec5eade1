//! Checks a value against a schema.

use std::collections::HashMap;

use portico_fn::yaml::{NodeId, Tree};

use crate::format;
use crate::problem::{Bound, Problem, Violation};
use crate::schema::{Additional, Schema};
use crate::schemas::{LookupError, Schemas};
use crate::value::{Type, canonical, equals, number};

/// Deepest nesting of values and references; the call stack of a function is 1 MiB.
pub const MAX_DEPTH: usize = 800;
/// Most pairs of a value and a schema that are looked at for one object. Schemas with alternatives in alternatives can
/// ask for any number of them.
pub const MAX_STEPS: usize = 1_000_000;

/// Where the properties that must not be there are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosedOrder {
    /// Before what is wrong inside the properties that may be there.
    First,
    /// After it.
    Last,
}

/// What a schema does not allow in a value without aliases, in the order of the schema. An alternative (`anyOf`,
/// `oneOf`) that no schema fits is one violation; with [`ClosedOrder::First`] those of the closest schema follow it.
pub(crate) fn check(
    tree: &Tree,
    id: NodeId,
    schema: &Schema,
    schemas: &Schemas<'_>,
    order: ClosedOrder,
) -> Result<Vec<Violation>, LookupError> {
    let (path, found) = (Vec::new(), Vec::new());
    let mut checker = Checker { tree, schemas, order, path, found, first_only: false, depth: 0, steps: 0 };
    checker.node(id, schema)?;
    Ok(checker.found)
}

enum Step<'a> {
    Key(&'a str),
    Element(usize),
}

struct Checker<'a> {
    tree: &'a Tree,
    schemas: &'a Schemas<'a>,
    order: ClosedOrder,
    path: Vec<Step<'a>>,
    found: Vec<Violation>,
    /// One violation is enough to know that a schema does not fit.
    first_only: bool,
    depth: usize,
    steps: usize,
}

impl Checker<'_> {
    fn node(&mut self, id: NodeId, schema: &Schema) -> Result<(), LookupError> {
        if self.first_only && !self.found.is_empty() {
            return Ok(());
        }
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(LookupError::TooManySteps);
        }
        if self.depth >= MAX_DEPTH {
            return Err(LookupError::TooDeep);
        }
        self.depth += 1;
        self.inner(id, schema)?;
        self.depth -= 1;
        Ok(())
    }

    fn inner(&mut self, id: NodeId, schema: &Schema) -> Result<(), LookupError> {
        let of = Type::of(self.tree, id);
        if let Some(problem) = self.refusal(id, of, schema) {
            self.report(problem);
            return Ok(());
        }
        if let Some(reference) = &schema.reference {
            let target = self.schemas.resolve(reference)?;
            self.node(id, &target)?;
        }
        self.bounds(id, of, schema);
        match of {
            Type::Object => self.object(id, schema)?,
            Type::Array => self.array(id, schema)?,
            Type::String => {
                if let Some(pattern) = &schema.pattern
                    && !pattern.matches(self.tree.text(id))
                {
                    let got = self.tree.text(id).to_owned();
                    self.report(Problem::Pattern { got, pattern: pattern.text.as_ref().to_owned() });
                }
            }
            Type::Null | Type::Boolean | Type::Number | Type::Integer => {}
        }
        self.conditions(id, schema)
    }

    /// What makes it needless to look further.
    fn refusal(&self, id: NodeId, of: Type, schema: &Schema) -> Option<Problem> {
        if schema.never {
            return Some(Problem::Never);
        }
        if !schema.types.is_empty() && !schema.types.iter().any(|want| of.is(*want)) {
            return Some(Problem::Type { got: of, want: schema.types.clone() });
        }
        if let Some(constant) = &schema.constant
            && !equals(self.tree, id, constant)
        {
            return Some(Problem::Constant(constant.clone()));
        }
        if let Some(values) = &schema.values
            && !values.iter().any(|value| equals(self.tree, id, value))
        {
            return Some(Problem::Enum(values.clone()));
        }
        let format = schema.format.as_deref().filter(|_| of == Type::String)?;
        let got = self.tree.text(id);
        let fault = format::fault(format, got)?;
        Some(Problem::Format { got: got.to_owned(), format: format.to_owned(), fault })
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn bounds(&mut self, id: NodeId, of: Type, schema: &Schema) {
        for (bound, want) in &schema.bounds {
            if !of.is(bound.of_type()) {
                continue;
            }
            let got = match bound.of_type() {
                Type::Object | Type::Array => self.tree.len(id) as f64,
                Type::String => self.tree.text(id).chars().count() as f64,
                _ => number(self.tree, id),
            };
            if !bound.holds(got, *want) {
                self.report(Problem::Bound { bound: *bound, got, want: *want });
            }
        }
    }

    fn object(&mut self, id: NodeId, schema: &Schema) -> Result<(), LookupError> {
        let tree = self.tree;
        if !schema.required.is_empty() {
            let missing = schema.required.iter().filter(|name| tree.get(id, name).is_none());
            let missing: Vec<String> = missing.map(|name| name.as_ref().to_owned()).collect();
            if !missing.is_empty() {
                self.report(Problem::Required(missing));
            }
        }
        let mut named: Vec<(&str, NodeId, &Schema)> = Vec::new();
        let mut others: Vec<(&str, NodeId, &Schema)> = Vec::new();
        let mut unwanted: Vec<String> = Vec::new();
        for (key, value) in tree.entries(id) {
            let key = tree.text(key);
            let mut known = false;
            if let Some(schema) = schema.properties.get(key) {
                named.push((key, value, schema));
                known = true;
            }
            for (_, schema) in schema.patterns.iter().filter(|(pattern, _)| pattern.matches(key)) {
                others.push((key, value, schema));
                known = true;
            }
            match &schema.additional {
                Additional::None if !known => unwanted.push(key.to_owned()),
                Additional::Schema(schema) if !known => others.push((key, value, schema)),
                _ => {}
            }
        }
        // the order of the schema, which is sorted by name
        named.sort_by_key(|(key, ..)| *key);
        let mut unwanted = (!unwanted.is_empty()).then_some(Problem::Additional(unwanted));
        if self.order == ClosedOrder::First
            && let Some(problem) = unwanted.take()
        {
            self.report(problem);
        }
        for (key, value, schema) in named.into_iter().chain(others) {
            self.path.push(Step::Key(key));
            self.node(value, schema)?;
            self.path.pop();
        }
        if let Some(problem) = unwanted {
            self.report(problem);
        }
        Ok(())
    }

    fn array(&mut self, id: NodeId, schema: &Schema) -> Result<(), LookupError> {
        let tree = self.tree;
        if schema.unique {
            let mut seen = HashMap::new();
            for (number, element) in tree.elements(id).enumerate() {
                let mut text = String::new();
                canonical(tree, element, &mut text);
                if let Some(first) = seen.insert(text, number) {
                    self.report(Problem::Unique(first, number));
                    break;
                }
            }
        }
        let Some(items) = &schema.items else { return Ok(()) };
        for (number, element) in tree.elements(id).enumerate() {
            self.path.push(Step::Element(number));
            self.node(element, items)?;
            self.path.pop();
        }
        Ok(())
    }

    fn conditions(&mut self, id: NodeId, schema: &Schema) -> Result<(), LookupError> {
        if let Some(not) = &schema.not
            && self.trial(id, not)?.is_empty()
        {
            self.report(Problem::Not);
        }
        for schema in &schema.all_of {
            self.node(id, schema)?;
        }
        if !schema.any_of.is_empty() {
            let mut closest = None;
            for schema in &schema.any_of {
                let found = self.trial(id, schema)?;
                if found.is_empty() {
                    closest = None;
                    break;
                }
                keep_closest(&mut closest, found);
            }
            self.alternative(Problem::AnyOf, closest);
        }
        if !schema.one_of.is_empty() {
            let mut closest = None;
            let mut fitting = Vec::new();
            for (number, schema) in schema.one_of.iter().enumerate() {
                let found = self.trial(id, schema)?;
                if found.is_empty() {
                    fitting.push(number);
                    if fitting.len() > 1 {
                        break;
                    }
                } else {
                    keep_closest(&mut closest, found);
                }
            }
            match fitting[..] {
                [] => self.alternative(Problem::OneOf(None), closest),
                [_] => {}
                [first, second, ..] => self.report(Problem::OneOf(Some((first, second)))),
            }
        }
        Ok(())
    }

    /// What a schema does not allow, without telling it. All of it only where it may be told later.
    fn trial(&mut self, id: NodeId, schema: &Schema) -> Result<Vec<Violation>, LookupError> {
        let found = std::mem::take(&mut self.found);
        let first_only = std::mem::replace(&mut self.first_only, self.order == ClosedOrder::Last);
        self.node(id, schema)?;
        self.first_only = first_only;
        Ok(std::mem::replace(&mut self.found, found))
    }

    /// Reports that no alternative fits, if there is one that comes closest.
    fn alternative(&mut self, problem: Problem, closest: Option<Vec<Violation>>) {
        if let Some(closest) = closest {
            self.report(problem);
            if self.order == ClosedOrder::First {
                self.found.extend(closest);
            }
        }
    }

    fn report(&mut self, problem: Problem) {
        let path = self.path.iter().map(|step| match step {
            Step::Key(key) => (*key).to_owned(),
            Step::Element(number) => number.to_string(),
        });
        self.found.push(Violation { path: path.collect(), problem });
    }
}

/// The first of those with the fewest violations.
fn keep_closest(closest: &mut Option<Vec<Violation>>, found: Vec<Violation>) {
    if closest.as_ref().is_none_or(|closest| closest.len() > found.len()) {
        *closest = Some(found);
    }
}

impl Bound {
    /// True for the bounds of numbers, whose values may have a fraction.
    pub fn is_of_numbers(self) -> bool {
        self.of_type() == Type::Number
    }
}
