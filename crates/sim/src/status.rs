//! Status of a flow.

/// Counters and current state of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Status {
    pub payload: Payload,
    /// Data packets sent.
    pub sent: u64,
    pub retransmissions: u64,
    pub timeouts: u64,
    pub datagrams: Datagrams,
    pub rtts: RoundTrips,
    /// Congestion window in segments; NaN if the flow has none.
    pub cwnd: f64,
    pub ssthresh: f64,
    pub srtt_ms: f64,
    /// Segments in flight.
    pub in_flight: u32,
}

/// Payload bytes at a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Payload {
    /// Bytes that have arrived, without duplicates.
    pub arrived: u64,
    /// Bytes delivered in order.
    pub delivered: u64,
}

/// Round-trip times measured by a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RoundTrips {
    sum_ns: u64,
    samples: u64,
}

/// Datagrams at a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Datagrams {
    /// Datagrams received.
    pub received: u64,
    /// Datagrams sent before the statistics window and received in it.
    pub strays: u64,
    /// Datagrams expected: all up to the last one received.
    pub expected: u64,
    /// Sum of the one-way delays, and of the absolute differences between successive ones.
    pub delay_ns: u64,
    pub variation_ns: u64,
}

impl Status {
    /// Adds the counters of another flow; the current state is left alone.
    pub fn add(&mut self, other: &Self) {
        self.payload.add(&other.payload);
        self.sent += other.sent;
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.datagrams.add(&other.datagrams);
        self.rtts.add(&other.rtts);
    }
}

impl RoundTrips {
    /// From a sum in nanoseconds and a number of samples.
    pub fn of((sum_ns, samples): (u64, u64)) -> Self {
        Self { sum_ns, samples }
    }

    pub fn add(&mut self, other: &Self) {
        self.sum_ns += other.sum_ns;
        self.samples += other.samples;
    }

    /// Samples after `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self { sum_ns: self.sum_ns - earlier.sum_ns, samples: self.samples - earlier.samples }
    }

    /// The mean; none without samples.
    pub fn mean_ms(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.sum_ns as f64 / self.samples as f64 / 1e6)
    }
}

impl Payload {
    pub fn add(&mut self, other: &Self) {
        self.arrived += other.arrived;
        self.delivered += other.delivered;
    }

    /// Bytes after `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self { arrived: self.arrived - earlier.arrived, delivered: self.delivered - earlier.delivered }
    }
}

impl Datagrams {
    pub fn add(&mut self, other: &Self) {
        self.received += other.received;
        self.strays += other.strays;
        self.expected += other.expected;
        self.delay_ns += other.delay_ns;
        self.variation_ns += other.variation_ns;
    }

    /// Datagrams after `earlier`, when `sent` had been sent; `strays` of these arrived later.
    pub fn since(&self, earlier: &Self, sent: u64, strays: u64) -> Self {
        Self {
            received: self.received - earlier.received,
            strays,
            expected: self.expected.saturating_sub(sent),
            delay_ns: self.delay_ns - earlier.delay_ns,
            variation_ns: self.variation_ns - earlier.variation_ns,
        }
    }
}
