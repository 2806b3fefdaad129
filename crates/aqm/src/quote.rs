//! User input in errors: quoted, escaped, and truncated if it would fill the screen.

use core::fmt;

/// Maximum number of characters shown.
const SHOWN: usize = 72;

/// Quotes a text for an error.
pub(crate) fn quoted(text: &str) -> QuotedText<'_> {
    QuotedText(text)
}

/// Displays a text in quotation marks on one line, truncated if long.
pub(crate) struct QuotedText<'a>(&'a str);

impl fmt::Display for QuotedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cut = cut(self.0);
        if cut.len() == self.0.len() { write!(f, "{cut:?}") } else { write!(f, "{:?}…", cut) }
    }
}

/// The beginning of a text, as much as an error shows.
pub(crate) fn cut(text: &str) -> &str {
    text.char_indices().nth(SHOWN).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_long_text_is_cut_short() {
        assert_eq!(quoted("5 \"ms\"\n").to_string(), r#""5 \"ms\"\n""#);
        let exact = "é".repeat(SHOWN);
        assert_eq!(quoted(&exact).to_string(), alloc::format!("{exact:?}"));
        assert_eq!(quoted(&(exact.clone() + "x")).to_string(), alloc::format!("{exact:?}…"));
        assert_eq!(quoted(&"tbf { ".repeat(50_000)).to_string().chars().count(), SHOWN + 3);
    }
}
