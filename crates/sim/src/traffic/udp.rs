//! Datagrams from a source without congestion control; the kinds differ in the distribution of gaps.
//!
//! Header: `seq` is the datagram's number, `ack` its send time in ns.

use super::host::{Endpoints, Host};
use crate::packet::ReceivedPacket;
use crate::scenario::{CbrSpec, UdpSpec, VoiceSpec};
use crate::status::{Datagrams, Payload, Status};
use sojourn_aqm::{Duration, Ecn, Instant, Rate, Rng, Serializer};
use sojourn_tcp::Header;

pub(crate) struct UdpFlow {
    gaps: Gaps,
    size: u32,
    ecn: Ecn,
    next: Instant,
    stop: Instant,
    sent: u64,
    arrived: u64,
    sink: DatagramSink,
}

/// Counters of a receiver of datagrams.
#[derive(Clone, Debug, Default)]
pub(super) struct DatagramSink {
    pub datagrams: Datagrams,
    last_delay_ns: u64,
    /// Per possible window start after the first: datagrams sent before it, and those of them received after it.
    window_starts: Vec<(u64, u64)>,
    /// Datagrams sent before the last possible window start.
    sent_before: u64,
}

enum Gaps {
    /// Constant, with an exact long-run rate.
    Constant(Serializer),
    /// The datagrams of each period at its start.
    Periodic(Periods),
    /// Exponential with this mean.
    Poisson(Duration, Rng),
    /// Uniform between 0.5 and 1.5 times this mean.
    Jittered(Duration, Rng),
    Bursts(Bursts),
}

/// Each datagram is sent at the start of the period in which it would be sent at constant gaps.
struct Periods {
    period: Duration,
    gaps: Serializer,
    /// Times since the start of the flow: of the next datagram at constant gaps, and of the period of the last one.
    due: Duration,
    begun: Duration,
}

/// Datagrams at regular gaps during a burst, none between bursts; both have exponentially distributed lengths.
struct Bursts {
    gap: Duration,
    on: Duration,
    off: Duration,
    /// Datagrams left in the burst.
    left: u64,
    rng: Rng,
}

impl UdpFlow {
    pub fn constant(CbrSpec { udp, period }: &CbrSpec, start: Instant, stop: Instant) -> Self {
        let (gaps, zero) = (Serializer::new(udp.rate), Duration::ZERO);
        let gaps = match *period {
            Some(period) => Gaps::Periodic(Periods { period, gaps, due: zero, begun: zero }),
            None => Gaps::Constant(gaps),
        };
        Self::new(udp, gaps, start, stop)
    }

    pub fn poisson(spec: &UdpSpec, start: Instant, stop: Instant, rng: Rng) -> Self {
        // The first datagram also comes after a gap, because the process has no start.
        Self::new(spec, Gaps::Poisson(mean_gap(spec.rate, spec.size), rng), start, stop).after_a_gap()
    }

    pub fn jittered(spec: &UdpSpec, start: Instant, stop: Instant, rng: Rng) -> Self {
        Self::new(spec, Gaps::Jittered(mean_gap(spec.rate, spec.size), rng), start, stop)
    }

    pub fn voice(spec: &VoiceSpec, start: Instant, stop: Instant, rng: Rng) -> Self {
        let &VoiceSpec { rate, size, on, off, ecn } = spec;
        let udp = UdpSpec { rate, size, ecn };
        if off == Duration::ZERO {
            return Self::constant(&CbrSpec { udp, period: None }, start, stop);
        }
        let bursts = Bursts { gap: mean_gap(rate, size), on, off, left: 0, rng };
        Self::new(&udp, Gaps::Bursts(bursts), start, stop).after_a_gap()
    }

    fn new(spec: &UdpSpec, gaps: Gaps, start: Instant, stop: Instant) -> Self {
        let (size, ecn) = (spec.size, spec.ecn);
        Self { gaps, size, ecn, next: start, stop, sent: 0, arrived: 0, sink: DatagramSink::default() }
    }

    fn after_a_gap(mut self) -> Self {
        let gap = self.gap();
        self.next += gap;
        self
    }

    fn gap(&mut self) -> Duration {
        match &mut self.gaps {
            Gaps::Constant(serializer) => serializer.time_for(self.size),
            Gaps::Periodic(periods) => periods.gap(self.size),
            Gaps::Poisson(mean, rng) => mean.mul_f64(rng.exponential()),
            Gaps::Jittered(mean, rng) => mean.mul_f64(0.5 + rng.uniform()),
            Gaps::Bursts(bursts) => bursts.gap(),
        }
    }
}

