//! Airtimes of frames: ERP-OFDM, the DSSS and CCK rates that an access point in mixed b/g mode also has, and HT.
//!
//! Source: IEEE 802.11-2012 §18.4.3 and §19 (OFDM; 6 µs of signal extension in the 2.4 GHz band), §17 (CCK, long
//! preamble), §20 (HT: 20 MHz, long guard interval, mixed format), §9.7 (rates of responses).

use sojourn_aqm::{Duration, Rate};

/// A rate of 802.11b/g, or a modulation and coding scheme of 802.11n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bitrate(u8);

/// Parameters of a rate in the standard.
struct Entry {
    kbps: u32,
    /// Data bits per OFDM symbol; zero for the rates of 802.11b.
    symbol_bits: u32,
    /// Rate of the response: the highest basic rate that is not higher; for 802.11n not higher than the 802.11g rate
    /// with the same modulation and coding (§9.7.9).
    response: u8,
    /// Duration of preamble and header.
    preamble: Duration,
}

/// 802.11b/g in ascending order, then MCS 0 to 15. Basic rates: 6, 12 and 24 Mbit/s; 1 and 2 Mbit/s for the rates of
/// 802.11b.
const RATES: [Entry; 28] = [
    Entry { kbps: 1_000, symbol_bits: 0, response: 0, preamble: LONG_PREAMBLE },
    Entry { kbps: 2_000, symbol_bits: 0, response: 1, preamble: LONG_PREAMBLE },
    Entry { kbps: 5_500, symbol_bits: 0, response: 1, preamble: LONG_PREAMBLE },
    Entry { kbps: 6_000, symbol_bits: 24, response: 3, preamble: PREAMBLE },
    Entry { kbps: 9_000, symbol_bits: 36, response: 3, preamble: PREAMBLE },
    Entry { kbps: 11_000, symbol_bits: 0, response: 1, preamble: LONG_PREAMBLE },
    Entry { kbps: 12_000, symbol_bits: 48, response: 6, preamble: PREAMBLE },
    Entry { kbps: 18_000, symbol_bits: 72, response: 6, preamble: PREAMBLE },
    Entry { kbps: 24_000, symbol_bits: 96, response: 8, preamble: PREAMBLE },
    Entry { kbps: 36_000, symbol_bits: 144, response: 8, preamble: PREAMBLE },
    Entry { kbps: 48_000, symbol_bits: 192, response: 8, preamble: PREAMBLE },
    Entry { kbps: 54_000, symbol_bits: 216, response: 8, preamble: PREAMBLE },
    Entry { kbps: 6_500, symbol_bits: 26, response: 3, preamble: HT_PREAMBLE },
    Entry { kbps: 13_000, symbol_bits: 52, response: 6, preamble: HT_PREAMBLE },
    Entry { kbps: 19_500, symbol_bits: 78, response: 6, preamble: HT_PREAMBLE },
    Entry { kbps: 26_000, symbol_bits: 104, response: 8, preamble: HT_PREAMBLE },
    Entry { kbps: 39_000, symbol_bits: 156, response: 8, preamble: HT_PREAMBLE },
    Entry { kbps: 52_000, symbol_bits: 208, response: 8, preamble: HT_PREAMBLE },
    Entry { kbps: 58_500, symbol_bits: 234, response: 8, preamble: HT_PREAMBLE },
    Entry { kbps: 65_000, symbol_bits: 260, response: 8, preamble: HT_PREAMBLE },
    Entry { kbps: 13_000, symbol_bits: 52, response: 3, preamble: HT_PREAMBLE_2 },
    Entry { kbps: 26_000, symbol_bits: 104, response: 6, preamble: HT_PREAMBLE_2 },
    Entry { kbps: 39_000, symbol_bits: 156, response: 6, preamble: HT_PREAMBLE_2 },
    Entry { kbps: 52_000, symbol_bits: 208, response: 8, preamble: HT_PREAMBLE_2 },
    Entry { kbps: 78_000, symbol_bits: 312, response: 8, preamble: HT_PREAMBLE_2 },
    Entry { kbps: 104_000, symbol_bits: 416, response: 8, preamble: HT_PREAMBLE_2 },
    Entry { kbps: 117_000, symbol_bits: 468, response: 8, preamble: HT_PREAMBLE_2 },
    Entry { kbps: 130_000, symbol_bits: 520, response: 8, preamble: HT_PREAMBLE_2 },
];

