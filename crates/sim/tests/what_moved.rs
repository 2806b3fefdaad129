//! Results of runs as tables: a fingerprint shows that results changed, these tables show which and by how much.
//!
//! A change of results is deliberate and explained in the commit. `INSTA_UPDATE=always cargo test -p sojourn-sim --test
//! all what_moved` renews the tables in `snapshots/`; their difference is part of the review.

use crate::common::{scenarios, whole};
use sojourn_sim::scenario::{Probes, Scenario};
use sojourn_sim::{GroupSummary, Output, Simulation};
use std::collections::BTreeMap;
use std::fmt::Write;

#[test]
fn the_tables_are_the_recorded_ones() {
    for (name, scenario) in scenarios() {
        let probes = Probes { packets: true, ..scenario.probes };
        let scenario = Scenario { probes, ..scenario };
        let output = Simulation::new(&scenario, scenario.seed).finish();
        let table = format!("{}\n{}", groups(&output.summary.groups), queues(&output));
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, table);
        });
    }
}

/// Every group of flows: goodput and delivered rate within the statistics, packets over the whole run.
fn groups(groups: &[GroupSummary]) -> String {
    let mut text =
        table_line(&["group", "kind", "goodput_bps", "delivered_bps", "sent", "resent", "timeouts", "closed"]);
    for (i, group) in groups.iter().enumerate() {
        let payload = &group.payload;
        let rates = [payload.goodput_bps, payload.delivered_bps].map(|rate| format!("{rate:.0}"));
        let counts = [group.sent, group.retransmissions, group.timeouts, group.closed].map(|count| count.to_string());
        let cells: Vec<&str> = rates.iter().chain(&counts).map(String::as_str).collect();
        text += &table_line(&[&[i.to_string().as_str(), group.kind], &cells[..]].concat());
    }
    text
}

/// Every group at every queue over the whole run: packets sent, dropped and marked, and sojourn times of those sent.
/// Groups that share a host count as its first one.
fn queues(output: &Output) -> String {
    let names = ["link", "from_host", "to_host", "fate", "sojourn_ns"];
    let [links, from, to, fates, sojourns] = names.map(|name| whole(output, "packets", name));
    let mut found: BTreeMap<(u64, u64), GroupOutcomes> = BTreeMap::new();
    for i in 0..links.len() {
        // Hosts of a group are twice its number and the next one; stations have higher numbers.
        let fates_of = found.entry((links[i], from[i].min(to[i]) / 2)).or_default();
        match fates[i] {
            0 => fates_of.sojourns.push(sojourns[i]),
            1 => {
                fates_of.marked += 1;
                fates_of.sojourns.push(sojourns[i]);
            }
            _ => fates_of.dropped += 1,
        }
    }
    let mut text = table_line(&["queue", "group", "p50_ms", "p99_ms", "sent", "dropped", "marked"]);
    for ((link, group), mut fates) in found {
        fates.sojourns.sort_unstable();
        let quantile = |percent: usize| match &fates.sojourns[..] {
            [] => "-".to_string(),
            sojourns => format!("{:.3}", sojourns[(sojourns.len() - 1) * percent / 100] as f64 / 1e6),
        };
        let counts = [fates.sojourns.len(), fates.dropped, fates.marked];
        let [sent, dropped, marked] = counts.map(|count| count.to_string());
        let (link, group) = (link.to_string(), group.to_string());
        text += &table_line(&[&link, &group, &quantile(50), &quantile(99), &sent, &dropped, &marked]);
    }
    text
}

/// Fates of a group's packets at a queue.
#[derive(Default)]
struct GroupOutcomes {
    sojourns: Vec<u64>,
    dropped: usize,
    marked: usize,
}

fn table_line(cells: &[&str]) -> String {
    let mut line = String::new();
    for cell in cells {
        write!(line, "{cell:>14}").expect("a text takes what is written");
    }
    line + "\n"
}
