//! Texts with braces.

use crate::error::ConfigError;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Maximum nesting: disciplines are parsed, built and called recursively.
pub const DEEPEST: usize = 64;

/// Maximum open brackets and braces of [`DEEPEST`] disciplines: children of `htb` and `prio` are inside the braces of a
/// class or band.
const MAX_OPEN: usize = 2 * DEEPEST;

/// Rejects a text with more open brackets and braces than the maximum nesting allows.
pub(crate) fn check_depth(text: &str) -> Result<(), ConfigError> {
    let mut depth = 0_usize;
    for byte in text.bytes() {
        match byte {
            b'{' | b'(' => depth += 1,
            b'}' | b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_OPEN {
            return Err(ConfigError::TooDeep);
        }
    }
    Ok(())
}

/// Splits a discipline's own words from the contents of the braces at their end.
pub(crate) fn split(text: &str) -> Result<(&str, Option<&str>), ConfigError> {
    let text = text.trim();
    let Some(open) = text.find('{') else {
        return if text.contains('}') { Err(ConfigError::UnmatchedBrace(text.into())) } else { Ok((text, None)) };
    };
    let close = closing(text, open)?;
    match text[close + 1..].trim() {
        "" => Ok((text[..open].trim_end(), Some(text[open + 1..close].trim()))),
        behind => Err(ConfigError::TrailingWords(behind.into())),
    }
}

/// Splits the contents of braces at semicolons and newlines.
pub(crate) fn parts(text: &str) -> Result<Vec<&str>, ConfigError> {
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0);
    for (i, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Err(ConfigError::UnmatchedBrace(text.into())),
            '}' => depth -= 1,
            ';' | '\n' if depth == 0 => {
                parts.push(text[begin..i].trim());
                begin = i + 1;
            }
            _ => {}
        }
    }
    parts.push(text[begin..].trim());
    parts.retain(|part| !part.is_empty());
    Ok(parts)
}

/// `words { inside }`, without braces if `inside` is `None`.
pub(crate) fn join(words: &str, inside: Option<String>) -> String {
    inside.map_or_else(|| words.into(), |inside| format!("{words} {{ {inside} }}"))
}

/// Index of the brace that closes the one at `open`.
fn closing(text: &str, open: usize) -> Result<usize, ConfigError> {
    let mut depth = 0;
    for (i, c) in text[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return Ok(open + i),
            '}' => depth -= 1,
            _ => {}
        }
    }
    Err(ConfigError::UnclosedBrace(text.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_at_the_end_and_balanced() {
        assert_eq!(split("tbf rate 1mbit {fq_codel} ").unwrap(), ("tbf rate 1mbit", Some("fq_codel")));
        assert_eq!(
            split("htb{ class 1 { a }; class 2 { b } }").unwrap(),
            ("htb", Some("class 1 { a }; class 2 { b }"))
        );
        assert_eq!(split("codel").unwrap(), ("codel", None));
        assert!(matches!(split("tbf { codel"), Err(ConfigError::UnclosedBrace(_))));
        assert!(matches!(split("tbf codel }"), Err(ConfigError::UnmatchedBrace(_))));
        assert!(matches!(split("tbf { codel } rate 1mbit"), Err(ConfigError::TrailingWords(_))));
    }

    #[test]
    fn only_so_many_are_open_at_once() {
        let nested =
            |(open, close): (&str, &str), depth: usize| format!("{}codel{}", open.repeat(depth), close.repeat(depth));
        for pair in [("tbf { ", " }"), ("fq(", ")"), ("(", ""), ("{", ""), ("fq(tbf {", "})")] {
            let each = pair.0.matches(['{', '(']).count();
            assert_eq!(check_depth(&nested(pair, MAX_OPEN / each)), Ok(()), "{pair:?}");
            assert_eq!(check_depth(&nested(pair, MAX_OPEN / each + 1)), Err(ConfigError::TooDeep), "{pair:?}");
        }
        assert_eq!(check_depth(&"{ a }; ".repeat(1000)), Ok(()));
        assert_eq!(check_depth(&format!("{}{}", ")".repeat(99), "(".repeat(MAX_OPEN + 1))), Err(ConfigError::TooDeep));
    }

    #[test]
    fn parts_end_with_a_semicolon_or_a_line() {
        assert_eq!(parts("a { b; c } ; d\n\n e;").unwrap(), ["a { b; c }", "d", "e"]);
        assert!(parts("a } b {").is_err());
    }
}