impl Bitrate {
    /// Number of rates.
    pub const COUNT: usize = RATES.len();

    /// The highest MCS.
    pub const MAX_MCS: u8 = 15;

    /// 6 Mbit/s: beacons, and the response that a station waits for after a frame that it could not decode.
    pub const SIX: Self = Self(3);

    /// The eight rates of 802.11g.
    pub const OFDM: &'static [Self] = &[Self(3), Self(4), Self(6), Self(7), Self(8), Self(9), Self(10), Self(11)];

    /// The four rates of 802.11b and the eight of 802.11g.
    pub const ALL: &'static [Self] =
        &[Self(0), Self(1), Self(2), Self(3), Self(4), Self(5), Self(6), Self(7), Self(8), Self(9), Self(10), Self(11)];

    /// The 802.11b/g bitrate of `rate`, if there is one.
    pub fn find(rate: Rate) -> Option<Self> {
        Self::ALL.iter().copied().find(|candidate| candidate.rate() == rate)
    }

    /// The bitrate of an MCS, 0 to [`Self::MAX_MCS`]: up to 7 one stream, from 8 on two.
    pub fn of_mcs(mcs: u8) -> Option<Self> {
        (mcs <= Self::MAX_MCS).then_some(Self(FIRST_MCS + mcs))
    }

    /// Every rate, by index.
    pub fn every() -> impl Iterator<Item = Self> {
        (0..Self::COUNT as u8).map(Self)
    }

    /// The MCS, for a rate of 802.11n.
    pub fn mcs(self) -> Option<u8> {
        self.0.checked_sub(FIRST_MCS)
    }

    /// The index among all rates; below [`Self::COUNT`].
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The index among the rates of 802.11g; `None` for others.
    pub fn ofdm_index(self) -> Option<usize> {
        Self::OFDM.iter().position(|&candidate| candidate == self)
    }

    /// The rate in bits of payload per second.
    pub fn rate(self) -> Rate {
        Rate::from_bps(u64::from(self.entry().kbps) * 1_000)
    }

    /// Airtime of `bytes` bytes: a frame with header and check sequence, or an aggregate.
    pub fn airtime(self, bytes: u32) -> Duration {
        let &Entry { kbps, symbol_bits, preamble, .. } = self.entry();
        if symbol_bits == 0 {
            let bits = u64::from(bytes) * 8;
            return preamble + micros((bits * 1_000).div_ceil(u64::from(kbps)));
        }
        let symbols = (SERVICE_AND_TAIL + 8 * bytes).div_ceil(symbol_bits);
        preamble + SYMBOL * i64::from(symbols) + SIGNAL_EXTENSION
    }

    /// Maximum bytes of an OFDM frame whose preamble and symbols take at most `span`.
    pub fn bytes_in(self, span: Duration) -> u32 {
        let &Entry { symbol_bits, preamble, .. } = self.entry();
        let symbols = ((span - preamble).as_nanos() / SYMBOL.as_nanos()) as u32;
        (symbols * symbol_bits).saturating_sub(SERVICE_AND_TAIL) / 8
    }

    /// Airtime of the acknowledgment of a frame at this rate.
    pub fn ack(self) -> Duration {
        self.response().airtime(ACK_BYTES)
    }

    /// Airtime of the Block Ack of an aggregate at this rate. After MCS 0 it is sent at 6 Mbit/s: a station that needs
    /// MCS 0 could not decode it at 24 Mbit/s.
    pub fn block_ack(self) -> Duration {
        self.response().airtime(BLOCK_ACK_BYTES)
    }

