//! Congestion controls: how the window grows, and what it falls to.

mod newreno;
mod reno;

/// The window that a congestion control steers. Counted in segments, as Linux does.
#[derive(Clone, Debug)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u32,
    /// Slow-start threshold.
    pub ssthresh: u32,
    /// Acknowledgments (or fractions of a step) since the last change of `cwnd`.
    pub cwnd_cnt: u32,
    /// Bytes acknowledged since the last step, for appropriate byte counting.
    pub bytes_acked: u64,
    /// Segment size in bytes.
    pub mss: u32,
}

impl Window {
    /// No threshold: slow start until the first loss.
    pub const INFINITE_SSTHRESH: u32 = i32::MAX as u32;

    /// Whether the window is in slow start.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd <= self.ssthresh
    }
}

/// A congestion control. One file, and one line in the registry below.
pub trait CongestionControl {
    /// Grows the window on an acknowledgment of new data; the sender was limited by the window.
    fn increase(&mut self, window: &mut Window, abc: bool);
    /// The slow-start threshold after a congestion event.
    fn ssthresh(&mut self, window: &Window) -> u32;
    /// The window below which rate halving does not go during recovery.
    fn min_cwnd(&self, window: &Window) -> u32;
    /// Whether, without SACK, the first partial acknowledgment ends recovery (Reno; NewReno stays, RFC 6582).
    fn partial_ack_ends_recovery(&self) -> bool {
        false
    }
}

macro_rules! congestion_controls {
    ($( $name:literal => $module:ident :: $type:ident, $summary:literal; )+) => {
        /// Name and summary of every congestion control.
        pub const NAMES: &[(&str, &str)] = &[ $( ($name, $summary), )+ ];

        /// Any registered congestion control.
        #[derive(Clone, Debug)]
        #[allow(missing_docs)]
        pub enum AnyCc { $( $type($module::$type), )+ }

        impl AnyCc {
            /// The congestion control called `name`, in its initial state.
            pub fn new(name: &str) -> Option<Self> {
                match name {
                    $( $name => Some(Self::$type(Default::default())), )+
                    _ => None,
                }
            }
        }

        impl CongestionControl for AnyCc {
            fn increase(&mut self, window: &mut Window, abc: bool) {
                match self { $( Self::$type(cc) => cc.increase(window, abc), )+ }
            }
            fn ssthresh(&mut self, window: &Window) -> u32 {
                match self { $( Self::$type(cc) => cc.ssthresh(window), )+ }
            }
            fn min_cwnd(&self, window: &Window) -> u32 {
                match self { $( Self::$type(cc) => cc.min_cwnd(window), )+ }
            }
            fn partial_ack_ends_recovery(&self) -> bool {
                match self { $( Self::$type(cc) => cc.partial_ack_ends_recovery(), )+ }
            }
        }
    };
}

congestion_controls! {
    "reno" => reno::Reno, "Reno (RFC 5681) as in Linux; without SACK a partial acknowledgment ends recovery";
    "newreno" => newreno::NewReno, "NewReno (RFC 6582): Reno that without SACK stays in recovery on partial acknowledgments";
}
