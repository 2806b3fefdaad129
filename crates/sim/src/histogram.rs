//! A log-linear histogram of times: 512 buckets per octave, so quantiles are within 0.1 %.

use sojourn_aqm::Duration;

/// Counts of non-negative times in nanoseconds. Merging two histograms is exact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Counts by bucket, up to the highest recorded; if `packed`, pairs of bucket and count ([`PACKED_BITS`]).
    counts: Vec<u64>,
    packed: bool,
    total: u64,
    sum: u128,
    max: u64,
}

impl Histogram {
    /// Counts one time; negative times count as zero.
    #[inline(always)]
    pub fn record(&mut self, time: Duration) {
        let nanos = time.as_nanos().max(0) as u64;
        let bucket = bucket(nanos);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.total += 1;
        self.sum += nanos as u128;
        self.max = self.max.max(nanos);
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        debug_assert!(!self.packed, "a packed histogram counts no more");
        if other.packed {
            let highest = other.counts.last().map_or(0, |last| (last >> PACKED_BITS) as usize + 1);
            self.counts.resize(self.counts.len().max(highest), 0);
            for packed in &other.counts {
                self.counts[(packed >> PACKED_BITS) as usize] += packed & ((1 << PACKED_BITS) - 1);
            }
        } else {
            self.counts.resize(self.counts.len().max(other.counts.len()), 0);
            self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        }
        self.total += other.total;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Keeps only non-empty buckets. A packed histogram cannot record; it can only be merged into another one.
    pub fn pack(&mut self) {
        if !self.packed {
            let filled = self.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
            self.counts = filled.map(|(bucket, count)| (bucket as u64) << PACKED_BITS | count).collect();
            self.packed = true;
        }
    }

    /// Number of times counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Sum of all times in nanoseconds.
    pub(crate) fn sum(&self) -> u128 {
        self.sum
    }

    /// The exact mean in nanoseconds; `None` if empty.
    pub fn mean(&self) -> Option<f64> {
        (self.total > 0).then(|| self.sum as f64 / self.total as f64)
    }

    /// The exact maximum in nanoseconds; `None` if empty.
    pub fn max(&self) -> Option<u64> {
        (self.total > 0).then_some(self.max)
    }

    /// The order statistic of rank ⌈q·n⌉ in nanoseconds, within 0.1 %; `None` if empty. `q` in (0, 1].
    pub fn quantile(&self, q: f64) -> Option<f64> {
        self.quantiles([q])[0]
    }

    /// Quantiles for several `q` in ascending order.
    pub fn quantiles<const N: usize>(&self, q: [f64; N]) -> [Option<f64>; N] {
        let ranks = q.map(|q| ((q * self.total as f64).ceil() as u64).clamp(1, self.total.max(1)));
        debug_assert!(ranks.is_sorted());
        let mut found = [None; N];
        let (mut seen, mut next) = (0, 0);
        for (lower, upper, count) in self.buckets() {
            seen += count;
            while next < N && seen >= ranks[next] {
                found[next] = Some(((lower + upper - 1) as f64 / 2.0).min(self.max as f64));
                next += 1;
            }
        }
        found
    }

    /// The non-empty buckets: lower bound, upper bound (excluded), count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let filled = self.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        filled.map(|(i, &count)| (lower_bound(i), lower_bound(i + 1), count))
    }
}

/// Bits of a packed count; the bucket is in the bits above.
const PACKED_BITS: u32 = 40;

/// Below `SUB` nanoseconds every value has a bucket; above, every octave has `SUB` buckets.
const SUB_BITS: u32 = 9;
const SUB: u64 = 1 << SUB_BITS;

#[inline]
fn bucket(nanos: u64) -> usize {
    if nanos < SUB {
        return nanos as usize;
    }
    let octave = 63 - nanos.leading_zeros() - SUB_BITS;
    ((octave as u64 + 1) * SUB + (nanos >> octave) - SUB) as usize
}

fn lower_bound(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < SUB {
        return bucket;
    }
    let octave = bucket / SUB - 1;
    (bucket % SUB + SUB) << octave
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket(nanos in 0u64..1 << 50) {
            let i = bucket(nanos);
            let (lower, upper) = (lower_bound(i), lower_bound(i + 1));
            prop_assert!(lower <= nanos && nanos < upper);
            prop_assert!(upper - lower == 1 || (upper - lower) as f64 <= lower as f64 / 512.0);
        }

        #[test]
        fn quantiles_are_order_statistics_to_a_thousandth(mut times in prop::collection::vec(0i64..10_000_000_000, 1..200), q in 0.01f64..1.0) {
            let mut histogram = Histogram::default();
            times.iter().for_each(|&t| histogram.record(Duration::from_nanos(t)));
            times.sort_unstable();
            let rank = ((q * times.len() as f64).ceil() as usize).clamp(1, times.len());
            let exact = times[rank - 1] as f64;
            let got = histogram.quantile(q).unwrap();
            prop_assert!((got - exact).abs() <= exact * 0.001, "{} instead of {}", got, exact);
        }

        #[test]
        fn merging_is_counting_together(a in prop::collection::vec(0i64..1_000_000_000, 0..50), b in prop::collection::vec(0i64..1_000_000_000, 0..50)) {
            let count = |times: &[i64]| {
                let mut histogram = Histogram::default();
                times.iter().for_each(|&t| histogram.record(Duration::from_nanos(t)));
                histogram
            };
            let mut merged = count(&a);
            merged.merge(&count(&b));
            prop_assert_eq!(&merged, &count(&[a.clone(), b.clone()].concat()));
            let mut packed = Histogram::default();
            for times in [a, b] {
                let mut part = count(&times);
                part.pack();
                packed.merge(&part);
            }
            prop_assert_eq!(packed, merged);
        }
    }
}
