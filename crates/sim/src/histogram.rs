//! A log-linear histogram of times: 512 buckets per octave, so quantiles are within 0.1 %.

use sojourn_aqm::Duration;

/// Counts of non-negative times in nanoseconds. Merging two histograms is exact.
///
/// Buckets lie in pages, which are allocated when a time falls into them: a queue that has sent few packets has a page
/// or two, whatever their sojourn times.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// Counts in pages, in the order of allocation; if `packed`, pairs of bucket and count ([`PACKED_BITS`]).
    counts: Vec<u64>,
    /// Per page of buckets, up to the highest in use: index of its first count less the number of its first bucket,
    /// modulo 2^32, so that a bucket's number leads to its count by one addition; [`NO_PAGE`] if it is empty.
    pages: Vec<u32>,
    packed: bool,
    sum: u128,
    max: u64,
}

impl Histogram {
    /// Counts one time; negative times count as zero.
    #[inline(always)]
    pub fn record(&mut self, time: Duration) {
        let nanos = time.as_nanos().max(0) as u64;
        let bucket = bucket(nanos);
        self.sum += nanos as u128;
        if nanos > self.max {
            self.raise_max(nanos);
        }
        if let Some(&page) = self.pages.get(bucket / PAGE) {
            if let Some(count) = self.counts.get_mut(page.wrapping_add(bucket as u32) as usize) {
                *count += 1;
                return;
            }
        }
        *self.count_of_new_page(bucket) += 1;
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, count) in other.filled() {
            *self.count_mut(bucket) += count;
        }
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Keeps only non-empty buckets. A packed histogram cannot record; it can only be merged into another one.
    pub fn pack(&mut self) {
        if !self.packed {
            self.counts = self.filled().map(|(bucket, count)| (bucket as u64) << PACKED_BITS | count).collect();
            self.pages = Vec::new();
            self.packed = true;
        }
    }

    /// Rarely called, so that most times cost a comparison and no store.
    #[cold]
    #[inline(never)]
    fn raise_max(&mut self, nanos: u64) {
        self.max = nanos;
    }

    /// The count of a bucket whose page may be missing.
    fn count_mut(&mut self, bucket: usize) -> &mut u64 {
        match self.pages.get(bucket / PAGE) {
            Some(&page) if page != NO_PAGE => &mut self.counts[page.wrapping_add(bucket as u32) as usize],
            _ => self.count_of_new_page(bucket),
        }
    }

    /// Allocates the page of `bucket` and returns the bucket's count.
    #[cold]
    #[inline(never)]
    fn count_of_new_page(&mut self, bucket: usize) -> &mut u64 {
        debug_assert!(!self.packed, "a packed histogram counts no more");
        let (page, first) = (bucket / PAGE, self.counts.len());
        if self.pages.len() <= page {
            self.pages.resize(page + 1, NO_PAGE);
        }
        self.pages[page] = (first as u32).wrapping_sub((page * PAGE) as u32);
        // Page by page up to a few, then doubling: idle queues stay small, busy ones allocate rarely.
        if first < EXACT_PAGES * PAGE {
            self.counts.reserve_exact(PAGE);
        }
        self.counts.resize(first + PAGE, 0);
        &mut self.counts[first + bucket % PAGE]
    }

    /// The non-empty buckets and their counts, in ascending order.
    fn filled(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let packed = if self.packed { &self.counts[..] } else { &[] };
        let packed = packed.iter().map(|pair| ((pair >> PACKED_BITS) as usize, pair & ((1 << PACKED_BITS) - 1)));
        let pages = self.pages.iter().enumerate().filter(|&(_, &page)| page != NO_PAGE);
        let of_page = |(number, &page): (usize, &u32)| {
            let bucket = number * PAGE;
            let counts = self.counts[page.wrapping_add(bucket as u32) as usize..][..PAGE].iter().copied();
            (bucket..).zip(counts).filter(|&(_, count)| count > 0)
        };
        packed.chain(pages.flat_map(of_page))
    }

    /// Number of times counted.
    pub fn total(&self) -> u64 {
        self.filled().map(|(_, count)| count).sum()
    }

    /// Sum of all times in nanoseconds.
    pub(crate) fn sum(&self) -> u128 {
        self.sum
    }

    /// The exact mean in nanoseconds; `None` if empty.
    pub fn mean(&self) -> Option<f64> {
        let total = self.total();
        (total > 0).then(|| self.sum as f64 / total as f64)
    }

    /// The exact maximum in nanoseconds; `None` if empty.
    pub fn max(&self) -> Option<u64> {
        (!self.counts.is_empty()).then_some(self.max)
    }

    /// The order statistic of rank ⌈q·n⌉ in nanoseconds, within 0.1 %; `None` if empty. `q` in (0, 1].
    pub fn quantile(&self, q: f64) -> Option<f64> {
        self.quantiles([q])[0]
    }

    /// Quantiles for several `q` in ascending order.
    pub fn quantiles<const N: usize>(&self, q: [f64; N]) -> [Option<f64>; N] {
        let total = self.total();
        let ranks = q.map(|q| ((q * total as f64).ceil() as u64).clamp(1, total.max(1)));
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
        self.filled().map(|(i, count)| (lower_bound(i), lower_bound(i + 1), count))
    }
}

impl PartialEq for Histogram {
    /// Whether the counts are equal; the order of allocation does not matter.
    fn eq(&self, other: &Self) -> bool {
        (self.sum, self.max) == (other.sum, other.max) && self.filled().eq(other.filled())
    }
}

impl Eq for Histogram {}

/// Bits of a packed count; the bucket is in the bits above.
const PACKED_BITS: u32 = 40;

/// Below `SUB` nanoseconds every value has a bucket; above, every octave has `SUB` buckets.
const SUB_BITS: u32 = 9;
const SUB: u64 = 1 << SUB_BITS;

/// Buckets of a page.
const PAGE: usize = 64;
/// Entry of an empty page: with any bucket it leads behind all counts.
const NO_PAGE: u32 = 1 << 31;
/// Pages that are allocated one by one.
const EXACT_PAGES: usize = 4;

#[inline]
fn bucket(nanos: u64) -> usize {
    // With bit `SUB_BITS` set, values below `SUB` have the buckets of octave 0 too: their own.
    let octave = 63 - (nanos | SUB).leading_zeros() - SUB_BITS;
    (u64::from(octave) * SUB + (nanos >> octave)) as usize
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

    #[test]
    fn few_times_take_few_pages() {
        let mut histogram = Histogram::default();
        (0..1000).for_each(|i| histogram.record(Duration::from_nanos(5_000_000 + i)));
        histogram.record(Duration::ZERO);
        let bytes = 8 * histogram.counts.capacity() + 4 * histogram.pages.capacity();
        assert!(bytes < 2_000, "{bytes} B");
        let buckets: Vec<_> = histogram.buckets().collect();
        assert_eq!((buckets[0], buckets.len()), ((0, 1, 1), 2));
        histogram.record(Duration::from_nanos(i64::MAX));
        assert_eq!((histogram.buckets().count(), histogram.max()), (3, Some(i64::MAX as u64)));
    }

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
