//! NewReno of RFC 9002 (§7, appendix B), in bytes.
//!
//! Congestion avoidance counts acknowledged bytes up to a window (RFC 3465 §2.1, allowed by appendix B): the quotient
//! in RFC 9002's pseudocode would lose its fraction with each packet.

/// Window of RFC 9002's NewReno, in bytes.
#[derive(Clone, Debug)]
pub(super) struct NewReno {
    pub cwnd: u64,
    /// None before the first congestion event.
    pub ssthresh: Option<u64>,
    /// Bytes acknowledged since the window last grew in congestion avoidance.
    acked: u64,
    max_datagram_size: u64,
}

impl NewReno {
    /// An initial window of `cwnd` bytes.
    pub fn new(cwnd: u64, max_datagram_size: u32) -> Self {
        Self { cwnd, ssthresh: None, acked: 0, max_datagram_size: max_datagram_size.into() }
    }

    /// `OnPacketAcked`, for a packet outside recovery while the window is fully used.
    pub fn on_acked(&mut self, bytes: u32) {
        if self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh) {
            self.cwnd += u64::from(bytes);
            return;
        }
        self.acked += u64::from(bytes);
        if self.acked >= self.cwnd {
            self.acked -= self.cwnd;
            self.cwnd += self.max_datagram_size;
        }
    }

    /// `OnCongestionEvent`: halves the window (`kLossReductionFactor`).
    pub fn reduce(&mut self) {
        let half = self.cwnd / 2;
        (self.ssthresh, self.cwnd, self.acked) = (Some(half), half.max(self.min_window()), 0);
    }

    /// Reduces to the minimum window on persistent congestion.
    pub fn collapse(&mut self) {
        (self.cwnd, self.acked) = (self.min_window(), 0);
    }

    /// `kMinimumWindow`.
    fn min_window(&self) -> u64 {
        2 * self.max_datagram_size
    }
}
