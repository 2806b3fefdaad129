//! Parser of sentences, by recursive descent: `or`, `and`, `not`, comparisons, sums, products, signs.

use super::token::{Token, tokens};
use super::tree::{Kind, MAX_DEPTH, Node};

/// A text that is no sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fault {
    /// Its syntax is wrong.
    Syntax,
    /// It is nested deeper than [`MAX_DEPTH`].
    Depth,
}

/// Parses a text.
pub(super) fn parse(text: &str) -> Result<Node, Fault> {
    let tokens = tokens(text).ok_or(Fault::Syntax)?;
    let mut parser = Parser { text, tokens, next: 0, depth: 0 };
    let node = parser.any()?;
    if parser.next < parser.tokens.len() { Err(Fault::Syntax) } else { checked(node.kind) }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(usize, Token<'a>)>,
    next: usize,
    /// Nesting of the parser itself: brackets and prefixes.
    depth: u32,
}

/// A node, unless it is too deep: deeper ones never exist.
fn checked(kind: Kind) -> Result<Node, Fault> {
    let node = Node::new(kind);
    if node.depth > MAX_DEPTH { Err(Fault::Depth) } else { Ok(node) }
}

impl<'a> Parser<'a> {
    fn any(&mut self) -> Result<Node, Fault> {
        self.joined("or", Self::all)
    }

    fn all(&mut self) -> Result<Node, Fault> {
        self.joined("and", Self::negation)
    }

    fn joined(&mut self, word: &str, part: fn(&mut Self) -> Result<Node, Fault>) -> Result<Node, Fault> {
        let first = part(self)?;
        if !self.is_name(word) {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.takes_name(word) {
            parts.push(part(self)?);
        }
        checked(Kind::Joined { any: word == "or", parts })
    }

    fn negation(&mut self) -> Result<Node, Fault> {
        if !self.takes_name("not") {
            return self.comparison();
        }
        let inner = self.nested(Self::negation)?;
        checked(Kind::Not(Box::new(inner)))
    }

    fn comparison(&mut self) -> Result<Node, Fault> {
        let first = self.sum()?;
        let mut rest = Vec::new();
        while let Some(sign) = self.comparator() {
            rest.push((sign, self.sum()?));
        }
        if rest.is_empty() { Ok(first) } else { checked(Kind::Compare(Box::new(first), rest)) }
    }

    fn comparator(&mut self) -> Option<&'static str> {
        let signs = [">=", "<=", ">", "<", "==", "!="];
        if let Some(sign) = signs.into_iter().find(|sign| self.takes(sign)) {
            return Some(sign);
        }
        ["in", "is"].into_iter().find(|word| self.takes_name(word))
    }

    fn sum(&mut self) -> Result<Node, Fault> {
        self.chain(&["+", "-"], Self::product)
    }

    fn product(&mut self) -> Result<Node, Fault> {
        self.chain(&["*", "/", "//", "%", "@"], Self::sign)
    }

    fn chain(&mut self, signs: &[&'static str], part: fn(&mut Self) -> Result<Node, Fault>) -> Result<Node, Fault> {
        let mut left = part(self)?;
        while let Some(sign) = signs.iter().find(|sign| self.takes(sign)) {
            let right = part(self)?;
            left = checked(Kind::Binary(sign, Box::new(left), Box::new(right)))?;
        }
        Ok(left)
    }

    fn sign(&mut self) -> Result<Node, Fault> {
        if self.takes("-") {
            let inner = self.nested(Self::sign)?;
            return checked(Kind::Negative(Box::new(inner)));
        }
        if self.takes("+") {
            let inner = self.nested(Self::sign)?;
            return checked(Kind::Other(format!("+{inner}")));
        }
        let base = self.postfix()?;
        if !self.takes("**") {
            return Ok(base);
        }
        let power = self.nested(Self::sign)?;
        checked(Kind::Other(format!("{base} ** {power}")))
    }

    /// An atom with arguments, or with subscripts and attributes, which no sentence has.
    fn postfix(&mut self) -> Result<Node, Fault> {
        let begin = self.position();
        let mut node = self.atom()?;
        loop {
            if self.takes("(") {
                node = match node.kind {
                    Kind::Name(name) => checked(Kind::Call(name, self.arguments()?))?,
                    _ => {
                        self.arguments()?;
                        self.other(begin)
                    }
                };
            } else if self.is("[") {
                self.skip_brackets()?;
                node = self.other(begin);
            } else if self.takes(".") {
                let Some(Token::Name(_) | Token::Dotted(_)) = self.take() else { return Err(Fault::Syntax) };
                node = self.other(begin);
            } else {
                return Ok(node);
            }
        }
    }

    fn atom(&mut self) -> Result<Node, Fault> {
        let begin = self.position();
        match self.peek().ok_or(Fault::Syntax)? {
            Token::Number(text) => {
                self.next += 1;
                number(text).ok_or(Fault::Syntax)
            }
            Token::Quantity(number, unit) => {
                self.next += 1;
                checked(Kind::Quantity(number.into(), unit))
            }
            Token::Name("and" | "or" | "not" | "in" | "is") => Err(Fault::Syntax),
            Token::Name(name @ ("True" | "False" | "None")) => {
                self.next += 1;
                checked(Kind::Other(name.into()))
            }
            Token::Name(name) => {
                self.next += 1;
                checked(Kind::Name(name.into()))
            }
            Token::Dotted(text) => {
                self.next += 1;
                checked(Kind::Dotted(text.into()))
            }
            Token::Text(text) => {
                self.next += 1;
                checked(Kind::Other(text.into()))
            }
            Token::Sign("(") => {
                self.next += 1;
                let inner = self.nested(Self::any)?;
                if self.takes(")") { Ok(inner) } else { Err(Fault::Syntax) }
            }
            Token::Sign("[" | "{") => {
                self.skip_brackets()?;
                Ok(self.other(begin))
            }
            Token::Sign(_) => Err(Fault::Syntax),
        }
    }

    /// Arguments up to the closing bracket; the opening one has been taken.
    fn arguments(&mut self) -> Result<Vec<Node>, Fault> {
        let mut found = Vec::new();
        while !self.takes(")") {
            found.push(self.nested(Self::argument)?);
            if !self.takes(",") && !self.is(")") {
                return Err(Fault::Syntax);
            }
        }
        Ok(found)
    }

    /// An argument; a link's other direction has two words, `core reverse`.
    fn argument(&mut self) -> Result<Node, Fault> {
        let node = self.any()?;
        match node.kind {
            Kind::Name(name) if self.takes_name("reverse") => checked(Kind::Name(format!("{name} reverse"))),
            kind => checked(kind),
        }
    }

    fn nested(&mut self, part: fn(&mut Self) -> Result<Node, Fault>) -> Result<Node, Fault> {
        if self.depth == MAX_NESTED {
            return Err(Fault::Depth);
        }
        self.depth += 1;
        let node = part(self);
        self.depth -= 1;
        node
    }

    /// Skips brackets and their content.
    fn skip_brackets(&mut self) -> Result<(), Fault> {
        let mut open = 0;
        loop {
            match self.take() {
                None => return Err(Fault::Syntax),
                Some(Token::Sign("(" | "[" | "{")) => open += 1,
                Some(Token::Sign(")" | "]" | "}")) => open -= 1,
                Some(_) => {}
            }
            if open == 0 {
                return Ok(());
            }
        }
    }

    /// Syntax that no sentence has, from byte `begin` up to here.
    fn other(&self, begin: usize) -> Node {
        let end = self.tokens.get(self.next).map_or(self.text.len(), |&(at, _)| at);
        Node::new(Kind::Other(self.text[begin..end].trim_end().into()))
    }

    fn position(&self) -> usize {
        self.tokens.get(self.next).map_or(self.text.len(), |&(at, _)| at)
    }

    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.next).map(|&(_, token)| token)
    }

    fn take(&mut self) -> Option<Token<'a>> {
        let token = self.peek();
        self.next += 1;
        token
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(Token::Sign(found)) if found == sign)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        self.next += usize::from(found);
        found
    }

    fn is_name(&self, word: &str) -> bool {
        self.peek() == Some(Token::Name(word))
    }

    fn takes_name(&mut self, word: &str) -> bool {
        let found = self.is_name(word);
        self.next += usize::from(found);
        found
    }
}

