//! Limits of a queue.

use crate::backlog::Backlog;
use crate::link::Link;
use crate::quote::quoted;
use crate::time::Duration;
use crate::units::{self, UnitError};
use alloc::format;
use alloc::string::String;
use core::fmt;

/// Bounds on queued packets; several can apply at once, none means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of queued packets.
    pub packets: Option<u32>,
    /// Maximum number of queued bytes.
    pub bytes: Option<u64>,
    /// Maximum queueing time at the link's nominal rate.
    pub time: Option<Duration>,
}

impl Limits {
    /// At most `n` packets.
    pub const fn packets(n: u32) -> Self {
        Self { packets: Some(n), bytes: None, time: None }
    }

    /// At most `n` bytes.
    pub const fn bytes(n: u64) -> Self {
        Self { packets: None, bytes: Some(n), time: None }
    }

    /// These bounds, and at most `n` packets.
    pub fn with_packets(self, n: u32) -> Self {
        Self { packets: Some(self.packets.map_or(n, |most| most.min(n))), ..self }
    }

    /// These bounds, and at most `n` bytes.
    pub fn with_bytes(self, n: u64) -> Self {
        Self { bytes: Some(self.bytes.map_or(n, |most| most.min(n))), ..self }
    }

    /// Sum of the bounds of two queues. Times do not add up, because the queues' rates differ.
    pub fn and(self, other: Self) -> Self {
        let packets = self.packets.zip(other.packets).map(|(a, b)| a.saturating_add(b));
        Self { packets, bytes: self.bytes.zip(other.bytes).map(|(a, b)| a.saturating_add(b)), time: None }
    }

    /// Reads one bound (`1000 packets`, `250 kB`, `50 ms`) or several, joined by `+` (`1000 packets + 1 MB`).
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        let mut limits = Self::default();
        for part in text.split('+') {
            limits.add(part)?;
        }
        Ok(limits)
    }

    /// Whether an arriving packet of `len` bytes fits after `backlog`.
    pub fn admit(&self, backlog: Backlog, len: u32, link: Link) -> bool {
        self.on(link).admit(backlog, len)
    }

    /// Whether `backlog` is within the bounds.
    pub fn hold(&self, backlog: Backlog, link: Link) -> bool {
        self.on(link).hold(backlog)
    }

    /// Converts the limits to packets and bytes on `link`.
    pub(crate) fn on(&self, link: Link) -> Bounds {
        let by_time = self.time.map_or(u64::MAX, |most| link.rate.bytes_in(most));
        Bounds { packets: self.packets.map_or(u64::MAX, u64::from), bytes: self.bytes.unwrap_or(u64::MAX).min(by_time) }
    }

    fn add(&mut self, part: &str) -> Result<(), UnitError> {
        let positive = |n: u64| {
            if n == 0 {
                Err(UnitError(format!("a limit of {} leaves no room for a packet", quoted(part.trim()))))
            } else {
                Ok(n)
            }
        };
        if let Ok(n) = units::packets(part) {
            let n = u32::try_from(positive(n)?)
                .map_err(|_| UnitError(format!("{} is more than 4294967295 packets", quoted(part))))?;
            once(&mut self.packets, n, "packets")?;
        } else if let Ok(n) = units::bytes(part) {
            once(&mut self.bytes, positive(n)?, "bytes")?;
        } else if let Ok(span) = units::duration(part) {
            positive(span.as_nanos() as u64)?;
            once(&mut self.time, span, "time")?;
        } else {
            return Err(UnitError(format!(
                "{} is not a limit; write e.g. \"1000 packets\", \"250 kB\" or \"50 ms\"",
                quoted(part.trim())
            )));
        }
        Ok(())
    }
}

/// Sets a bound that is not set yet; otherwise the first of two would be ignored.
fn once<T>(bound: &mut Option<T>, value: T, what: &str) -> Result<(), UnitError> {
    match bound.replace(value) {
        None => Ok(()),
        Some(_) => Err(UnitError(format!("has two limits in {what}; leave one out"))),
    }
}

/// Limits in the form that a queue compares: one number of packets and one of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub packets: u64,
    pub bytes: u64,
}

impl Default for Bounds {
    /// No bounds.
    fn default() -> Self {
        Self { packets: u64::MAX, bytes: u64::MAX }
    }
}

impl Bounds {
    /// Whether an arriving packet of `len` bytes fits after `backlog`.
    #[inline]
    pub fn admit(self, backlog: Backlog, len: u32) -> bool {
        (backlog.packets as u64) < self.packets && backlog.bytes + len as u64 <= self.bytes
    }

    /// Whether `backlog` is within the bounds.
    #[inline]
    pub fn hold(self, backlog: Backlog) -> bool {
        backlog.packets as u64 <= self.packets && backlog.bytes <= self.bytes
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: [Option<String>; 3] = [
            self.packets.map(|n| format!("{n} packets")),
            self.bytes.map(|n| format!("{n} B")),
            self.time.map(|span| format!("{span}")),
        ];
        let mut separator = "";
        for part in parts.into_iter().flatten() {
            write!(f, "{separator}{part}")?;
            separator = " + ";
        }
        if separator.is_empty() { f.write_str("unlimited") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::Rate;
    use alloc::string::ToString;

    const LINK: Link = Link::new(Rate::from_bps(10_000_000), 1500);

    #[test]
    fn each_bound_holds_alone_and_together() {
        let backlog = |packets, bytes| Backlog { packets, bytes };
        let both = Limits::parse("10 packets + 20 kB").unwrap();
        assert!(both.admit(backlog(9, 5_000), 1500, LINK));
        assert!(!both.admit(backlog(10, 5_000), 1500, LINK), "packets");
        assert!(!both.admit(backlog(9, 19_000), 1500, LINK), "bytes");
        // 12 ms at 10 Mbit/s are 15,000 bytes.
        let time = Limits::parse("12 ms").unwrap();
        assert!(time.admit(backlog(9, 13_500), 1500, LINK));
        assert!(!time.admit(backlog(9, 13_501), 1500, LINK));
        assert!(Limits::default().admit(backlog(u32::MAX, 1 << 40), 1500, LINK));
    }

    #[test]
    fn limits_print_as_they_are_read() {
        for text in ["1000 packets", "1000 packets + 250000 B", "50 ms"] {
            assert_eq!(Limits::parse(text).unwrap().to_string(), text);
        }
        assert!(Limits::parse("0 packets").is_err());
        assert!(Limits::parse("1000").is_err());
        assert_eq!(
            Limits::parse("5 packets + 6 packets").unwrap_err().0,
            "has two limits in packets; leave one out",
            "the first one was ignored"
        );
    }
}
