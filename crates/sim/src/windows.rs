//! The statistics of a run from every possible start on, to compare runs that settle at different times.
//!
//! Starts are half a per cent of a run apart, so that runs of one cell can be compared over the same time, from the
//! latest warm-up among them. Comparing a shorter span would mix settled runs with runs in start-up.

use crate::flows::ForwardTotals;
use crate::histogram::Histogram;
use crate::link::MeteredQueue;
use crate::summary::LinkSummary;
use crate::table::{Table, recorder};
use crate::tally::Counts;
use crate::warmup::StatisticsStart;
use crate::window::Counters;

recorder! {
    /// A row per link and possible start, from the actual start on: the link and the whole run, as in the summary.
    Windows("windows") {
        start_ns: u64 => U64,
        link: u16 => U16,
        utilisation: f64 => F64,
        packets: u64 => U64,
        bytes: u64 => U64,
        arrived: u64 => U64,
        dropped: u64 => U64,
        dropped_limit: u64 => U64,
        dropped_early: u64 => U64,
        dropped_late: u64 => U64,
        dropped_hard_limit: u64 => U64,
        lost: u64 => U64,
        marked: u64 => U64,
        drop_rate: f64 => F64,
        mark_rate: f64 => F64,
        mean_backlog_packets: f64 => F64,
        sojourn_mean_ms: f64 => F64,
        sojourn_p10_ms: f64 => F64,
        sojourn_p25_ms: f64 => F64,
        sojourn_p50_ms: f64 => F64,
        sojourn_p75_ms: f64 => F64,
        sojourn_p90_ms: f64 => F64,
        sojourn_p95_ms: f64 => F64,
        sojourn_p99_ms: f64 => F64,
        sojourn_max_ms: f64 => F64,
        goodput_bps: f64 => F64,
        delivered_bps: f64 => F64,
        jain: f64 => F64,
    }
}

recorder! {
    /// Sojourn times of packets that a link sent between two possible starts. The rows from the actual start on add up
    /// to `sojourn_histogram`.
    SojournWindows("sojourn_windows") {
        start_ns: u64 => U64,
        link: u16 => U16,
        lower_ns: u64 => U64,
        upper_ns: u64 => U64,
        count: u64 => U64,
    }
}

/// Tables of a run with an automatic warm-up, from the start of its statistics on; all queues must be closed. `totals`
/// gives the sum over the flows for each start. Links without a packet have no rows, except the first. Times without a
/// packet are NaN.
pub(crate) fn windows<'a>(
    queues: impl Iterator<Item = &'a mut dyn MeteredQueue>,
    begin: &StatisticsStart,
    totals: impl Fn(usize) -> ForwardTotals,
) -> Vec<Table> {
    if begin.settled.is_none() {
        return Vec::new();
    }
    let (mut windows, mut sojourns) = (Windows::default(), SojournWindows::default());
    for (l, queue) in queues.enumerate() {
        let window = queue.tally().window().clone();
        let starts = window.starts();
        let mut sum = Counts::default();
        let mut rows = Vec::with_capacity(starts.len() - begin.number);
        for number in (begin.number..starts.len()).rev() {
            if let Some(counts) = queue.tally().intervals().nth(number) {
                sum.add(counts);
            }
            rows.push((number, LinkSummary::of(&sum, window.length(number), queue.usable_from(number))));
        }
        if l > 0 && sum.arrived == 0 && sum.departed == 0 {
            continue;
        }
        for (number, link) in rows.iter().rev() {
            windows.add(starts[*number].as_nanos(), l as u16, link, totals(*number));
        }
        for (number, counts) in queue.tally().intervals().enumerate().skip(begin.number) {
            // Finished intervals are packed.
            let mut sojourn = Histogram::default();
            sojourn.merge(counts.sojourn());
            for (lower, upper, count) in sojourn.buckets() {
                sojourns.push(starts[number].as_nanos(), l as u16, lower, upper, count);
            }
        }
    }
    vec![windows.into_table(), sojourns.into_table()]
}

impl Windows {
    fn add(&mut self, start_ns: u64, link: u16, of: &LinkSummary, totals: ForwardTotals) {
        let [limit, early, late, hard_limit] =
            ["limit", "early", "late", "hard-limit"].map(|reason| of.dropped_by[reason]);
        let ms = |time: Option<f64>| time.unwrap_or(f64::NAN);
        let times = &of.sojourn_ms;
        self.push(
            start_ns,
            link,
            of.utilisation,
            of.packets,
            of.bytes,
            of.arrived,
            of.dropped,
            limit,
            early,
            late,
            hard_limit,
            of.lost,
            of.marked,
            of.drop_rate,
            of.mark_rate,
            of.mean_backlog_packets,
            ms(times.mean),
            ms(times.p10),
            ms(times.p25),
            ms(times.p50),
            ms(times.p75),
            ms(times.p90),
            ms(times.p95),
            ms(times.p99),
            ms(times.max),
            totals.goodput_bps,
            totals.delivered_bps,
            totals.jain.unwrap_or(f64::NAN),
        );
    }
}
