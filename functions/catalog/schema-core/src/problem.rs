//! What is wrong with a value. The functions put it into words.

use serde_json::Value;

use crate::value::Type;

/// Something that a schema does not allow.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Keys and places of elements from the root of the object.
    pub path: Vec<String>,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// The schema allows nothing.
    Never,
    /// Another type.
    Type {
        /// The value is a [`Type::Integer`] when it is a whole number.
        got: Type,
        /// In the order of the schema.
        want: Vec<Type>,
    },
    /// None of these values.
    Enum(Vec<Value>),
    /// Not this value.
    Constant(Value),
    /// Not of this format.
    Format {
        /// The text.
        got: String,
        /// `date-time`, …
        format: String,
        /// What is wrong.
        fault: String,
    },
    /// Properties that must be there and are not, in the order of the schema.
    Required(Vec<String>),
    /// Properties that must not be there, in the order of the object.
    Additional(Vec<String>),
    /// Too small, too large, too short, too long.
    Bound {
        /// The rule.
        bound: Bound,
        /// The number, length or count.
        got: f64,
        /// The bound.
        want: f64,
    },
    /// Two elements are the same.
    Unique(usize, usize),
    /// A text that a regular expression does not match.
    Pattern {
        /// The text.
        got: String,
        /// The expression.
        pattern: String,
    },
    /// It is what it must not be.
    Not,
    /// None of the schemas fits.
    AnyOf,
    /// No schema fits, or the two with these numbers do.
    OneOf(Option<(usize, usize)>),
}

/// The keywords whose value is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Fewest properties of an object.
    MinProperties,
    /// Most properties of an object.
    MaxProperties,
    /// Fewest elements of a list.
    MinItems,
    /// Most elements of a list.
    MaxItems,
    /// Fewest characters of a text.
    MinLength,
    /// Most characters of a text.
    MaxLength,
    /// Smallest number.
    Minimum,
    /// Largest number.
    Maximum,
    /// The number must be larger.
    ExclusiveMinimum,
    /// The number must be smaller.
    ExclusiveMaximum,
    /// The number must be a multiple.
    MultipleOf,
}

impl Bound {
    /// The keyword of JSON Schema.
    pub fn keyword(self) -> &'static str {
        match self {
            Bound::MinProperties => "minProperties",
            Bound::MaxProperties => "maxProperties",
            Bound::MinItems => "minItems",
            Bound::MaxItems => "maxItems",
            Bound::MinLength => "minLength",
            Bound::MaxLength => "maxLength",
            Bound::Minimum => "minimum",
            Bound::Maximum => "maximum",
            Bound::ExclusiveMinimum => "exclusiveMinimum",
            Bound::ExclusiveMaximum => "exclusiveMaximum",
            Bound::MultipleOf => "multipleOf",
        }
    }

    pub(crate) fn of_keyword(keyword: &str) -> Option<Bound> {
        let all = [
            Bound::MinProperties,
            Bound::MaxProperties,
            Bound::MinItems,
            Bound::MaxItems,
            Bound::MinLength,
            Bound::MaxLength,
            Bound::Minimum,
            Bound::Maximum,
            Bound::ExclusiveMinimum,
            Bound::ExclusiveMaximum,
            Bound::MultipleOf,
        ];
        all.into_iter().find(|bound| bound.keyword() == keyword)
    }

    /// The type that the bound is for.
    pub(crate) fn of_type(self) -> Type {
        match self {
            Bound::MinProperties | Bound::MaxProperties => Type::Object,
            Bound::MinItems | Bound::MaxItems => Type::Array,
            Bound::MinLength | Bound::MaxLength => Type::String,
            _ => Type::Number,
        }
    }

    /// Whether a number keeps to the bound.
    pub(crate) fn holds(self, got: f64, want: f64) -> bool {
        match self {
            Bound::MinProperties | Bound::MinItems | Bound::MinLength | Bound::Minimum => got >= want,
            Bound::MaxProperties | Bound::MaxItems | Bound::MaxLength | Bound::Maximum => got <= want,
            Bound::ExclusiveMinimum => got > want,
            Bound::ExclusiveMaximum => got < want,
            // tenths are no exact floats: 0.3 is a multiple of 0.1
            Bound::MultipleOf => {
                let quotient = got / want;
                want == 0.0 || (quotient - quotient.round()).abs() <= quotient.abs() * 1e-12
            }
        }
    }
}
