//! What a run reports of its links: a summary of each hop, and the histograms of the sojourn times.

use crate::link::Metered;
use crate::summary::{HopSummary, LinkSummary, Links};
use crate::table::{Table, recorder};
use crate::window::Part;
/// The first hop, and the others with their names, from instant `number` of the window on; the books are closed. The reverse
/// direction of each hop has so many queues, those of a wireless LAN's stations, which are reported together.
pub(crate) fn report_links<'a>(
    queues: impl Iterator<Item = &'a mut dyn Metered>,
    reverse: &[usize],
    names: Vec<String>,
    number: usize,
) -> (Links, Vec<HopSummary>, Table) {
    let mut table = SojournHistogram::default();
    let mut queues = queues.enumerate();
    let mut counts_of_next = || {
        let (l, queue) = queues.next()?;
        let (counts, usable) = (queue.tally().sum(number), queue.usable_from(number));
        counts.sojourn().buckets().for_each(|(lower, upper, count)| table.push(l as u8, lower, upper, count));
        Some((counts, queue.tally().window().length(number), usable))
    };
    let mut together = |count: usize| {
        let (mut sum, length, usable) = counts_of_next()?;
        (1..count).map_while(|_| counts_of_next()).for_each(|(counts, ..)| sum.add(&counts));
        Some(LinkSummary::of(&sum, length, usable))
    };
    let mut hop = |reverse: usize| Some(Links { forward: together(1)?, reverse: together(reverse)? });
    let (&of_first, of_others) = reverse.split_first().expect("there is a first hop");
    let first = hop(of_first).expect("it has two directions");
    let others = names.into_iter().zip(of_others);
    let hops = others.map_while(|(name, &queues)| Some(HopSummary { name, links: hop(queues)?, wlan: None })).collect();
    (first, hops, table.into_table())
}

recorder! {
    SojournHistogram("sojourn_histogram") {
        link: u8 => U8,
        lower_ns: u64 => U64,
        upper_ns: u64 => U64,
        count: u64 => U64,
    }
}
