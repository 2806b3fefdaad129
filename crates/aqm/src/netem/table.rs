//! Distribution tables in files, parsed as tc does (`get_distribution` of `q_netem.c`).

use crate::quote::quoted;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Values of an inverse distribution in steps of equal probability, in units of the jitter over 8192, with the name of
/// their file.
#[derive(Debug, PartialEq)]
pub struct Table {
    name: String,
    entries: Box<[i16]>,
}

impl Table {
    /// Maximum number of entries (`NETEM_DIST_MAX`).
    pub const MAX_ENTRIES: usize = 16_384;

    /// Parses the text of the file `name`: 16-bit integers separated by white space; a line that starts with `#` is a
    /// comment. `name` is escaped as in a spelling: it contains no blank and no brace.
    ///
    /// # Errors
    /// A message with the line number.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let mut entries: Vec<i16> = Vec::new();
        let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
        for (number, word) in lines.flat_map(|(i, line)| line.split_whitespace().map(move |word| (i + 1, word))) {
            let wrong = |text: &str| format!("line {number}: {text}");
            // tc parses 010 as eight and 0x10 as sixteen.
            let digits = word.trim_start_matches(['-', '+']);
            if digits.len() > 1 && digits.starts_with('0') {
                return Err(wrong(&format!(
                    "tc does not read {} as decimal; write it without the leading zero",
                    quoted(word)
                )));
            }
            let entry = word.parse().map_err(|_| {
                wrong(&format!("{} is not a whole number from {} to {}", quoted(word), i16::MIN, i16::MAX))
            })?;
            if entries.len() == Self::MAX_ENTRIES {
                return Err(wrong(&format!("more than {} numbers, the maximum of Linux", Self::MAX_ENTRIES)));
            }
            entries.push(entry);
        }
        if entries.is_empty() {
            return Err("no numbers in it; write the inverse distribution in units of jitter/8192".into());
        }
        Ok(Self { name: name.into(), entries: entries.into() })
    }

    /// File name as in a spelling.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Values of the table.
    pub fn entries(&self) -> &[i16] {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn numbers_between_white_space() {
        let table = Table::parse("a.dist", "# made by hand\n -3 7\t+8\n\n#9\n-32768  32767\n0").unwrap();
        assert_eq!(table.entries(), [-3, 7, 8, -32_768, 32_767, 0]);
        assert_eq!(table.name(), "a.dist");
        assert_eq!(Table::parse("", &"1 ".repeat(Table::MAX_ENTRIES)).unwrap().entries().len(), Table::MAX_ENTRIES);
    }

    #[test]
    fn refusals_name_the_line() {
        for (text, error) in [
            ("", "no numbers in it; write the inverse distribution in units of jitter/8192"),
            ("# 1\n", "no numbers in it; write the inverse distribution in units of jitter/8192"),
            ("1\n2 x", "line 2: \"x\" is not a whole number from -32768 to 32767"),
            ("1 # one", "line 1: \"#\" is not a whole number from -32768 to 32767"),
            ("1\n\n32768", "line 3: \"32768\" is not a whole number from -32768 to 32767"),
            ("1.5", "line 1: \"1.5\" is not a whole number from -32768 to 32767"),
            ("010", "line 1: tc does not read \"010\" as decimal; write it without the leading zero"),
            ("-0x10", "line 1: tc does not read \"-0x10\" as decimal; write it without the leading zero"),
        ] {
            assert_eq!(Table::parse("", text).unwrap_err(), error, "{text:?}");
        }
        let long = Table::parse("", &"1\n".repeat(Table::MAX_ENTRIES + 1)).unwrap_err().to_string();
        assert_eq!(long, "line 16385: more than 16384 numbers, the maximum of Linux");
    }
}
