//! Tins of each mode: their packets and shares of the rate (`cake_config_*`, the DSCP tables of `sch_cake.c`).

use crate::choice;
use alloc::vec::Vec;

choice! {
    /// Tins, chosen by DSCP.
    pub enum DiffservMode {
        /// One for all packets.
        BestEffort = "besteffort",
        /// Bulk, best effort, voice.
        Diffserv3 = "diffserv3",
        /// Bulk, best effort, video, voice.
        Diffserv4 = "diffserv4",
        /// Eight, from least effort to network control.
        Diffserv8 = "diffserv8",
        /// Eight, by the upper three bits.
        Precedence = "precedence",
    }
}

/// Share of a tin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// Maximum rate in bytes per second with precedence over others; 0 without a rate.
    pub threshold: u64,
    /// Bytes per round if there is no rate.
    pub quantum: u32,
}

impl DiffservMode {
    /// Shares of the tins at `rate` bytes per second.
    pub(super) fn shares(self, rate: u64) -> Vec<Share> {
        let mut shares = Vec::new();
        self.each_share(rate, |_, share| shares.push(share));
        shares
    }

    /// Calls back with each tin and its share of a rate.
    pub(super) fn each_share(self, rate: u64, mut each: impl FnMut(usize, Share)) {
        let mut parts = |parts: &[(u32, u32)]| {
            let share = |&(shift, quantum): &(u32, u32)| Share { threshold: rate >> shift, quantum };
            parts.iter().map(share).enumerate().for_each(|(i, share)| each(i, share));
        };
        match self {
            Self::BestEffort => parts(&[(0, 65_535)]),
            Self::Diffserv3 => parts(&[(0, 1024), (4, 64), (2, 256)]),
            Self::Diffserv4 => parts(&[(0, 1024), (4, 64), (1, 512), (2, 256)]),
            Self::Diffserv8 | Self::Precedence => {
                let next =
                    |last: &Share| Share { threshold: (last.threshold * 7) >> 3, quantum: (last.quantum * 7) >> 3 };
                let first = Share { threshold: rate, quantum: 256 };
                let shares = core::iter::successors(Some(first), |last| Some(next(last))).take(8);
                shares.enumerate().for_each(|(i, share)| each(i, share));
            }
        }
    }

    /// Tins in the order of statistics: from the least to the most urgent.
    pub(super) fn order(self) -> &'static [usize] {
        match self {
            Self::BestEffort => &[0],
            Self::Diffserv3 => &[1, 0, 2],
            Self::Diffserv4 => &[1, 0, 2, 3],
            Self::Diffserv8 | Self::Precedence => &[0, 1, 2, 3, 4, 5, 6, 7],
        }
    }

    /// Names of the tins, as printed by tc.
    pub(super) fn names(self) -> &'static [&'static str] {
        match self {
            Self::BestEffort => &["Tin 0"],
            Self::Diffserv3 => &["Best Effort", "Bulk", "Voice"],
            Self::Diffserv4 => &["Best Effort", "Bulk", "Video", "Voice"],
            Self::Diffserv8 | Self::Precedence => {
                &["Tin 0", "Tin 1", "Tin 2", "Tin 3", "Tin 4", "Tin 5", "Tin 6", "Tin 7"]
            }
        }
    }

    /// Tin of each DSCP.
    pub(super) fn table(self) -> [u8; 64] {
        let mut table = [0; 64];
        let mut put = |tin: u8, codes: &[usize]| codes.iter().for_each(|&code| table[code] = tin);
        match self {
            Self::BestEffort => {}
            Self::Diffserv3 => {
                put(1, &[1, 8]);
                put(2, &[4, 44, 46, 48, 56]);
            }
            Self::Diffserv4 => {
                put(1, &[1, 8]);
                put(2, &[4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38]);
                put(3, &[32, 40, 44, 46, 48, 56]);
            }
            Self::Diffserv8 => table = DIFFSERV8,
            Self::Precedence => (0..64).for_each(|code| put((code >> 3) as u8, &[code])),
        }
        table
    }
}

/// Tins of diffserv8, in rows of eight as in the source.
#[rustfmt::skip]
const DIFFSERV8: [u8; 64] = [
    2, 0, 1, 2, 4, 2, 2, 2,
    1, 2, 1, 2, 1, 2, 1, 2,
    5, 2, 4, 2, 4, 2, 4, 2,
    3, 2, 3, 2, 3, 2, 3, 2,
    6, 2, 3, 2, 3, 2, 3, 2,
    6, 2, 2, 2, 6, 2, 6, 2,
    7, 2, 2, 2, 2, 2, 2, 2,
    7, 2, 2, 2, 2, 2, 2, 2,
];

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn shares_of_10_mbit() {
        let shares: Vec<_> =
            DiffservMode::Diffserv8.shares(1_250_000).iter().map(|s| (s.threshold, s.quantum)).collect();
        let rates = [1250000, 1093750, 957031, 837402, 732726, 641135, 560993, 490868];
        let quanta = [256, 224, 196, 171, 149, 130, 113, 98];
        assert_eq!(shares, rates.into_iter().zip(quanta).collect::<Vec<_>>());
        let thresholds = |tins: DiffservMode| tins.shares(1_250_000).iter().map(|s| s.threshold).collect::<Vec<_>>();
        assert_eq!(thresholds(DiffservMode::Diffserv4), vec![1250000, 78125, 625000, 312500]);
        assert_eq!(thresholds(DiffservMode::Diffserv3), vec![1250000, 78125, 312500]);
        assert_eq!(thresholds(DiffservMode::BestEffort), vec![1250000]);
    }

    #[test]
    fn code_points_go_to_their_tins() {
        let of = |tins: DiffservMode, tin: u8| (0..64).filter(|&code| tins.table()[code] == tin).collect::<Vec<_>>();
        assert_eq!(
            (of(DiffservMode::Diffserv3, 1), of(DiffservMode::Diffserv3, 2)),
            (vec![1, 8], vec![4, 44, 46, 48, 56])
        );
        assert_eq!(of(DiffservMode::Diffserv4, 3), vec![32, 40, 44, 46, 48, 56]);
        assert_eq!(of(DiffservMode::Diffserv4, 2), vec![4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38]);
        for (tin, codes) in [
            (0, vec![1]),
            (1, vec![2, 8, 10, 12, 14]),
            (3, vec![24, 26, 28, 30, 34, 36, 38]),
            (4, vec![4, 18, 20, 22]),
            (5, vec![16]),
            (6, vec![32, 40, 44, 46]),
            (7, vec![48, 56]),
        ] {
            assert_eq!(of(DiffservMode::Diffserv8, tin), codes, "tin {tin}");
        }
        assert_eq!(of(DiffservMode::Precedence, 5), (40..48).collect::<Vec<_>>());
        for tins in [
            DiffservMode::BestEffort,
            DiffservMode::Diffserv3,
            DiffservMode::Diffserv4,
            DiffservMode::Diffserv8,
            DiffservMode::Precedence,
        ] {
            let n = tins.shares(1).len();
            assert_eq!(n, tins.order().len());
            assert!(tins.table().iter().all(|&tin| (tin as usize) < n));
        }
    }
}
