//! Limit on the nesting of tables and lists, checked before a recursive parser or walk descends into them.

use super::Error;
use serde_json::Value;

/// Maximum nesting; scenarios need six levels.
const DEEPEST: usize = 64;
/// Error text beyond it.
pub(super) const TOO_DEEP: &str = "tables or lists are nested more than 64 deep; write them flatter";

/// Offset in a TOML or JSON text at which the nesting exceeds the maximum. Each dot of a dotted key opens a table.
pub(super) fn too_deep(text: &str, is_json: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut open, mut dots, mut at) = (0_usize, 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'"' | b'\'') if quote == b'"' || !is_json => {
                at = behind_string(bytes, at, is_json);
                continue;
            }
            b'#' if !is_json => {
                at += bytes[at..].iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len() - at);
                continue;
            }
            b'[' | b'{' => (open, dots) = (open + 1, 0),
            b']' | b'}' => (open, dots) = (open.saturating_sub(1), 0),
            b'.' => dots += 1,
            b'=' | b',' | b'\n' => dots = 0,
            _ => {}
        }
        if open + dots > DEEPEST {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Offset after the string that begins at `begin`; for an unterminated one, the end of its line or of the text.
fn behind_string(bytes: &[u8], begin: usize, is_json: bool) -> usize {
    let quote = bytes[begin];
    let long = [quote; 3];
    let is_long = !is_json && bytes[begin..].starts_with(&long);
    let mut at = begin + if is_long { 3 } else { 1 };
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if quote == b'"' => at += 2,
            byte if byte == quote && !is_long => return at + 1,
            byte if byte == quote && bytes[at..].starts_with(&long) => return at + 3,
            // A basic string ends with its line; the parser reports the error.
            b'\n' if !is_long => return at,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Rejects a value at `place` that is nested too deeply.
pub(super) fn check(place: &str, value: &Value) -> Result<(), Error> {
    // Level by level: recursion could overflow the stack on a deep document.
    let mut level = vec![(None, value)];
    for _ in 0..=DEEPEST {
        level = level.into_iter().flat_map(below).collect();
        if level.is_empty() {
            return Ok(());
        }
    }
    let (first, _) = level[0];
    let name = first.unwrap_or_default();
    Err(Error::new(if place.is_empty() { name } else { place }, TOO_DEEP))
}

/// Children of a table or a list, each with the name of the outermost table that contains it.
fn below<'a>((first, value): (Option<&'a str>, &'a Value)) -> Vec<(Option<&'a str>, &'a Value)> {
    match value {
        Value::Object(table) => table.iter().map(|(name, value)| (first.or(Some(name)), value)).collect(),
        Value::Array(list) => list.iter().map(|value| (first, value)).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_and_dots_are_counted_outside_strings_and_comments() {
        let lists = |depth: usize| format!("a = {}1{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(too_deep(&lists(64), false), None);
        assert_eq!(too_deep(&lists(65), false), Some(4 + 64));
        let dotted = |names: usize| format!("{} = 1", vec!["a"; names].join("."));
        assert_eq!(too_deep(&dotted(65), false), None);
        assert_eq!(too_deep(&dotted(66), false), Some(2 * 65 - 1));
        assert_eq!(too_deep(&format!("[{}]", vec!["b"; 70].join(".")), false), Some(2 * 64));
        let deep = "[".repeat(99);
        for text in [
            format!("# {deep}\na = 1"),
            format!("a = \"{deep}\""),
            format!("a = '{deep}'"),
            format!("a = \"\"\"\n{deep}\n\"\" \\\"\"\"\""),
            format!("a = '''{deep}\n''{deep}'''"),
            format!("a = \"\\\"{deep}\""),
            "a = [1.5, 2.5, 3.5]\n".repeat(200),
        ] {
            assert_eq!(too_deep(&text, false), None, "{text}");
        }
        assert_eq!(too_deep(&format!("{{\"a\": \"{deep}'\"}}"), true), None);
        assert_eq!(too_deep(&format!("{{\"a\": \"'\", \"b\": {deep}"), true), Some(16 + 63));
    }

    #[test]
    fn values_are_bounded_whatever_made_them() {
        let deep = |depth: usize| (0..depth).fold(Value::from(1), |value, _| Value::from(vec![value]));
        assert_eq!(check("x", &deep(64)), Ok(()));
        assert_eq!(check("x", &deep(65)).unwrap_err().to_string(), format!("x: {TOO_DEEP}"));
        let table = serde_json::json!({"good": 1, "bad": deep(64), "worse": deep(70)});
        assert_eq!(check("", &table).unwrap_err().to_string(), format!("bad: {TOO_DEEP}"));
    }
}
