//! Differences between the kernels' HyStarts.

use sojourn_aqm::Duration;

/// How a kernel's HyStart decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Least rise of the RTT that counts; the largest is 16 ms.
    pub min_rise: Duration,
    /// Between them, the rise that counts is the least RTT / 2^`rise_shift`.
    pub rise_shift: u32,
    /// Every sample lowers the round's RTT; else only the first eight, and a fall of the RTT in mid-round is taken
    /// for a rise. Also, a round starts with the sample that is the first of it, not with the one behind.
    pub every_sample: bool,
    /// What segmentation in the sender's host and aggregation on the way may add to a train (`hystart_ack_delay`).
    pub ack_delay: Duration,
    /// A train is too long beyond (least RTT + `ack_delay`) / 2^`train_shift`.
    pub train_shift: u32,
    /// The same of a connection that is paced, whose packets a window's pace may hold back for half an RTT.
    pub paced_train_shift: u32,
}

impl Config {
    /// The same of a connection that is paced.
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
