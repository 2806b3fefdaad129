//! Statistics with the names of `tc -s -j qdisc`, so that existing parsers can read them.

use super::Cake;
use super::tin::Tin;
use core::fmt;

/// Statistics of a queue, displayed as a JSON object.
pub(super) struct Statistics<'a> {
    memory: (u64, u64),
    capacity: u64,
    network: (u32, u32),
    adjusted: (u32, u32),
    header: u32,
    overlimits: u64,
    backlog: (u64, u32),
    sent: (u64, u64),
    drops: u64,
    order: &'static [usize],
    tins: &'a [Tin],
}

impl<P> Cake<P> {
    pub(super) fn tc_statistics(&self) -> Statistics<'_> {
        let xstats = &self.xstats;
        let least = |(least, most): (u32, u32)| (if most == 0 { 0 } else { least }, most);
        Statistics {
            memory: (xstats.max_memory_used, self.memory_limit),
            capacity: self.rate,
            network: least(xstats.network),
            adjusted: least(xstats.adjusted),
            header: self.framing.header,
            overlimits: xstats.overlimits,
            backlog: (self.total.bytes, self.total.packets),
            sent: (self.stats.departed.bytes, self.stats.departed.packets),
            drops: self.stats.dropped_total().packets,
            order: self.config.tins.order(),
            tins: &self.tins,
        }
    }
}

impl fmt::Display for Statistics<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { memory, capacity, network, adjusted, header, overlimits, backlog, sent, drops, .. } = self;
        write!(f, r#"{{"kind":"cake","bytes":{},"packets":{},"drops":{drops},"#, sent.0, sent.1)?;
        write!(f, r#""overlimits":{overlimits},"backlog":{},"qlen":{},"#, backlog.0, backlog.1)?;
        write!(f, r#""memory_used":{},"memory_limit":{},"#, memory.0, memory.1)?;
        write!(f, r#""capacity_estimate":{capacity},"#)?;
        write!(f, r#""min_network_size":{},"max_network_size":{},"#, network.0, network.1)?;
        write!(f, r#""min_adj_size":{},"max_adj_size":{},"#, adjusted.0, adjusted.1)?;
        write!(f, r#""avg_hdr_offset":{header},"tins":["#)?;
        for (n, &t) in self.order.iter().enumerate() {
            f.write_str(if n > 0 { "," } else { "" })?;
            write_tin(f, &self.tins[t])?;
        }
        f.write_str("]}")
    }
}

fn write_tin(f: &mut fmt::Formatter<'_>, tin: &Tin) -> fmt::Result {
    let counts = &tin.stats;
    let fields = [
        ("threshold_rate", tin.share.threshold),
        ("sent_bytes", counts.bytes),
        ("backlog_bytes", tin.backlog),
        ("target_us", micros(tin.rate.target.as_nanos() as u64)),
        ("interval_us", micros(tin.rate.interval.as_nanos() as u64)),
        ("peak_delay_us", micros(counts.peak)),
        ("avg_delay_us", micros(counts.average)),
        ("base_delay_us", micros(counts.base)),
        ("sent_packets", counts.packets),
        ("way_indirect_hits", tin.way_stats.hits.into()),
        ("way_misses", tin.way_stats.misses.into()),
        ("way_collisions", tin.way_stats.collisions.into()),
        ("drops", counts.drops),
        ("ecn_mark", counts.marks),
        ("ack_drops", counts.ack_drops),
        ("sparse_flows", (tin.sparse + tin.decaying).into()),
        ("bulk_flows", tin.bulk.into()),
        ("unresponsive_flows", tin.unresponsive.into()),
        ("max_pkt_len", counts.largest.into()),
        ("flow_quantum", tin.rate.quantum.into()),
    ];
    for (n, (name, value)) in fields.into_iter().enumerate() {
        write!(f, "{}\"{name}\":{value}", if n > 0 { "," } else { "{" })?;
    }
    f.write_str("}")
}

/// Whole microseconds.
const fn micros(nanos: u64) -> u64 {
    nanos / 1000
}