    /// The rate of the response.
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

/// Short slot, and long slot: that of a cell with a station that supports only 802.11b.
pub const SHORT_SLOT: Duration = micros(9);
pub const LONG_SLOT: Duration = micros(20);

/// Time between a frame and its acknowledgment.
pub const SIFS: Duration = micros(10);

/// Difference of EIFS and AIFS: SIFS, and an acknowledgment at 6 Mbit/s.
pub const EIFS_EXTRA: Duration = micros(10 + 50);

/// Time from the end of a frame until its sender detects a missing acknowledgment, minus one slot: SIFS and preamble.
pub const ACK_TIMEOUT_EXTRA: Duration = micros(10 + 20);

/// Bytes added to an IP packet: MAC header 24, LLC and SNAP 8, check sequence 4.
pub const MAC_OVERHEAD: u32 = 36;

/// The same with QoS, as in an aggregate: the MAC header is 2 bytes longer.
pub const QOS_OVERHEAD: u32 = 38;

/// Bytes of an acknowledgment.
pub const ACK_BYTES: u32 = 14;

/// Bytes of a Block Ack with a compressed bitmap for 64 frames.
pub const BLOCK_ACK_BYTES: u32 = 32;

/// Index of MCS 0.
const FIRST_MCS: u8 = 12;

const SYMBOL: Duration = micros(4);

/// OFDM: 16 µs of preamble and 4 µs of SIGNAL.
pub const PREAMBLE: Duration = micros(20);

/// HT in mixed format: these 20 µs, 8 µs of HT-SIG, and 4 µs each of HT-STF and HT-LTF.
const HT_PREAMBLE: Duration = micros(36);

/// A second stream adds a second HT-LTF.
const HT_PREAMBLE_2: Duration = micros(40);

/// In the 2.4 GHz band the medium stays idle after an OFDM frame as if the frame were longer.
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
    fn times_of_802_11n() {
        let of = |mcs| Bitrate::of_mcs(mcs).unwrap();
        // Preamble, symbols, signal extension; 12,374 bits in symbols of 26 and of 520.
        assert_eq!(us(of(0).airtime(1544)), 36 + 4 * 476 + 6);
        assert_eq!(us(of(15).airtime(1544)), 40 + 4 * 24 + 6);
        let mbps = (0..=15).map(|mcs| of(mcs).rate().as_bps() as f64 / 1e6).collect::<Vec<_>>();
        assert_eq!(mbps[..8], [6.5, 13.0, 19.5, 26.0, 39.0, 52.0, 58.5, 65.0]);
        assert!((0..8).all(|mcs| mbps[mcs + 8] == 2.0 * mbps[mcs]));
        // Block Acks at the basic rate for BPSK 1/2 (6), QPSK (12) and 16-QAM (24 Mbit/s).
        assert_eq!([0, 1, 2, 3, 15].map(|mcs| us(of(mcs).block_ack())), [74, 50, 50, 38, 38]);
        assert_eq!((of(15).mcs(), of(0).ofdm_index(), Bitrate::SIX.mcs()), (Some(15), None, None));
        assert_eq!(Bitrate::of_mcs(16), None);
        for mcs in 0..=15 {
            let (rate, span) = (of(mcs), Duration::from_millis(4));
            let max = rate.bytes_in(span);
            let takes = |bytes| rate.airtime(bytes) - SIGNAL_EXTENSION;
            assert!(takes(max) <= span && takes(max + 1) > span, "MCS {mcs}: {max}");
        }
        assert_eq!([0, 7, 15].map(|mcs| of(mcs).bytes_in(Duration::from_millis(4))), [3_218, 32_204, 64_347]);
    }

    #[test]
    fn rates_are_in_the_order_of_their_speed() {
        assert!(Bitrate::ALL.windows(2).all(|pair| pair[0].rate() < pair[1].rate()));
        assert!(Bitrate::every().zip(Bitrate::ALL).all(|(a, &b)| a == b));
        assert_eq!(
            Bitrate::OFDM.iter().map(|r| r.ofdm_index()).collect::<Vec<_>>(),
            (0..8).map(Some).collect::<Vec<_>>()
        );
        assert_eq!(Bitrate::find(Rate::from_bps(55_000_000)), None);
    }
}
