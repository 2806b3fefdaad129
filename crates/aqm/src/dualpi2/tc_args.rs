//! DualPI2 in tc's notation: `dualpi2 any_ect overflow step_thresh 5p classic_protection 10%`. Keywords become
//! parameters.

use crate::error::ConfigError;
use crate::param_list::{missing_value, set_once};
use crate::params::Param;
use crate::quote::{cut, quoted};
use crate::units;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::iter::Peekable;
use core::str::SplitWhitespace;

/// Parses the next words if they are tc keywords and not parameters (q_dualpi2.c). Returns whether they were.
pub(crate) fn read(
    words: &mut Peekable<SplitWhitespace<'_>>,
    given: &mut Vec<(String, String)>,
    _: &[Param],
) -> Result<bool, ConfigError> {
    let Some(&word) = words.peek() else { return Ok(false) };
    if let Some(&(_, param, value)) = WORDS.iter().find(|(known, ..)| *known == word) {
        words.next();
        return set_once(given, NAME, param, value).map(|()| true);
    }
    if !["step_thresh", "classic_protection"].contains(&word) {
        return Ok(false);
    }
    words.next();
    let value = words.next().ok_or_else(|| missing_value(NAME, word))?;
    let (param, value) = match word {
        "step_thresh" => step_thresh(value)?,
        _ => (word, value.trim_end_matches('%').into()),
    };
    set_once(given, NAME, param, &value).map(|()| true)
}

/// Parameter for a threshold in packets or in time.
fn step_thresh(value: &str) -> Result<(&'static str, String), ConfigError> {
    match units::packets(value) {
        Ok(0) => {
            Err("step_thresh: 0 packets would mark every packet; write e.g. step_thresh 1p or step_thresh 1ms".into())
        }
        Ok(packets) => Ok(("step_packets", packets.to_string())),
        Err(_) if value.bytes().all(|byte| byte.is_ascii_digit()) => Err(format!(
            "step_thresh: {} is neither a time nor a number of packets; write e.g. step_thresh 1ms or step_thresh {}p",
            quoted(value),
            cut(value)
        )
        .into()),
        Err(_) => Ok(("step_thresh", value.into())),
    }
}

/// Keywords without a value: the parameter that each sets, and its value.
const WORDS: &[(&str, &str, &str)] = &[
    ("l4s_ect", "classify", "l4s-ect"),
    ("any_ect", "classify", "any-ect"),
    ("overflow", "drop_on_overload", "off"),
    ("drop_dequeue", "drop_enqueue", "off"),
    ("split_gso", "split_gso", "on"),
    ("no_split_gso", "split_gso", "off"),
];
const NAME: &str = "dualpi2";

#[cfg(test)]
mod tests {
    use crate::registry::{NamedConfig, parse};
    use alloc::string::ToString;

    #[test]
    fn tcs_words_are_parameters() {
        for (text, spelling) in [
            ("dualpi2 l4s_ect drop_dequeue split_gso", "dualpi2"),
            (
                "dualpi2@linux any_ect overflow drop_enqueue",
                "dualpi2@linux nodrop_on_overload drop_enqueue classify any-ect",
            ),
            ("dualpi2@linux step_thresh 5pkts min_qlen_step 2", "dualpi2@linux step_packets 5 min_qlen_step 2"),
            (
                "dualpi2@linux step_thresh 700us classic_protection 25%",
                "dualpi2@linux step_thresh 700us classic_protection 25",
            ),
            (
                "dualpi2@linux max_rtt 100ms memlimit 1MB no_split_gso",
                "dualpi2@linux memlimit 1000000B max_rtt 100ms nosplit_gso",
            ),
            ("dualpi2@linux drop_on_overload", "dualpi2@linux"),
        ] {
            let named = NamedConfig::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(named.spelling(), spelling, "{text}");
            assert_eq!(NamedConfig::parse(spelling).expect("a spelling is read").spelling(), spelling);
        }
    }

    #[test]
    fn what_tc_or_the_kernel_would_refuse_gets_a_line() {
        for (text, error) in [
            ("dualpi2 any_ect l4s_ect", "dualpi2 has both any-ect and l4s-ect for classify; leave one of them out"),
            (
                "dualpi2 drop_on_overload overflow",
                "dualpi2 has both on and off for drop_on_overload; leave one of them out",
            ),
            ("dualpi2@linux step_thresh", "step_thresh of dualpi2 needs a value"),
            (
                "dualpi2@linux step_thresh 5",
                r#"step_thresh: "5" is neither a time nor a number of packets; write e.g. step_thresh 1ms or step_thresh 5p"#,
            ),
            (
                "dualpi2@linux step_thresh 0p",
                "step_thresh: 0 packets would mark every packet; write e.g. step_thresh 1p or step_thresh 1ms",
            ),
            ("dualpi2@linux classic_protection 101%", "classic_protection = 101 is out of range; from 0 to 100"),
            (
                "dualpi2@linux coupling_factor 1.5",
                "coupling_factor (1.5) must be a whole number in version linux; write e.g. coupling_factor 2",
            ),
            (
                "dualpi2@linux alpha 0.003",
                "alpha (0.003) rounds to 0 in tc's unit of 1/256 per second; write e.g. alpha 0.16",
            ),
            ("dualpi2@linux beta 0", "beta (0) rounds to 0 in tc's unit of 1/256 per second; write e.g. beta 3.2"),
            (
                "dualpi2@linux max_rtt 50ms target 10ms",
                "target follows from max_rtt and typical_rtt; leave one of them out",
            ),
            (
                "dualpi2@linux max_rtt 10ms typical_rtt 11ms",
                "typical_rtt (11 ms) must not exceed max_rtt (10 ms); write e.g. typical_rtt 16ms max_rtt 100ms",
            ),
            (
                "dualpi2@linux max_rtt 5s",
                "max_rtt makes alpha round to 0 in tc's unit of 1/256 per second; write e.g. max_rtt 100ms",
            ),
            (
                "dualpi2@linux scheduler ts-fifo",
                "scheduler: version linux of DualPI2 does not have this parameter; keep it at wrr (or write dualpi2@linux for the version)",
            ),
            (
                "dualpi2 memlimit 1MB",
                "memlimit: version rfc9332 of DualPI2 does not have this parameter; keep it at 0 B (or write dualpi2@rfc9332 for the version)",
            ),
        ] {
            assert_eq!(parse(text).expect_err(text).to_string(), error, "{text}");
        }
    }
}
