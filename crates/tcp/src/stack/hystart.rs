//! Differences between the HyStarts of kernels.

use sojourn_aqm::Duration;

/// Parameters of a kernel's HyStart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Minimum RTT increase that ends slow start; the maximum is 16 ms.
    pub min_rise: Duration,
    /// Between these bounds, the increase is the minimum RTT / 2^`rise_shift`.
    pub rise_shift: u32,
    /// Every sample may lower the round's RTT. Otherwise only the first eight do, and a decrease of the RTT in
    /// mid-round counts as an increase; also, a round starts with the sample after its first one.
    pub every_sample: bool,
    /// Time that segmentation in the sender's host and aggregation on the path may add to an ACK train
    /// (`hystart_ack_delay`). Without this millisecond a flow at 20 Mbit/s would leave slow start four super-packets
    /// before the kernel does.
    pub ack_delay: Duration,
    /// An ACK train ends slow start if it is longer than (minimum RTT + `ack_delay`) / 2^`train_shift`.
    pub train_shift: u32,
    /// The same with pacing, which spreads a window over up to half an RTT.
    pub paced_train_shift: u32,
}

impl Config {
    /// The parameters for a connection with pacing.
    pub fn paced(self) -> Self {
        Self { train_shift: self.paced_train_shift, ..self }
    }
}

/// Linux 2.6.29 to 2.6.38.
pub const LINUX_2_6_29: Config = Config {
    min_rise: Duration::from_millis(2),
    rise_shift: 4,
    every_sample: false,
    ack_delay: Duration::ZERO,
    train_shift: 1,
    paced_train_shift: 1,
};
/// Linux 2.6.39 to 3.19: less sensitive to short delays.
pub const LINUX_3: Config = Config { min_rise: Duration::from_millis(4), ..LINUX_2_6_29 };
/// Linux 5.8 and later.
pub const LINUX_6: Config = Config {
    min_rise: Duration::from_millis(4),
    rise_shift: 3,
    every_sample: true,
    ack_delay: Duration::from_millis(1),
    paced_train_shift: 0,
    ..LINUX_2_6_29
};
