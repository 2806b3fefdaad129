//! Packets that `ce_threshold` applies to: those whose DS field equals a value under a mask (Linux since 5.16,
//! `codel_impl.h`; tc's `ce_threshold_selector VALUE/MASK`).

use super::Config;
use crate::error::ConfigError;
use crate::packet::Meta;
use crate::param_list::{missing_value, set_once};
use crate::params::Param;
use crate::quote::quoted;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::iter::Peekable;
use core::str::SplitWhitespace;

/// Value and mask for the DS field; an empty mask matches every packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Selector {
    value: u8,
    mask: u8,
}

impl Selector {
    pub fn new(config: &Config) -> Self {
        Self { value: config.ce_threshold_selector as u8, mask: config.ce_threshold_mask as u8 }
    }

    /// Whether the packet matches.
    pub fn admits(self, meta: &Meta) -> bool {
        // The DS field: six bits of DSCP, two of ECN (RFC 2474, RFC 3168).
        let dsfield = meta.dscp << 2 | meta.ecn as u8;
        self.mask == 0 || dsfield & self.mask == self.value
    }

    /// Refuses a selector that matches no packet.
    pub fn validate(config: &Config) -> Result<(), ConfigError> {
        let (value, mask) = (config.ce_threshold_selector, config.ce_threshold_mask);
        match (value, mask) {
            (0, 0) => Ok(()),
            (_, 0) => Err(format!("ce_threshold_selector ({value:#x}) needs its mask; {EXAMPLE}").into()),
            _ if value & !mask != 0 => Err(format!(
                "ce_threshold_selector ({value:#x}) has bits outside of its mask ({mask:#x}), so no packet matches; {EXAMPLE}"
            )
            .into()),
            _ => Ok(()),
        }
    }
}

/// Parses `ce_threshold_selector VALUE/MASK` into two parameters if the algorithm has them. Returns whether it did.
pub(crate) fn words(
    words: &mut Peekable<SplitWhitespace<'_>>,
    given: &mut Vec<(String, String)>,
    params: &[Param],
) -> Result<bool, ConfigError> {
    let is_known = params.iter().any(|param| param.name == MASK);
    if !is_known || words.next_if_eq(&VALUE).is_none() {
        return Ok(false);
    }
    let text = words.next().ok_or_else(|| missing_value("codel", VALUE))?;
    let Some((value, mask)) = text.split_once('/') else {
        return set_once(given, "codel", VALUE, text).map(|()| true);
    };
    for (name, text) in [(VALUE, value), (MASK, mask)] {
        let octet = octet(text).ok_or_else(|| format!("{name}: {} is not an octet; {EXAMPLE}", quoted(text)))?;
        set_once(given, "codel", name, &octet.to_string())?;
    }
    Ok(true)
}

/// Parses an octet in C's notation: decimal, or hexadecimal after 0x.
fn octet(text: &str) -> Option<u8> {
    match text.strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

const VALUE: &str = "ce_threshold_selector";
const MASK: &str = "ce_threshold_mask";
const EXAMPLE: &str = "write e.g. ce_threshold_selector 0x1/0x3 for ECT(1)";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codel;
    use crate::packet::Ecn;
    use crate::registry::{NamedConfig, parse};
    use crate::testing::config;

    #[test]
    fn packets_agree_by_their_ds_field() {
        for (selector, ect1, ect0, ce, af22) in [
            (("0", "0"), true, true, true, true),
            (("1", "3"), true, false, false, false),    // ECT(1)
            (("2", "3"), false, true, false, true),     // ECT(0)
            (("3", "3"), false, false, true, false),    // CE
            (("80", "252"), false, false, false, true), // 0x50/0xfc: AF22
            (("1", "1"), true, false, true, false),
        ] {
            let (value, mask) = selector;
            let params = [("ce_threshold_selector", value), ("ce_threshold_mask", mask)];
            let selector = Selector::new(&config::<codel::Config>("linux", &params));
            let of = |ecn| selector.admits(&Meta::new(100, 0).with_ecn(ecn));
            // AF22 is DSCP 20 (RFC 2597).
            let of_af22 = selector.admits(&Meta { dscp: 20, ..Meta::new(100, 0).with_ecn(Ecn::Ect0) });
            assert_eq!((of(Ecn::Ect1), of(Ecn::Ect0), of(Ecn::Ce), of_af22), (ect1, ect0, ce, af22), "{value}/{mask}");
        }
    }

    #[test]
    fn tcs_word_is_two_parameters() {
        for (text, spelling) in [
            (
                "fq_codel@linux ce_threshold 1ms ce_threshold_selector 0x1/0x3",
                "fq_codel@linux ce_threshold 1ms ce_threshold_selector 1 ce_threshold_mask 3",
            ),
            (
                "fq(codel@linux ce_threshold_selector 0x50/0xfc) quantum 300B",
                "fq(codel@linux ce_threshold_selector 80 ce_threshold_mask 252) quantum 300B",
            ),
        ] {
            let named = NamedConfig::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(named.spelling(), spelling, "{text}");
            assert_eq!(NamedConfig::parse(spelling).expect("a spelling is read").spelling(), spelling);
        }
    }

    #[test]
    fn what_agrees_with_no_packet_is_refused() {
        for (text, error) in [
            (
                "fq_codel@linux ce_threshold_selector 1",
                "ce_threshold_selector (0x1) needs its mask; write e.g. ce_threshold_selector 0x1/0x3 for ECT(1)",
            ),
            (
                "fq_codel@linux ce_threshold_selector 4/3",
                "ce_threshold_selector (0x4) has bits outside of its mask (0x3), so no packet matches; write e.g. ce_threshold_selector 0x1/0x3 for ECT(1)",
            ),
            (
                "fq_codel@linux ce_threshold_selector 1/256",
                r#"ce_threshold_mask: "256" is not an octet; write e.g. ce_threshold_selector 0x1/0x3 for ECT(1)"#,
            ),
            (
                "fq_codel@linux ce_threshold_selector ect1/3",
                r#"ce_threshold_selector: "ect1" is not an octet; write e.g. ce_threshold_selector 0x1/0x3 for ECT(1)"#,
            ),
            ("fq_codel@linux ce_threshold_selector", "ce_threshold_selector of codel needs a value"),
            (
                "fq_codel ce_threshold_selector 1/3",
                "ce_threshold_selector: version rfc8289 of CoDel does not have this parameter; keep it at 0 (or write codel@rfc8289 for the version)",
            ),
        ] {
            assert_eq!(parse(text).expect_err(text).to_string(), error, "{text}");
        }
    }
}
