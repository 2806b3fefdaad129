//! The summary of a run over every window that begins later: what makes runs comparable that settle at different times.

use crate::flows::Whole;
use crate::link::{Link, Metered};
use crate::summary::LinkSummary;
use crate::table::{Table, recorder};
use crate::tally::Counts;
use crate::warmup::Begin;
use crate::window::Part;

recorder! {
    /// A row for each instant at which the statistics could begin, from that on at which they did: the forward link and
    /// the whole run, as in the summary.
    Windows("windows") {
        start_ns: u64 => U64,
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

/// The windows of a run that has settled, whose books are closed: from the one that began on. `whole` tells what
/// the flows did over each of them. Times without a packet are not numbers.
pub(crate) fn windows(forward: &mut dyn Metered, begin: &Begin, whole: impl Fn(usize) -> Whole) -> Option<Table> {
    if begin.settled != Some(true) {
        return None;
    }
    let window = forward.tally().window().clone();
    let mut sum = Counts::default();
    let mut rows = Vec::new();
    for number in (begin.number..window.starts().len()).rev() {
        if let Some(counts) = forward.tally().parts().nth(number) {
            sum.add(counts);
        }
        rows.push((number, LinkSummary::of(&sum, window.length(number), forward.usable_from(number))));
    }
    let mut table = Windows::default();
    for (number, link) in rows.iter().rev() {
        table.add(window.starts()[*number].as_nanos(), link, whole(*number));
    }
    Some(table.into_table())
}

/// The same where nothing is known of the ends: their columns are not numbers.
pub(crate) fn windows_of_links(links: &mut [Link], begin: &Begin) -> Option<Table> {
    windows(&mut links[0], begin, |_| Whole::UNKNOWN)
}

impl Windows {
    fn add(&mut self, start_ns: u64, link: &LinkSummary, whole: Whole) {
        let [limit, early, late, hard_limit] =
            ["limit", "early", "late", "hard-limit"].map(|reason| link.dropped_by[reason]);
        let ms = |time: Option<f64>| time.unwrap_or(f64::NAN);
        let times = &link.sojourn_ms;
        self.push(
            start_ns,
            link.utilisation,
            link.packets,
            link.bytes,
            link.arrived,
            link.dropped,
            limit,
            early,
            late,
            hard_limit,
            link.lost,
            link.marked,
            link.drop_rate,
            link.mark_rate,
            link.mean_backlog_packets,
            ms(times.mean),
            ms(times.p10),
            ms(times.p25),
            ms(times.p50),
            ms(times.p75),
            ms(times.p90),
            ms(times.p95),
            ms(times.p99),
            ms(times.max),
            whole.goodput_bps,
            whole.delivered_bps,
            whole.jain,
        );
    }
}
