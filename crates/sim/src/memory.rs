//! Upper estimate of a run's memory, before it starts.
//!
//! Callers compare it with the machine's memory before a run, and [`crate::Simulation::growth`] before each step: a run
//! that outgrows its machine ends with an error, not by the kernel's OOM killer, which may choose another process.

use crate::drops::DropRecorder;
use crate::ledger::Ledger;
use crate::link::built_bytes;
use crate::packet::{Handle, Packet};
use crate::probe::PacketRecorder;
use crate::sampler::Samplers;
use crate::scenario::{LinkSpec, Scenario};
use crate::senders::SenderRecorder;
use crate::table::ROWS;
use crate::wlan::{ACCESS_BYTES, SHORTEST_ACCESS};
use sojourn_aqm::registry::AnyConfig;
use sojourn_aqm::{Duration, Limits, Meta, Rate};
use sojourn_tcp::Header;
use std::collections::BTreeSet;

/// Memory estimate of a run: full queues, full pipes, and a row in each probe's table for every packet that the links
/// can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryEstimate {
    /// Bytes for queues, flows that last the whole run, packets in flight, and rows not yet written. Short-lived
    /// connections are not included: how many are open at a time depends on the run.
    pub run: u64,
    /// Bytes for all rows of all probes, if they are not taken during the run ([`crate::Simulation::take_rows`]).
    pub recorded: u64,
}

impl MemoryEstimate {
    /// Bytes of a scenario's empty queues with their counters, allocated before the run starts or with their first
    /// packets. A link whose queue manager changes counts with the largest one.
    pub fn of_queues(scenario: &Scenario) -> u64 {
        let largest = |link: &LinkSpec| link.configs().map(built_bytes).max().unwrap_or(0);
        scenario.queues().map(|link| largest(link).saturating_add(COUNTERS)).fold(0, u64::saturating_add)
    }

    /// The estimate for any run of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let probes = &scenario.probes;
        let lasting = scenario.flows.iter().filter(|flow| !flow.traffic.opens_connections());
        let flows: u64 = lasting.map(|flow| u64::from(flow.count)).sum();
        let per_flow = FLOW
            + if probes.of_drops() { DOUBLED * DropRecorder::FLOW_BYTES } else { 0 }
            + if probes.of_senders() { DOUBLED * SenderRecorder::FLOW_BYTES } else { 0 };
        let per_packet = PACKET
            + if probes.packets { DOUBLED * PacketRecorder::PACKET_BYTES } else { 0 }
            + if probes.of_drops() { DOUBLED * DropRecorder::PACKET_BYTES } else { 0 };
        let base = flows.saturating_mul(per_flow).saturating_add(max_in_flight(scenario).saturating_mul(per_packet));
        let base = base.saturating_add(Self::of_queues(scenario));
        let several_cells = scenario.cells().nth(1).is_some();
        let (mut run, mut recorded) = (base, 0_u64);
        for TableSize { rows, bytes, is_access } in tables(scenario) {
            let of = |rows: u64| rows.saturating_mul(DOUBLED * bytes);
            recorded = recorded.saturating_add(of(rows));
            // The accesses of several wireless LANs are merged at the end.
            let buffered = if is_access && several_cells { rows } else { rows.min(ROWS as u64) };
            run = run.saturating_add(of(buffered));
        }
        Self { run, recorded }
    }
}

/// Maximum number of rows of a table, and bytes per row.
struct TableSize {
    rows: u64,
    bytes: u64,
    is_access: bool,
}