/// Maximum nesting of brackets and prefixes, which limits the parser's stack.
const MAX_NESTED: u32 = 2 * MAX_DEPTH;

/// A number without a unit; `None` if it is written as 007.
fn number(text: &str) -> Option<Node> {
    let plain = text.replace('_', "");
    let value: f64 = plain.parse().ok()?;
    let is_whole = plain.bytes().all(|byte| byte.is_ascii_digit());
    if is_whole && plain.starts_with('0') && value != 0.0 {
        return None;
    }
    let shown = if is_whole { plain } else { written(value) };
    Some(Node::new(Kind::Number(value, shown)))
}

/// The fewest digits that determine a number, with an exponent if it is very large or small: `0.8`, `3.0`, `1e-09`.
fn written(number: f64) -> String {
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if number != 0.0 && !(-4..16).contains(&exponent) => {
            format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
        }
        _ if number.fract() == 0.0 => format!("{number:.1}"),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        match parse(text) {
            Ok(node) => node.to_string(),
            Err(fault) => format!("{fault:?}"),
        }
    }

    #[test]
    fn precedence_and_text() {
        for (text, expected) in [
            ("a+b*c > 3 ms and not d<4", "a + b * c > 3 ms and not d < 4"),
            ("(a + b) * c > 3", "(a + b) * c > 3"),
            ("a - (b - c) > 0", "a - (b - c) > 0"),
            ("(a - b) - c > 0", "a - b - c > 0"),
            ("-(a*b)/c > --2", "-(a * b) / c > --2"),
            ("(a > b or c > d) and e > f", "(a > b or c > d) and e > f"),
            ("1 ms<2 ms < 8 ms", "1 ms < 2 ms < 8 ms"),
            ("p99.9( sojourn,B ) > 0.80", "p99.9(sojourn, B) > 0.8"),
            ("utilisation(core reverse) > 1e-9", "utilisation(core reverse) > 1e-09"),
            ("min(goodput, flows.0,) > 1_000", "min(goodput, flows.0) > 1000"),
            ("[1][0] > 3", "[1][0] > 3"),
            ("f('os') > 3", "f('os') > 3"),
            ("x == 3", "x == 3"),
            ("", "Syntax"),
            ("a >", "Syntax"),
            ("a b", "Syntax"),
            ("007 > 3", "Syntax"),
            ("a = 3", "Syntax"),
            ("f(a", "Syntax"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        for text in [
            "not ".repeat(100_000) + "a > 1",
            "-".repeat(100_000) + "a > 1",
            "(".repeat(100_000),
            "f(".repeat(100_000),
            "a + ".repeat(100_000) + "a > 1",
            "2 ** ".repeat(100_000) + "2 > 1",
        ] {
            assert_eq!(shown(&text), "Depth");
        }
        assert!(parse(&("a > 1 and ".repeat(20_000) + "a > 1")).is_ok());
        assert!(parse(&("(".repeat(60) + "a" + &")".repeat(60) + " > 1")).is_ok());
    }

    proptest! {
        #[test]
        fn any_text_ends_in_a_tree_or_a_fault(text in ".{0,200}") {
            let _ = parse(&text);
        }

        #[test]
        fn a_tree_s_text_gives_the_same_tree(words in prop::collection::vec(
            prop::sample::select(vec![
                "(", ")", "not", "and", "or", "-", "+", "*", "/", ">", "<=", "a", "p99(sojourn)", "5 ms", "flows.0.count",
                "0.8", ",", "link.rate", "[", "]", "'x'", "**", "reverse", "p9.9(", "%", "1e9", ".",
            ]), 0..40))
        {
            let text = words.join(" ");
            if let Ok(node) = parse(&text) {
                prop_assert!(node.depth <= MAX_DEPTH);
                let once = node.to_string();
                let again = parse(&once).map(|node| node.to_string());
                prop_assert_eq!(again, Ok(once));
            }
        }
    }
}
