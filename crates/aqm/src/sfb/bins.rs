//! Bins of one slot: one array per level, indexed by a part of the flow's hash (`struct sfb_bins`).

/// Number of queued packets counted in the bin, and its mark or drop probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bin {
    pub qlen: u16,
    /// In units of 1/65535.
    pub p_mark: u16,
}

/// Minimum over the bins of a flow, as seen by an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BinMinimum {
    pub qlen: u16,
    pub p_mark: u16,
}

/// Parameters that change the probabilities.
#[derive(Clone, Copy, Debug)]
pub(super) struct BinParams {
    /// Queue length at which a bin's probability starts to rise (bin_size).
    pub bin_size: u64,
    pub increment: u16,
    pub decrement: u16,
}

#[derive(Clone, Debug)]
pub(super) struct Bins([[Bin; NUMBUCKETS]; LEVELS]);

impl Bins {
    pub const fn new() -> Self {
        Self([[Bin { qlen: 0, p_mark: 0 }; NUMBUCKETS]; LEVELS])
    }

    /// Updates the probabilities of the bins of an arrival with this hash. Returns the minimum over these bins.
    pub fn arrived(&mut self, hash: u32, steps: BinParams) -> BinMinimum {
        let mut min = BinMinimum { qlen: u16::MAX, p_mark: u16::MAX };
        self.each(hash, |bin| {
            if bin.qlen == 0 {
                bin.p_mark = bin.p_mark.saturating_sub(steps.decrement);
            } else if bin.qlen as u64 >= steps.bin_size {
                bin.p_mark = bin.p_mark.saturating_add(steps.increment);
            }
            min.qlen = min.qlen.min(bin.qlen);
            min.p_mark = min.p_mark.min(bin.p_mark);
        });
        min
    }

    /// Counts a queued packet with this hash.
    pub fn queued(&mut self, hash: u32) {
        self.each(hash, |bin| bin.qlen = bin.qlen.saturating_add(1));
    }

    /// Removes a packet with this hash from the counts.
    pub fn left(&mut self, hash: u32) {
        self.each(hash, |bin| bin.qlen = bin.qlen.saturating_sub(1));
    }

    /// Maximum length, maximum probability, and mean probability, rounded down (`sfb_compute_qlen`).
    pub fn summary(&self) -> (u16, u16, u16) {
        let all = || self.0.iter().flatten();
        let qlen = all().map(|bin| bin.qlen).max().unwrap_or(0);
        let prob = all().map(|bin| bin.p_mark).max().unwrap_or(0);
        let total: u32 = all().map(|bin| bin.p_mark as u32).sum();
        (qlen, prob, (total / (LEVELS * NUMBUCKETS) as u32) as u16)
    }

    /// Sum of the lengths on each level.
    #[cfg(test)]
    pub fn lengths(&self) -> [usize; LEVELS] {
        self.0.map(|level| level.iter().map(|bin| bin.qlen as usize).sum())
    }

    fn each(&mut self, hash: u32, mut act: impl FnMut(&mut Bin)) {
        for (i, level) in self.0.iter_mut().enumerate() {
            act(&mut level[(hash >> (BUCKET_SHIFT * i as u32)) as usize & (NUMBUCKETS - 1)]);
        }
    }
}

const BUCKET_SHIFT: u32 = 4;
const NUMBUCKETS: usize = 1 << BUCKET_SHIFT;
/// Number of parts of a 32-bit hash.
const LEVELS: usize = 32 / BUCKET_SHIFT as usize;
