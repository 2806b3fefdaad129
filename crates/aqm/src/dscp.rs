//! Differentiated services code points by name (RFC 2474, 2597, 3246, 5865, 8622).

use crate::quote::quoted;
use alloc::format;
use alloc::string::String;

/// Named code points; the first of several names for one is the usual one.
pub const NAMES: &[(&str, u8)] = &[
    ("CS0", 0),
    ("BE", 0),
    ("DF", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VA", 44),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];

/// Parses a name, case-insensitive, or a number from 0 to 63.
pub fn parse(text: &str) -> Result<u8, String> {
    let named = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|&(_, dscp)| dscp);
    named.or_else(|| text.parse().ok().filter(|&dscp| dscp < 64)).ok_or_else(|| {
        format!(
            "{} is not a code point; write a name such as \"EF\", \"CS1\" or \"AF41\", or a number from 0 to 63",
            quoted(text)
        )
    })
}

/// The usual name, otherwise the number.
pub fn spelling(dscp: u8) -> String {
    let named = NAMES.iter().find(|&&(_, point)| point == dscp).map(|&(name, _)| name.into());
    named.unwrap_or_else(|| format!("{dscp}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        for (text, dscp, spelled) in [
            ("EF", 46, "EF"),
            ("ef", 46, "EF"),
            ("46", 46, "EF"),
            ("be", 0, "CS0"),
            ("3", 3, "3"),
            ("af41", 34, "AF41"),
        ] {
            assert_eq!(parse(text), Ok(dscp));
            assert_eq!(spelling(dscp), spelled);
        }
        for text in ["64", "-1", "", "AF14", "EF "] {
            assert!(parse(text).is_err(), "{text}");
        }
        // Assured forwarding: class c with drop precedence p is 8 c + 2 p (RFC 2597).
        for (class, precedence) in (1..5u8).flat_map(|class| (1..4u8).map(move |precedence| (class, precedence))) {
            assert_eq!(parse(&format!("AF{class}{precedence}")), Ok(8 * class + 2 * precedence));
        }
    }
}
