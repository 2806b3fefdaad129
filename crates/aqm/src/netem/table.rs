//! Tables of distributions in files, as tc reads them (`get_distribution` of `q_netem.c`).

use crate::quote::quoted;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Values of an inverse distribution in steps of equal probability, in units of the jitter over 8192, and the file in which
/// they were.
#[derive(Debug, PartialEq)]
pub struct Table {
    name: String,
    entries: Box<[i16]>,
}

impl Table {
    /// Most entries (`NETEM_DIST_MAX`).
    pub const MAX_ENTRIES: usize = 16_384;

    /// Reads the text of the file `name`: whole numbers of 16 bits between white space; a line that begins with `#` is a
    /// comment. `name` is how a spelling has the file: it has no blank and no brace.
    ///
    /// The error is a sentence with the line.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let mut entries: Vec<i16> = Vec::new();
        let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
        for (number, word) in lines.flat_map(|(i, line)| line.split_whitespace().map(move |word| (i + 1, word))) {
            let wrong = |text: &str| format!("line {number}: {text}");
            // tc reads 010 as eight and 0x10 as sixteen.
            let digits = word.trim_start_matches(['-', '+']);
            if digits.len() > 1 && digits.starts_with('0') {
                return Err(wrong(&format!("{} is not decimal to tc; write it without the first zero", quoted(word))));
            }
            let entry = word.parse().map_err(|_| {
                wrong(&format!("{} is no whole number from {} to {}", quoted(word), i16::MIN, i16::MAX))
            })?;
            if entries.len() == Self::MAX_ENTRIES {
                return Err(wrong(&format!(
                    "there are more than {} numbers, the most that Linux takes",
                    Self::MAX_ENTRIES
                )));
            }
            entries.push(entry);
        }
        if entries.is_empty() {
            return Err(
                "there are no numbers in it; write the inverse distribution in units of the jitter over 8192".into()
            );
        }
        Ok(Self { name: name.into(), entries: entries.into() })
    }

    /// The file, as a spelling has it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The values.
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
            ("", "there are no numbers in it; write the inverse distribution in units of the jitter over 8192"),
            ("# 1\n", "there are no numbers in it; write the inverse distribution in units of the jitter over 8192"),
            ("1\n2 x", "line 2: \"x\" is no whole number from -32768 to 32767"),
            ("1 # one", "line 1: \"#\" is no whole number from -32768 to 32767"),
            ("1\n\n32768", "line 3: \"32768\" is no whole number from -32768 to 32767"),
            ("1.5", "line 1: \"1.5\" is no whole number from -32768 to 32767"),
            ("010", "line 1: \"010\" is not decimal to tc; write it without the first zero"),
            ("-0x10", "line 1: \"-0x10\" is not decimal to tc; write it without the first zero"),
        ] {
            assert_eq!(Table::parse("", text).unwrap_err(), error, "{text:?}");
        }
        let long = Table::parse("", &"1\n".repeat(Table::MAX_ENTRIES + 1)).unwrap_err().to_string();
        assert_eq!(long, "line 16385: there are more than 16384 numbers, the most that Linux takes");
    }
}
