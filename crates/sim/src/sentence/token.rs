//! Words, numbers and signs of a sentence.

use std::iter::Peekable;
use std::str::CharIndices;

/// A token of a sentence, with the text that it was written as.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// A number without a unit.
    Number(&'a str),
    /// A number and its unit.
    Quantity(&'a str, &'static str),
    /// A name: letters, digits and underscores; a quantile such as `p99.9` before a bracket.
    Name(&'a str),
    /// Names joined by dots.
    Dotted(&'a str),
    /// A text in quotation marks, with these.
    Text(&'a str),
    /// An operator or a bracket.
    Sign(&'static str),
}

/// Units of a quantity; a unit comes before its prefixes.
const UNITS: [&str; 19] = [
    "kbit/s", "Mbit/s", "Gbit/s", "bit/s", "packets", "packet", "min", "KiB", "MiB", "GiB", "kB", "MB", "GB", "ns",
    "us", "ms", "s", "B", "%",
];
/// Operators and brackets; an operator comes before its prefixes.
const SIGNS: [&str; 22] = [
    "**", "//", "==", "!=", ">=", "<=", ">", "<", "+", "-", "*", "/", "%", "@", "(", ")", "[", "]", "{", "}", ",", ".",
];

/// The tokens of `text`, each with the position of its first byte; `None` if a character belongs to no token.
pub(super) fn tokens(text: &str) -> Option<Vec<(usize, Token<'_>)>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let rest = &text[at..];
        let follows_dot = matches!(found.last(), Some((_, Token::Sign("."))));
        let (length, token) = if first.is_ascii_digit() || (first == '.' && !follows_dot && digits(&rest[1..]) > 0) {
            number(rest)
        } else if is_word(first) {
            word(rest)
        } else if first == '\'' || first == '"' {
            let end = rest[1..].find(first)? + 2;
            (end, Token::Text(&rest[..end]))
        } else {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign))?;
            (sign.len(), Token::Sign(sign))
        };
        found.push((at, token));
        at += length;
    }
    Some(found)
}

/// A number at the start of `text`, with its unit: bytes taken, token.
fn number(text: &str) -> (usize, Token<'_>) {
    let plain = plain_number(text);
    let gap = text[plain..].len() - text[plain..].trim_start().len();
    let after = &text[plain + gap..];
    let ends = |unit: &&&str| !after[unit.len()..].starts_with(|c: char| is_word(c) || c == '/');
    // A digit group or an exponent makes a plain number, as in `1e3`.
    if let Some(unit) = UNITS.iter().filter(|unit| after.starts_with(**unit)).find(ends) {
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            return (plain + gap + unit.len(), Token::Quantity(&text[..plain], unit));
        }
    }
    let length = long_number(text);
    (length, Token::Number(&text[..length]))
}

/// Length of digits with at most one point between them.
fn plain_number(text: &str) -> usize {
    let whole = digits(text);
    let fraction = text[whole..].strip_prefix('.').map_or(0, digits);
    whole + if fraction > 0 { 1 + fraction } else { 0 }
}

/// Length of a number with underscores between digits, a point anywhere and an exponent.
fn long_number(text: &str) -> usize {
    let group = |text: &str| text.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(text.len());
    let mut length = group(text);
    if text[length..].starts_with('.') {
        length += 1 + group(&text[length + 1..]);
    }
    if let Some(exponent) = text[length..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        let size = digits(&exponent[sign..]);
        length += if size > 0 { 1 + sign + size } else { 0 };
    }
    length
}

/// A name, or names joined by dots, at the start of `text`: bytes taken, token.
fn word(text: &str) -> (usize, Token<'_>) {
    let first = run(text);
    let mut end = first;
    let mut dots = 0;
    while let Some(next) = text[end..].strip_prefix('.').map(run).filter(|&next| next > 0) {
        end += 1 + next;
        dots += 1;
    }
    let name = &text[..end];
    // `p99.9(` is a quantile, not a key.
    if dots == 0 || dots == 1 && text[end..].starts_with('(') && is_quantile(name) {
        return (end, Token::Name(name));
    }
    (end, Token::Dotted(name))
}

fn is_quantile(name: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && digits(text) == text.len();
    name.strip_prefix('p').and_then(|rest| rest.split_once('.')).is_some_and(|(a, b)| is_digits(a) && is_digits(b))
}

fn digits(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())
}

fn run(text: &str) -> usize {
    let mut chars: Peekable<CharIndices> = text.char_indices().peekable();
    while chars.next_if(|&(_, c)| is_word(c)).is_some() {}
    chars.peek().map_or(text.len(), |&(at, _)| at)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Vec<Token<'_>>> {
        Some(tokens(text)?.into_iter().map(|(_, token)| token).collect())
    }

    #[test]
    fn words_and_numbers() {
        use Token::{Dotted, Name, Number, Quantity, Sign, Text};
        for (text, expected) in [
            ("5 ms", vec![Quantity("5", "ms")]),
            ("1.5Mbit/s", vec![Quantity("1.5", "Mbit/s")]),
            ("5 %", vec![Quantity("5", "%")]),
            ("5 msx", vec![Number("5"), Name("msx")]),
            ("1e3 ms", vec![Number("1e3"), Name("ms")]),
            ("10*target", vec![Number("10"), Sign("*"), Name("target")]),
            ("p99.9(sojourn)", vec![Name("p99.9"), Sign("("), Name("sojourn"), Sign(")")]),
            ("flows.0.count>=2", vec![Dotted("flows.0.count"), Sign(">="), Number("2")]),
            ("'a'", vec![Text("'a'")]),
            (".5", vec![Number(".5")]),
        ] {
            assert_eq!(of(text), Some(expected), "{text}");
        }
        assert_eq!(of("goodput ; 1"), None);
        assert_eq!(of("'open"), None);
    }
}