/// The tables that a scenario's probes record.
fn tables(scenario: &Scenario) -> Vec<TableSize> {
    let (probes, PacketCounts { datagrams, segments, at_queues }) = (&scenario.probes, PacketCounts::of(scenario));
    let mut found = Vec::new();
    let mut add = |wanted: bool, rows: u64, bytes: u64| {
        found.extend(wanted.then_some(TableSize { rows, bytes, is_access: false }));
    };
    add(probes.packets, at_queues, PacketRecorder::ROW_BYTES);
    add(probes.headers, at_queues, PacketRecorder::HEADERS_ROW_BYTES);
    add(probes.of_drops(), at_queues, DropRecorder::ROW_BYTES);
    add(probes.of_senders(), segments, SenderRecorder::SEGMENT_BYTES);
    add(probes.transfers, segments, Ledger::TRANSFER_BYTES);
    add(probes.media == Some(true), datagrams, Ledger::MEDIA_BYTES);
    let queues = scenario.queues().count() as u64;
    let of_samplers = [
        (probes.queue, queues),
        (probes.flows, scenario.flow_count()),
        (probes.state, queues),
        (probes.utilisation, queues),
    ];
    for ((step, each), bytes) in of_samplers.into_iter().zip(Samplers::row_bytes(variables(scenario))) {
        let samples = step.map_or(0, |step| (scenario.duration.as_nanos() / step.as_nanos()) as u64);
        add(step.is_some(), samples.saturating_mul(each), bytes);
    }
    if probes.accesses == Some(true) {
        let accesses = (scenario.duration.as_nanos() / SHORTEST_ACCESS.as_nanos()) as u64;
        let rows = accesses.saturating_mul(scenario.cells().count() as u64);
        found.push(TableSize { rows, bytes: ACCESS_BYTES, is_access: true });
    }
    found
}

/// Numbers of packets in a whole run.
struct PacketCounts {
    /// Datagrams sent, media reports included.
    datagrams: u64,
    /// TCP segments and QUIC packets that the links can send.
    segments: u64,
    /// Packets offered to queues, each counted once per queue.
    at_queues: u64,
}

impl PacketCounts {
    fn of(scenario: &Scenario) -> Self {
        let links: Vec<&LinkSpec> = scenario.hops().flat_map(|(_, link, reverse)| [link, reverse]).collect();
        let (mut datagrams, mut at_queues, mut crossed) = (0_u64, 0_u64, BTreeSet::new());
        for flow in &scenario.flows {
            let data = flow.paths.data.iter().map(|&link| usize::from(link));
            match flow.traffic.packets_in(scenario.duration) {
                Some(each) => {
                    let sent = (f64::from(flow.count) * each).ceil() as u64;
                    datagrams = datagrams.saturating_add(sent);
                    at_queues = at_queues.saturating_add(sent.saturating_mul(data.count() as u64));
                }
                None => crossed.extend(data),
            }
        }
        let sent = |link: usize| {
            full_packets(links[link].service.nominal_rate(links[link].mtu), scenario.duration, links[link].mtu)
        };
        let segments = crossed.into_iter().map(sent).fold(0, u64::saturating_add);
        // Each segment is acknowledged at most once.
        Self { datagrams, segments, at_queues: at_queues.saturating_add(segments.saturating_mul(2)) }
    }
}

/// Maximum number of packets in flight: in the queues and in the pipes between the ends.
fn max_in_flight(scenario: &Scenario) -> u64 {
    let access = scenario.flows.iter().map(|flow| flow.access_delay).max().unwrap_or(Duration::ZERO);
    let of_link = |link: &LinkSpec| {
        let rate = link.service.nominal_rate(link.mtu);
        waiting(link, rate).saturating_add(full_packets(rate, link.delay + access + access, link.mtu))
    };
    scenario.queues().map(of_link).fold(0, u64::saturating_add)
}

/// Maximum number of packets queued at a link, changes included; 0 without a limit.
fn waiting(link: &LinkSpec, rate: Rate) -> u64 {
    let changed = link.changes.iter().filter_map(|change| change.limits);
    let limits: Vec<Limits> = std::iter::once(link.limits).chain(changed).collect();
    let each = link
        .configs()
        .flat_map(|config| limits.iter().map(|&limits| limit_packets(link, rate, config.max_backlog(limits))));
    each.max().unwrap_or(0)
}

/// Packets of maximum size within `limits`; 0 without a limit.
fn limit_packets(link: &LinkSpec, rate: Rate, limits: Limits) -> u64 {
    let packets = limits.packets.map(u64::from);
    let bytes = limits.bytes.map(|bytes| bytes / u64::from(link.mtu));
    let time = limits.time.map(|time| full_packets(rate, time, link.mtu));
    packets.into_iter().chain(bytes).chain(time).min().unwrap_or(0)
}

/// Packets of maximum size that a link sends in `time`.
fn full_packets(rate: Rate, time: Duration, mtu: u32) -> u64 {
    (rate.as_bps() as f64 * time.as_secs_f64() / (8.0 * f64::from(mtu))) as u64
}

