//! What there is to see of a flow.

/// A flow at a glance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Status {
    pub payload: Payload,
    /// Data packets sent.
    pub sent: u64,
    pub retransmissions: u64,
    pub timeouts: u64,
    pub datagrams: Datagrams,
    pub rtts: RoundTrips,
    /// Congestion window in segments; not a number without one.
    pub cwnd: f64,
    pub ssthresh: f64,
    pub srtt_ms: f64,
    /// Segments in the network.
    pub in_flight: u32,
}

/// Payload bytes at a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Payload {
    /// What has arrived, each byte counted once.
    pub arrived: u64,
    /// What has been delivered in order.
    pub delivered: u64,
}

/// Round-trip times that a sender has measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RoundTrips {
    sum_ns: u64,
    samples: u64,
}

/// What the receiver of datagrams has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Datagrams {
    /// Datagrams received.
    pub received: u64,
    /// Those of them that had been sent before the statistics began.
    pub strays: u64,
    /// Datagrams that should have been received: up to the last one that was.
    pub expected: u64,
    /// Sum of the one-way delays, and of the differences between successive ones, without their signs.
    pub delay_ns: u64,
    pub variation_ns: u64,
}

impl Status {
    /// Adds the counts of another flow; what is no count stays.
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
    /// Of a sum in nanoseconds and the number of samples.
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

    /// Their mean; none without a sample.
    pub fn mean_ms(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.sum_ns as f64 / self.samples as f64 / 1e6)
    }
}

impl Payload {
    pub fn add(&mut self, other: &Self) {
        self.arrived += other.arrived;
        self.delivered += other.delivered;
    }

    /// What came after `earlier`.
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

    /// What came after `earlier`, when so many had been `sent`; `strays` of them came later.
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
