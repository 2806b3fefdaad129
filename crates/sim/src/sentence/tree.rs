//! Syntax tree of a sentence, and its text in errors: brackets that precedence needs, one blank around operators.

use std::fmt;

/// Maximum nesting, as of documents.
pub(super) const MAX_DEPTH: u32 = 64;

/// A part of a sentence.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub kind: Kind,
    /// Levels of nesting from here down, at least 1.
    pub depth: u32,
}

/// Kind of a part, with its parts.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Parts joined by `or` if `any`, otherwise by `and`.
    Joined { any: bool, parts: Vec<Node> },
    /// `not`.
    Not(Box<Node>),
    /// A chain of comparisons: the first term, then operators and terms.
    Compare(Box<Node>, Vec<(&'static str, Node)>),
    /// Arithmetic.
    Binary(&'static str, Box<Node>, Box<Node>),
    /// A minus sign.
    Negative(Box<Node>),
    /// A number without a unit, and its text.
    Number(f64, String),
    /// A number with its unit.
    Quantity(String, &'static str),
    /// Names joined by dots.
    Dotted(String),
    /// A name.
    Name(String),
    /// A name with arguments in brackets.
    Call(String, Vec<Node>),
    /// Syntax that no sentence has.
    Other(String),
}

impl Node {
    /// A part over its parts.
    pub fn new(kind: Kind) -> Self {
        let deepest = |parts: &mut dyn Iterator<Item = &Node>| parts.map(|part| part.depth).max().unwrap_or(0);
        let below = match &kind {
            Kind::Joined { parts, .. } => deepest(&mut parts.iter()),
            Kind::Not(inner) | Kind::Negative(inner) => inner.depth,
            Kind::Compare(first, rest) => first.depth.max(deepest(&mut rest.iter().map(|(_, term)| term))),
            Kind::Binary(_, left, right) => left.depth.max(right.depth),
            Kind::Call(_, arguments) => deepest(&mut arguments.iter()).max(1),
            Kind::Quantity(..) | Kind::Dotted(_) => 1,
            Kind::Number(..) | Kind::Name(_) | Kind::Other(_) => 0,
        };
        Self { kind, depth: below + 1 }
    }

    fn precedence(&self) -> u32 {
        match &self.kind {
            Kind::Joined { any: true, .. } => OR,
            Kind::Joined { any: false, .. } => AND,
            Kind::Not(_) => NOT,
            Kind::Compare(..) => COMPARE,
            Kind::Binary("+" | "-", ..) => SUM,
            Kind::Binary(..) => PRODUCT,
            Kind::Negative(_) => SIGN,
            _ => ATOM,
        }
    }

    /// Writes the text, in brackets if it binds less strongly than `least`.
    fn write(&self, f: &mut fmt::Formatter<'_>, least: u32) -> fmt::Result {
        if self.precedence() < least {
            f.write_str("(")?;
            self.write(f, OR)?;
            return f.write_str(")");
        }
        match &self.kind {
            Kind::Joined { any, parts } => {
                let (word, inner) = if *any { (" or ", AND) } else { (" and ", NOT) };
                for (place, part) in parts.iter().enumerate() {
                    f.write_str(if place > 0 { word } else { "" })?;
                    part.write(f, inner)?;
                }
                Ok(())
            }
            Kind::Not(inner) => {
                f.write_str("not ")?;
                inner.write(f, NOT)
            }
            Kind::Compare(first, rest) => {
                first.write(f, SUM)?;
                rest.iter().try_for_each(|(sign, term)| {
                    write!(f, " {sign} ")?;
                    term.write(f, SUM)
                })
            }
            Kind::Binary(sign, left, right) => {
                let own = self.precedence();
                left.write(f, own)?;
                write!(f, " {sign} ")?;
                right.write(f, own + 1)
            }
            Kind::Negative(inner) => {
                f.write_str("-")?;
                inner.write(f, SIGN)
            }
            Kind::Quantity(number, unit) => write!(f, "{number} {unit}"),
            Kind::Number(_, text) | Kind::Dotted(text) | Kind::Name(text) | Kind::Other(text) => f.write_str(text),
            Kind::Call(name, arguments) => {
                write!(f, "{name}(")?;
                for (place, argument) in arguments.iter().enumerate() {
                    f.write_str(if place > 0 { ", " } else { "" })?;
                    argument.write(f, OR)?;
                }
                f.write_str(")")
            }
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, OR)
    }
}

const OR: u32 = 1;
const AND: u32 = 2;
const NOT: u32 = 3;
const COMPARE: u32 = 4;
const SUM: u32 = 5;
const PRODUCT: u32 = 6;
const SIGN: u32 = 7;
const ATOM: u32 = 8;