/// State variables of the disciplines of all queues; each discipline has its own names.
fn variables(scenario: &Scenario) -> u64 {
    let configs = scenario.queues().flat_map(LinkSpec::configs).flat_map(AnyConfig::each);
    let names: BTreeSet<&str> = configs.map(|config| config.name()).collect();
    names.len() as u64 * MAX_VARIABLES
}

/// Bytes of a TCP flow, both ends, with a small window; measured in `tests/memory.rs`.
const FLOW: u64 = 8 << 10;
/// Bytes of a packet in flight: its record, header and queue entry, each in a vector that may have doubled, and the
/// sender's record of the segment.
const PACKET: u64 = DOUBLED
    * (size_of::<Packet>() + size_of::<Header>() + 2 * size_of::<Handle>() + size_of::<Meta>() + REMEMBERED) as u64;
/// Bytes of a sender's record of a segment; measured in `tests/memory.rs`.
const REMEMBERED: usize = 64;
/// Bytes of a queue's link, events and counters, its sojourn times spread over some octaves; measured in
/// `tests/memory.rs`.
const COUNTERS: u64 = 20 << 10;
/// A vector that has just grown has twice the capacity it needs.
const DOUBLED: u64 = 2;
/// Maximum number of state variables of a discipline; a test checks all registered ones.
const MAX_VARIABLES: u64 = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_aqm::registry::{ALGORITHMS, NamedConfig};
    use sojourn_aqm::{Host, Link, Rng};
    use std::path::Path;

    fn estimate(probes: &str) -> MemoryEstimate {
        let text = format!(
            "duration = \"30 s\"\n[link]\nrate = \"70 Mbit/s\"\n[[flows]]\nkind = \"tcp\"\ncount = 3\n[[flows]]\n\
             kind = \"cbr\"\nrate = \"900 Mbit/s\"\nsize = \"90 B\"\n[[flows]]\nkind = \"media\"\ncontrol = \"nada\"\n[probes]\n{probes}"
        );
        MemoryEstimate::of(&Scenario::parse(&text, &[], Path::new("/")).unwrap())
    }

    #[test]
    fn every_probe_is_in_the_estimate() {
        let without = estimate("");
        assert_eq!(without.recorded, 0);
        for probe in [
            "packets = true",
            "drops = true",
            "senders = true",
            "transfers = true",
            "media = true",
            "queue = \"1 ms\"",
            "flows = \"3 ms\"",
            "state = \"7 ms\"",
            "utilisation = \"900 us\"",
        ] {
            let with = estimate(probe);
            assert!(with.recorded > 20_000 && with.run > without.run, "{probe}: {with:?}");
        }
        let (packets, headers) = (estimate("packets = true"), estimate("packets = true\nheaders = true"));
        assert!(headers.recorded > 2 * packets.recorded);
        // 900 Mbit/s of 90 B for 30 s; each packet is a row of at least 39 B.
        assert!(packets.recorded > 37_500_000 * 39, "arrivals that the link drops are recorded too");
    }

    #[test]
    fn every_attempt_on_a_channel_is_in_the_estimate() {
        let of = |probes: &str| {
            let text = format!(
                "duration = \"9 s\"\n[wlan]\nstations = [{{ rate = \"54 Mbit/s\" }}]\n[[flows]]\nkind = \"tcp\"\n[probes]\n{probes}"
            );
            MemoryEstimate::of(&Scenario::parse(&text, &[], Path::new("/")).unwrap()).recorded
        };
        assert!(of("accesses = true") > 9_000_000 / 60 * 20, "{}", of("accesses = true"));
    }

    #[test]
    fn no_discipline_has_more_variables() {
        for spelling in ALGORITHMS.iter().flat_map(|algorithm| algorithm.spellings()) {
            let named = NamedConfig::parse(&spelling).unwrap();
            let link = Link::new(Rate::from_bps(10_000_000), 1514);
            let queue = named.config.build::<u32>(Limits::packets(99), Host { link, rng: Rng::stream(1, "test", 0) });
            let mut names = BTreeSet::new();
            queue.observe(&mut |name, _| {
                let _ = names.insert(name);
            });
            assert!(names.len() as u64 <= MAX_VARIABLES, "{spelling}: {}", names.len());
        }
    }
}
