//! Differences between the CUBICs of kernels.

use super::hystart;

/// Parameters of a kernel's CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Steps are counted in acknowledgments and corrected by the mean number of packets per acknowledgment.
    pub delayed_ack: bool,
    /// Minimum number of acknowledgments or packets per step.
    pub min_cnt: u32,
    /// The cubic function is evaluated at most once per clock tick.
    pub once_per_tick: bool,
    /// An idle time does not count as time since the last loss.
    pub idle_shifts_epoch: bool,
    /// HyStart, if the kernel has it.
    pub hystart: Option<hystart::Config>,
}

/// Linux 2.6.29 to 2.6.38.
pub const LINUX_2_6_29: Version = Version {
    delayed_ack: true,
    min_cnt: 1,
    once_per_tick: false,
    idle_shifts_epoch: false,
    hystart: Some(hystart::LINUX_2_6_29),
};
/// Linux 2.6.39 to 3.19.
pub const LINUX_3: Version = Version { hystart: Some(hystart::LINUX_3), ..LINUX_2_6_29 };
/// Linux 5.8 and later.
pub const LINUX_6: Version = Version {
    delayed_ack: false,
    min_cnt: 2,
    once_per_tick: true,
    idle_shifts_epoch: true,
    hystart: Some(hystart::LINUX_6),
};
