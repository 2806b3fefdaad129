//! Implementation of a queue manager that the engine `kernel` runs: the prefix of its name.

use super::value_error::AqmError;
use sojourn_aqm::registry::Catalogue;

/// Implementation that the engine `kernel` runs; a simulated queue is this library's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Implementation {
    /// The kernel's own of that name if it has one, otherwise this library's.
    #[default]
    Any,
    /// This library's: prefix `sojourn:`.
    Library,
    /// A file compiled into the kernel, with the parameters of a queue manager of the registry:
    /// `kernel:NAME like codel target 7ms`. No such queue can be simulated.
    KernelLike(String),
    /// A file compiled into the kernel with these words: `kernel:NAME options 1:4:5000`, or none. The configuration is
    /// tail drop's, which has no parameters.
    Kernel(String, String),
}

impl Implementation {
    /// Separates the prefix of `text` from the spelling of a registered queue manager.
    pub(super) fn split<'a>(text: &'a str, own: &dyn Catalogue) -> Result<(Self, &'a str), AqmError> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix(LIBRARY) {
            return Ok((Self::Library, rest));
        }
        let Some(rest) = text.strip_prefix(KERNEL) else { return Ok((Self::Any, text)) };
        let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if !is_kernel_name(name) {
            return Err(AqmError::KernelName(name.to_string()));
        }
        if !own.has_kernel_names() {
            return Err(AqmError::OnlyInKernel(format!("{KERNEL}{name}")));
        }
        match rest.trim().split_once(char::is_whitespace) {
            None if rest.trim().is_empty() => Ok((Self::Kernel(name.to_string(), String::new()), PLAIN)),
            Some(("like", like)) => Ok((Self::KernelLike(name.to_string()), like.trim_start())),
            Some(("options", words)) if words.split_whitespace().all(is_option) => {
                let words: Vec<_> = words.split_whitespace().collect();
                Ok((Self::Kernel(name.to_string(), format!(" options {}", words.join(" "))), PLAIN))
            }
            _ => Err(AqmError::KernelWords { name: name.to_string(), words: rest.trim().to_string() }),
        }
    }

    /// Adds the prefix to a spelling or a name.
    pub(super) fn joined(&self, text: &str) -> String {
        match self {
            Self::Any => text.to_string(),
            Self::Library => format!("{LIBRARY}{text}"),
            Self::KernelLike(name) => format!("{KERNEL}{name} like {text}"),
            Self::Kernel(name, words) => format!("{KERNEL}{name}{words}"),
        }
    }
}

/// Whether a kernel accepts the name of a queue discipline or a congestion control.
pub(super) fn is_kernel_name(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    name.len() <= MAX_NAME
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.bytes().all(is_inner)
}

/// Whether a word is an attribute of a netlink message: type, length in bytes, value.
fn is_option(word: &str) -> bool {
    let numbers: Vec<_> = word.split(':').map(str::parse::<u64>).collect();
    match numbers[..] {
        [Ok(1..=255), Ok(bytes @ (1 | 2 | 4 | 8)), Ok(value)] => bytes == 8 || value < 1 << (8 * bytes),
        _ => false,
    }
}

const LIBRARY: &str = "sojourn:";
/// Prefix of a queue manager or a congestion control of a file that is compiled into a kernel.
pub(super) const KERNEL: &str = "kernel:";
const PLAIN: &str = "droptail";
/// `IFNAMSIZ` and `TCP_CA_NAME_MAX` of Linux, less the final zero.
const MAX_NAME: usize = 15;

#[cfg(test)]
mod tests {
    use super::super::AqmSpec;
    use sojourn_aqm::error::ConfigError;
    use sojourn_aqm::netem::Table;
    use sojourn_aqm::registry::{Algorithm, Catalogue};

    struct KernelNames;

    impl Catalogue for KernelNames {
        fn find(&self, _name: &str) -> Option<Result<&'static Algorithm, ConfigError>> {
            None
        }
        fn table(&self, _name: &str) -> Option<Result<&'static Table, ConfigError>> {
            None
        }
        fn has_kernel_names(&self) -> bool {
            true
        }
    }

    fn read(text: &str) -> Result<AqmSpec, String> {
        AqmSpec::parse_with(text, &KernelNames).map_err(|error| error.to_string())
    }

    #[test]
    fn a_kernels_file_survives_its_text_and_its_table() {
        for (given, text) in [
            ("kernel:mine", "kernel:mine"),
            (" kernel:mine  like   codel@linux target 7500us  ecn", "kernel:mine like codel@linux target 7.5ms ecn"),
            ("kernel:sch-2_a like fq_pie", "kernel:sch-2_a like fq_pie"),
            (
                "kernel:mine options 1:4:5000   2:8:18446744073709551615",
                "kernel:mine options 1:4:5000 2:8:18446744073709551615",
            ),
        ] {
            let aqm = read(given).expect(given);
            assert_eq!(aqm.text, text);
            assert_eq!(read(text).as_ref(), Ok(&aqm));
            for table in [aqm.table(), aqm.short_table()] {
                assert_eq!(AqmSpec::read_with(&table.into(), &KernelNames), Ok(aqm.clone()), "{text}");
            }
        }
        let (own, registered) = (read("kernel:mine like codel").unwrap(), read("codel").unwrap());
        assert!(!own.differs_in_parameters_only(&registered));
        assert!(own.differs_in_parameters_only(&read("kernel:mine like codel target 9ms").unwrap()));
        assert!(!own.differs_in_parameters_only(&read("kernel:other like codel").unwrap()));
    }

    #[test]
    fn refusals_say_what_to_write() {
        for (text, error) in [
            (
                "kernel:",
                r#""" is not a kernel's name (up to 15 letters, digits, - and _); write e.g. "kernel:mine like codel""#,
            ),
            (
                "kernel:sixteen_letters_",
                r#""sixteen_letters_" is not a kernel's name (up to 15 letters, digits, - and _); write e.g. "kernel:mine like codel""#,
            ),
            (
                "kernel:a/b like codel",
                r#""a/b" is not a kernel's name (up to 15 letters, digits, - and _); write e.g. "kernel:mine like codel""#,
            ),
            (
                "kernel:mine target 5ms",
                r#"kernel:mine is followed by "like AQM" or "options TYPE:BYTES:VALUE", not by "target 5ms""#,
            ),
            (
                "kernel:mine options 1:3:5",
                r#"kernel:mine is followed by "like AQM" or "options TYPE:BYTES:VALUE", not by "options 1:3:5""#,
            ),
            (
                "kernel:mine options 1:1:256",
                r#"kernel:mine is followed by "like AQM" or "options TYPE:BYTES:VALUE", not by "options 1:1:256""#,
            ),
            (
                "kernel:mine like",
                r#"kernel:mine is followed by "like AQM" or "options TYPE:BYTES:VALUE", not by "like""#,
            ),
            ("kernel:mine like coddle", r#"unknown AQM "coddle"; did you mean "codel"?"#),
        ] {
            assert_eq!(read(text).unwrap_err(), error, "{text}");
        }
        let simulated = AqmSpec::parse("kernel:mine like codel").unwrap_err().to_string();
        assert_eq!(simulated, "kernel:mine is compiled into a kernel and cannot be simulated; choose --engine kernel");
    }
}
