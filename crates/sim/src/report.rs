//! Results of links: a summary of each hop, and histograms of sojourn times.

use crate::link::MeteredQueue;
use crate::summary::{HopSummary, LinkSummary, Links, QueueSummary};
use crate::table::{Table, recorder};
use crate::tally::Counts;
use crate::window::Counters;
use sojourn_aqm::Duration;

/// The first hop, and the others with their names, from window start `number` on; all queues must be closed. `reverse`
/// has the number of queues of each hop's reverse direction: those of a wireless LAN's stations are summed.
pub(crate) fn report_links<'a>(
    queues: impl Iterator<Item = &'a mut dyn MeteredQueue>,
    reverse: &[usize],
    names: Vec<String>,
    number: usize,
) -> (Links, Vec<HopSummary>, Table) {
    let mut table = SojournHistogram::default();
    let mut queues = queues.enumerate();
    let mut next = || {
        let (l, queue) = queues.next()?;
        let usable = queue.usable_from(number);
        let counted = WindowCounts::of(queue, number, usable);
        let sojourn = counted.counts.sojourn();
        sojourn.buckets().for_each(|(lower, upper, count)| table.push(l as u16, lower, upper, count));
        Some(counted)
    };
    let mut together = |count: usize| {
        let mut sum = next()?;
        (1..count).map_while(|_| next()).for_each(|other| sum.add(&other));
        Some(sum.summary())
    };
    let mut hop = |reverse: usize| Some(Links { forward: together(1)?, reverse: together(reverse)? });
    let (&of_first, of_others) = reverse.split_first().expect("there is a first hop");
    let first = hop(of_first).expect("it has two directions");
    let others = names.into_iter().zip(of_others);
    let hops = others.map_while(|(name, &queues)| Some(HopSummary { name, links: hop(queues)?, wlan: None })).collect();
    (first, hops, table.into_table())
}

/// Counts of a queue, or of several together, from a window start on.
struct WindowCounts {
    counts: Counts,
    length: Duration,
    usable: u64,
    /// Counts of the discipline's internal queues, by name.
    subqueues: Vec<(String, Counts)>,
}

impl WindowCounts {
    fn of(queue: &dyn MeteredQueue, number: usize, usable: u64) -> Self {
        let tally = queue.tally();
        let subqueues = queue.subqueues().into_iter().flat_map(|subqueues| subqueues.sums(number));
        Self {
            counts: tally.sum(number),
            length: tally.window().length(number),
            usable,
            subqueues: subqueues.map(|(name, counts)| (name.to_string(), counts)).collect(),
        }
    }

    /// Adds the counts of another queue of the same link.
    fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        for (name, counts) in &other.subqueues {
            match self.subqueues.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => sum.add(counts),
                None => self.subqueues.push((name.clone(), counts.clone())),
            }
        }
    }

    fn summary(self) -> LinkSummary {
        let Self { counts, length, usable, subqueues } = self;
        let queues = subqueues.into_iter().map(|(name, counts)| QueueSummary::of(name, &counts, length)).collect();
        LinkSummary { queues, ..LinkSummary::of(&counts, length, usable) }
    }
}

recorder! {
    SojournHistogram("sojourn_histogram") {
        link: u16 => U16,
        lower_ns: u64 => U64,
        upper_ns: u64 => U64,
        count: u64 => U64,
    }
}
