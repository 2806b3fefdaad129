//! ACK frames (RFC 9000 §19.3).

use super::varint;
use sojourn_aqm::{Duration, Ecn};

/// An ACK frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AckFrame {
    /// Received packet numbers as inclusive ranges, highest first.
    pub ranges: Vec<(u64, u64)>,
    /// ACK Delay: time for which the receiver delayed the acknowledgment of the largest packet number; a multiple of 8
    /// µs.
    pub delay: Duration,
    /// Received packets by ECN codepoint, if any was ECN-capable.
    pub ecn: Option<EcnCounts>,
}

/// Received packets by ECN codepoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounts {
    /// With ECT(0).
    pub ect0: u64,
    /// With ECT(1).
    pub ect1: u64,
    /// With CE.
    pub ce: u64,
}

impl AckFrame {
    /// Largest acknowledged packet number; zero in a frame without ranges, which is never sent.
    pub fn largest(&self) -> u64 {
        self.ranges.first().map_or(0, |&(_, largest)| largest)
    }

    /// Size on the wire in bytes.
    pub fn bytes(&self) -> u32 {
        let delay = self.delay.as_nanos() as u64 / DELAY_UNIT_NS;
        let count = self.ranges.len().max(1) as u64 - 1;
        let mut bytes = 1 + varint(self.largest()) + varint(delay) + varint(count);
        for (index, &(from, to)) in self.ranges.iter().enumerate() {
            if index > 0 {
                // Gap: numbers between two ranges, less one.
                bytes += varint(self.ranges[index - 1].0 - to - 2);
            }
            bytes += varint(to - from);
        }
        let EcnCounts { ect0, ect1, ce } = self.ecn.unwrap_or_default();
        bytes + if self.ecn.is_some() { varint(ect0) + varint(ect1) + varint(ce) } else { 0 }
    }
}

impl EcnCounts {
    /// Counts a received packet.
    pub fn count(&mut self, ecn: Ecn) {
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.ect0 += 1,
            Ecn::Ect1 => self.ect1 += 1,
            Ecn::Ce => self.ce += 1,
        }
    }

    /// Whether no packet was ECN-capable.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Rounds an ACK Delay down to a multiple of 8 µs (ack_delay_exponent 3, RFC 9000 §18.2).
pub(super) fn round_delay(delay: Duration) -> Duration {
    Duration::from_nanos(delay.as_nanos() / DELAY_UNIT_NS as i64 * DELAY_UNIT_NS as i64)
}

const DELAY_UNIT_NS: u64 = 8_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_rfc_9000() {
        // Type, largest 1000 (2), delay 200 units (2), one more range, 1000 - 990, gap 989 - 970 - 1 (1), 970 - 905
        // (2).
        let (delay, ecn) = (round_delay(Duration::from_nanos(1_603_999)), None);
        assert_eq!(delay, Duration::from_micros(1_600));
        let frame = AckFrame { ranges: vec![(990, 1_000), (905, 969)], delay, ecn };
        assert_eq!(frame.bytes(), 1 + 2 + 2 + 1 + 1 + 1 + 2);
        let ecn = Some(EcnCounts { ect0: 64, ect1: 0, ce: 20_000 });
        assert_eq!(AckFrame { ecn, ..frame }.bytes(), 10 + 2 + 1 + 4);
    }
}
