//! Times of frames: ERP-OFDM, and the DSSS and CCK rates that an access point in mixed b/g mode has as well.
//!
//! Source: IEEE 802.11-2012 §18.4.3 and §19 (OFDM; 6 µs of signal extension in the 2.4 GHz band), §17 (CCK, long
//! preamble), §9.7 (rates of responses). All stations have short slots.

use sojourn_aqm::{Duration, Rate};

/// A rate of 802.11b/g.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bitrate(u8);

/// What the standard says of a rate.
struct Entry {
    kbps: u32,
    /// Data bits of an OFDM symbol; zero for the rates of 802.11b.
    symbol_bits: u32,
    /// The rate of the acknowledgment: the highest basic one that is not above.
    response: u8,
}

/// In the order of their speed. Basic rates: 6, 12 and 24 Mbit/s; 1 and 2 Mbit/s for the rates of 802.11b.
const RATES: [Entry; 12] = [
    Entry { kbps: 1_000, symbol_bits: 0, response: 0 },
    Entry { kbps: 2_000, symbol_bits: 0, response: 1 },
    Entry { kbps: 5_500, symbol_bits: 0, response: 1 },
    Entry { kbps: 6_000, symbol_bits: 24, response: 3 },
    Entry { kbps: 9_000, symbol_bits: 36, response: 3 },
    Entry { kbps: 11_000, symbol_bits: 0, response: 1 },
    Entry { kbps: 12_000, symbol_bits: 48, response: 6 },
    Entry { kbps: 18_000, symbol_bits: 72, response: 6 },
    Entry { kbps: 24_000, symbol_bits: 96, response: 8 },
    Entry { kbps: 36_000, symbol_bits: 144, response: 8 },
    Entry { kbps: 48_000, symbol_bits: 192, response: 8 },
    Entry { kbps: 54_000, symbol_bits: 216, response: 8 },
];

impl Bitrate {
    /// How many there are.
    pub const COUNT: usize = RATES.len();

    /// 6 Mbit/s: beacons, and what a station waits for that does not know what it heard.
    pub const SIX: Self = Self(3);

    /// The eight rates of 802.11g.
    pub const OFDM: &'static [Self] = &[Self(3), Self(4), Self(6), Self(7), Self(8), Self(9), Self(10), Self(11)];

    /// These and the four of 802.11b.
    pub const ALL: &'static [Self] =
        &[Self(0), Self(1), Self(2), Self(3), Self(4), Self(5), Self(6), Self(7), Self(8), Self(9), Self(10), Self(11)];

    /// The one of `rate`, if there is one.
    pub fn find(rate: Rate) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.rate() == rate)
    }

    /// Its number in the order of speed; below [`Self::COUNT`].
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Its number among those of 802.11g; none for those of 802.11b.
    pub fn ofdm_index(self) -> Option<usize> {
        Self::OFDM.iter().position(|&one| one == self)
    }

    /// In bits of payload per second.
    pub fn rate(self) -> Rate {
        Rate::from_bps(u64::from(self.entry().kbps) * 1_000)
    }

    /// Time on the air of a frame of so many bytes with its header and check sequence.
    pub fn airtime(self, mpdu: u32) -> Duration {
        let &Entry { kbps, symbol_bits, .. } = self.entry();
        if symbol_bits == 0 {
            let bits = u64::from(mpdu) * 8;
            return LONG_PREAMBLE + micros((bits * 1_000).div_ceil(u64::from(kbps)));
        }
        let symbols = (SERVICE_AND_TAIL + 8 * mpdu).div_ceil(symbol_bits);
        PREAMBLE + micros(4 * u64::from(symbols)) + SIGNAL_EXTENSION
    }

    /// Time on the air of the acknowledgment of a frame at this rate.
    pub fn ack(self) -> Duration {
        Self(self.entry().response).airtime(ACK_BYTES)
    }

    /// The rate of that acknowledgment.
    pub fn response(self) -> Self {
        Self(self.entry().response)
    }

    fn entry(self) -> &'static Entry {
        &RATES[self.index()]
    }
}

