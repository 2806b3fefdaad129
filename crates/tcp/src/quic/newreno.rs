//! NewReno of RFC 9002 (§7, appendix B), in bytes.
//!
//! In congestion avoidance bytes are counted up to a window of them, as RFC 3465 §2.1 has it and appendix B allows: the
//! quotient of its listing would lose its fraction with each packet.

/// The window.
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
    /// A window of `cwnd` bytes.
    pub fn new(cwnd: u64, max_datagram_size: u32) -> Self {
        Self { cwnd, ssthresh: None, acked: 0, max_datagram_size: max_datagram_size.into() }
    }

    /// `OnPacketAcked`, where the window was used and the packet is none of a recovery.
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

    /// `OnCongestionEvent`: half of the window goes (`kLossReductionFactor`).
    pub fn reduce(&mut self) {
        let half = self.cwnd / 2;
        (self.ssthresh, self.cwnd, self.acked) = (Some(half), half.max(self.least()), 0);
    }

    /// Persistent congestion.
    pub fn collapse(&mut self) {
        (self.cwnd, self.acked) = (self.least(), 0);
    }

    /// `kMinimumWindow`.
    fn least(&self) -> u64 {
        2 * self.max_datagram_size
    }
}
