//! How much memory a run is going to take, as far as that can be told before it.

use crate::packet::{Handle, Packet};
use crate::scenario::{LinkSpec, Scenario};
use sojourn_aqm::{Duration, Meta, Rate};
use sojourn_tcp::Header;

/// What a run needs, from above: queues that are full, pipes that are full, and every packet recorded that links can send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Bytes of memory for flows that last and for packets under way. Connections that come and go are not in it, as
    /// nobody knows how many there will be at a time.
    pub run: u64,
    /// Bytes of memory for what is recorded of every packet, unless it is taken while the run goes on
    /// ([`crate::Simulation::take_rows`]).
    pub packets: u64,
}

impl Need {
    /// The need of any run of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let lasting = scenario.flows.iter().filter(|flow| !flow.traffic.opens_connections());
        let flows: u64 = lasting.map(|flow| u64::from(flow.count)).sum();
        let access = scenario.flows.iter().map(|flow| flow.access_delay).max().unwrap_or(Duration::ZERO);
        let under_way = |link: &LinkSpec| {
            let rate = link.service.nominal_rate(link.mtu);
            waiting(link, rate).saturating_add(full_packets(rate, link.delay + access + access, link.mtu))
        };
        let packets = scenario.queues().map(under_way).fold(0, u64::saturating_add);
        let run = flows.saturating_mul(FLOW).saturating_add(packets.saturating_mul(PACKET));
        let sent = |link: &LinkSpec| full_packets(link.service.nominal_rate(link.mtu), scenario.duration, link.mtu);
        // Each packet that the first link of a pair sends is acknowledged at most once.
        let rows: u64 = scenario.hops().map(|(_, link, _)| sent(link).saturating_mul(2)).fold(0, u64::saturating_add);
        let row = if scenario.probes.headers { ROW + HEADERS_ROW } else { ROW };
        Self { run, packets: if scenario.probes.packets { rows.saturating_mul(row) } else { 0 } }
    }
}

/// Packets that a link's limits let wait; of none that there is no limit for.
fn waiting(link: &LinkSpec, rate: Rate) -> u64 {
    let limits = link.limits;
    let packets = limits.packets.map(u64::from);
    let bytes = limits.bytes.map(|bytes| bytes / u64::from(link.mtu));
    let time = limits.time.map(|time| full_packets(rate, time, link.mtu));
    packets.into_iter().chain(bytes).chain(time).min().unwrap_or(0)
}

/// Full packets that a link sends in a time.
fn full_packets(rate: Rate, time: Duration, mtu: u32) -> u64 {
    (rate.as_bps() as f64 * time.as_secs_f64() / (8.0 * f64::from(mtu))) as u64
}

/// Bytes of a TCP flow with both its ends and a small window: `tests/memory.rs` measures it.
const FLOW: u64 = 8 << 10;
/// Bytes of a packet under way: its record, its header and its place in a queue, each in a vector that may have doubled, and
/// what its sender remembers of it.
const PACKET: u64 =
    2 * (size_of::<Packet>() + size_of::<Header>() + 2 * size_of::<Handle>() + size_of::<Meta>() + REMEMBERED) as u64;
/// Bytes of a sender's record of a segment: `tests/memory.rs` measures it.
const REMEMBERED: usize = 64;
/// Bytes of a row of `packets`, and of `headers`, in vectors that may have doubled.
const ROW: u64 = 2 * 39;
const HEADERS_ROW: u64 = 2 * 96;