const fn micros(n: u64) -> Duration {
    Duration::from_nanos(n as i64 * 1_000)
}

/// A short slot, and a long one: that of a cell in which somebody knows 802.11b only.
pub const SHORT_SLOT: Duration = micros(9);
pub const LONG_SLOT: Duration = micros(20);

/// Between a frame and its acknowledgment.
pub const SIFS: Duration = micros(10);

/// What an EIFS is longer by than an AIFS: SIFS, and an acknowledgment at 6 Mbit/s.
pub const EIFS_EXTRA: Duration = micros(10 + 50);

/// From the end of a frame until its sender knows that no acknowledgment has begun, but for a slot: SIFS, the preamble.
pub const ACK_TIMEOUT_EXTRA: Duration = micros(10 + 20);

/// Bytes that an IP packet becomes longer by: MAC header 24, LLC and SNAP 8, check sequence 4.
pub const MAC_OVERHEAD: u32 = 36;

/// Bytes of an acknowledgment.
const ACK_BYTES: u32 = 14;

/// OFDM: 16 µs of preamble and 4 µs of SIGNAL.
const PREAMBLE: Duration = micros(20);

/// In the 2.4 GHz band the air stays still after an OFDM frame as if it were longer.
const SIGNAL_EXTENSION: Duration = micros(6);

/// DSSS and CCK: 144 µs of preamble and 48 µs of header at 1 Mbit/s.
const LONG_PREAMBLE: Duration = micros(192);

/// Bits of the fields SERVICE and tail of an OFDM frame.
const SERVICE_AND_TAIL: u32 = 16 + 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mbps: f64) -> Bitrate {
        Bitrate::find(Rate::from_bps((mbps * 1e6) as u64)).unwrap()
    }

    fn us(span: Duration) -> i64 {
        assert_eq!(span.as_nanos() % 1_000, 0);
        span.as_nanos() / 1_000
    }

    #[test]
    fn times_of_the_standard() {
        for (mbps, full, with_sack, ack, response) in [
            (6.0, 2078, 150, 134, 50),
            (9.0, 1394, 110, 98, 50),
            (12.0, 1054, 90, 82, 38),
            (18.0, 710, 70, 62, 38),
            (24.0, 542, 58, 54, 34),
            (36.0, 370, 50, 46, 34),
            (48.0, 286, 42, 42, 34),
            (54.0, 254, 42, 38, 34),
        ] {
            let rate = of(mbps);
            let data = |ip: u32| us(rate.airtime(ip + MAC_OVERHEAD));
            assert_eq!((data(1500), data(52), data(40), us(rate.ack())), (full, with_sack, ack, response), "{mbps}");
        }
        assert_eq!(us(EIFS_EXTRA), us(SIFS + Bitrate::SIX.airtime(ACK_BYTES)));
    }

    #[test]
    fn times_of_802_11b() {
        // A full packet at 11 Mbit/s: 1117.1 us and the preamble; its acknowledgment at 2 Mbit/s.
        assert_eq!(us(of(11.0).airtime(1536)), 1118 + 192);
        assert_eq!(us(of(1.0).airtime(1536)), 12_288 + 192);
        assert_eq!((us(of(11.0).ack()), us(of(1.0).ack())), (56 + 192, 112 + 192));
        assert_eq!(of(5.5).ofdm_index(), None);
    }

    #[test]
    fn rates_are_in_the_order_of_their_speed() {
        assert!(Bitrate::ALL.windows(2).all(|pair| pair[0].rate() < pair[1].rate()));
        assert_eq!(Bitrate::ALL.len(), Bitrate::COUNT);
        assert_eq!(
            Bitrate::OFDM.iter().map(|r| r.ofdm_index()).collect::<Vec<_>>(),
            (0..8).map(Some).collect::<Vec<_>>()
        );
        assert_eq!(Bitrate::find(Rate::from_bps(55_000_000)), None);
    }
}