impl Periods {
    fn gap(&mut self, size: u32) -> Duration {
        self.due += self.gaps.time_for(size);
        let begun = Duration::from_nanos(self.due.as_nanos() / self.period.as_nanos() * self.period.as_nanos());
        let gap = begun - self.begun;
        self.begun = begun;
        gap
    }
}

impl Bursts {
    /// A burst has a whole number of datagrams, at least one (ns-2 `expoo.cc`).
    fn gap(&mut self) -> Duration {
        let mut silence = Duration::ZERO;
        if self.left == 0 {
            let mean = self.on.as_nanos() as f64 / self.gap.as_nanos() as f64;
            self.left = ((mean * self.rng.exponential() + 0.5) as u64).max(1);
            silence = self.off.mul_f64(self.rng.exponential());
        }
        self.left -= 1;
        silence + self.gap
    }
}

fn mean_gap(rate: Rate, size: u32) -> Duration {
    rate.time_for(size as u64)
}

impl DatagramSink {
    /// Counts a received datagram; returns its one-way delay.
    #[inline]
    pub fn on_datagram(&mut self, now: Instant, header: &Header) -> Duration {
        self.on_datagrams(now, Instant::from_nanos(header.ack), header.seq, 1)
    }

    /// Counts `count` datagrams from number `first` on that were sent at one instant; returns their one-way delay.
    #[inline]
    pub fn on_datagrams(&mut self, now: Instant, sent: Instant, first: u64, count: u64) -> Duration {
        let Self { datagrams, last_delay_ns, .. } = self;
        let delay_ns = now.as_nanos() - sent.as_nanos();
        if datagrams.received > 0 {
            datagrams.variation_ns += delay_ns.abs_diff(*last_delay_ns);
        }
        *last_delay_ns = delay_ns;
        datagrams.received += count;
        datagrams.delay_ns += count * delay_ns;
        datagrams.expected = datagrams.expected.max(first + count);
        if first < self.sent_before {
            self.count_stray(first, count);
        }
        Duration::from_nanos(delay_ns as i64)
    }

    #[cold]
    fn count_stray(&mut self, first: u64, count: u64) {
        for (sent, strays) in self.window_starts.iter_mut().rev().take_while(|(sent, _)| first < *sent) {
            *strays += count.min(*sent - first);
        }
    }

    /// Notes a possible window start, with `sent` datagrams sent before it.
    pub fn begin(&mut self, sent: u64) {
        self.window_starts.push((sent, 0));
        self.sent_before = sent;
    }

    /// See [`Endpoints::strays`].
    pub fn strays(&self, number: usize) -> u64 {
        number.checked_sub(1).map_or(0, |begin| self.window_starts[begin].1)
    }

    /// Status of a flow that has sent `sent` datagrams.
    pub fn status(&self, payload: Payload, sent: u64) -> Status {
        let (nan, datagrams) = (f64::NAN, self.datagrams);
        Status { payload, sent, datagrams, cwnd: nan, ssthresh: nan, srtt_ms: nan, ..Status::default() }
    }
}

impl Endpoints for UdpFlow {
    fn on_source_timer(&mut self, now: Instant, host: &mut impl Host) {
        while self.next <= now && self.next < self.stop {
            let header = Header { seq: self.sent, ack: now.as_nanos(), ..Header::default() };
            host.transmit(&header, self.size, self.ecn);
            self.sent += 1;
            let gap = self.gap();
            self.next += gap;
        }
    }

    fn on_sink_timer(&mut self, _: Instant, _: &mut impl Host) {}

    fn on_sink_packet(&mut self, now: Instant, header: &Header, packet: ReceivedPacket, _: &mut impl Host) {
        self.arrived += (packet.len - UDP_IP_HEADERS.min(packet.len)) as u64;
        self.sink.on_datagram(now, header);
    }

    fn on_source_packet(&mut self, _: Instant, _: &Header, _: ReceivedPacket, _: &mut impl Host) {}

    fn source_deadline(&self) -> Instant {
        if self.next < self.stop { self.next } else { Instant::NEVER }
    }

    fn sink_deadline(&self) -> Instant {
        Instant::NEVER
    }

    fn status(&self) -> Status {
        self.sink.status(Payload { arrived: self.arrived, delivered: self.arrived }, self.sent)
    }

    fn on_window_start(&mut self) {
        self.sink.begin(self.sent);
    }

    fn strays(&self, number: usize) -> u64 {
        self.sink.strays(number)
    }
}

/// Bytes of the IPv4 and UDP headers.
const UDP_IP_HEADERS: u32 = 28;
