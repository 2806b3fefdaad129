//! The send sequence, and the data that the application has written.
//!
//! Source: RFC 9293 §3.3.1 (SND.UNA, SND.NXT); Linux `tcp_send_fin`. If the stack limits the socket's buffer,
//! `send_buffer.rs` decides how much of the application's data is in it.

use crate::FIRST_BYTE;
use crate::segment::Segment;
use sojourn_aqm::Instant;

/// The send sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendQueue {
    una: u64,
    nxt: u64,
    /// End of the data in the socket.
    limit: u64,
    /// End of the data that the application wants to send.
    app_limit: u64,
    /// Data enters the socket by [`Self::accept_bytes`], not as soon as the application has it.
    buffered: bool,
    /// A FIN follows the application's last byte.
    closing: bool,
    fin_sent: bool,
    /// Nagle: a segment that is not full waits until nothing is outstanding.
    nagle: bool,
    /// End of the last segment that was not full (`snd_sml`).
    last_short_end: u64,
    mss: u64,
}

impl SendQueue {
    /// Nothing written or sent, not even the SYN.
    pub fn new(mss: u32) -> Self {
        Self {
            una: 0,
            nxt: 0,
            limit: FIRST_BYTE,
            app_limit: FIRST_BYTE,
            buffered: false,
            closing: false,
            fin_sent: false,
            nagle: false,
            last_short_end: 0,
            mss: mss as u64,
        }
    }

    /// With a [`SendBuffer`](crate::send_buffer::SendBuffer) in front of it.
    pub fn buffered(self) -> Self {
        Self { buffered: true, ..self }
    }

    /// Bytes of a full segment.
    pub fn mss(&self) -> u64 {
        self.mss
    }

    /// Sets the size of new segments to `mss` bytes.
    #[inline]
    pub fn set_mss(&mut self, mss: u32) {
        self.mss = mss as u64;
    }

    /// Enables Nagle's algorithm (RFC 896): a segment that is not full waits until everything sent before is
    /// acknowledged. A FIN with it changes nothing: ns-2's `FullTcpAgent::foutput` without `nodelay_` sends the FIN
    /// later.
    pub fn enable_nagle(&mut self) {
        self.nagle = true;
    }

    /// The SYN is sent; `bytes` and a FIN follow, or with `None` data without end. Differs: the FIN of a transfer that
    /// fits into the window leaves with its last segment; in Linux `close` comes after it.
    pub fn open(&mut self, bytes: Option<u64>) {
        self.app_limit = bytes.map_or(u64::MAX, |n| FIRST_BYTE + n);
        self.offer();
        self.closing = bytes.is_some();
        self.nxt = FIRST_BYTE;
    }

    /// The application writes by [`Self::write`] and ends by [`Self::end`].
    pub fn stay_open(&mut self) {
        self.closing = false;
    }

    /// Both SYNs are acknowledged.
    pub fn established(&mut self) {
        (self.una, self.nxt) = (FIRST_BYTE, FIRST_BYTE);
    }

    /// The application writes `bytes`.
    pub fn write(&mut self, bytes: u64) {
        self.app_limit = self.app_limit.saturating_add(bytes);
        self.offer();
    }

    /// The application stops: data that was not sent is discarded.
    pub fn close(&mut self) {
        self.limit = self.limit.min(self.nxt.max(FIRST_BYTE));
        self.app_limit = self.limit;
        self.closing = true;
    }

    /// Bytes of the application that are not in the socket yet.
    #[inline]
    pub fn unwritten(&self) -> u64 {
        self.app_limit - self.limit
    }

    /// End of the data in the socket.
    #[inline]
    pub fn written(&self) -> u64 {
        self.limit
    }

    /// Moves `bytes` of the [unwritten](Self::unwritten) data into the socket.
    pub fn accept_bytes(&mut self, bytes: u64) {
        self.limit += bytes;
    }

    /// Without a send buffer, all data of the application is in the socket.
    fn offer(&mut self) {
        if !self.buffered {
            self.limit = self.app_limit;
        }
    }

    /// A FIN follows the data written so far.
    pub fn end(&mut self) {
        self.closing = true;
    }

    /// Whether a FIN follows the last data.
    pub fn is_closing(&self) -> bool {
        self.closing
    }

    /// The oldest unacknowledged sequence number.
    #[inline]
    pub fn una(&self) -> u64 {
        self.una
    }

    /// The next sequence number to be sent.
    #[inline]
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Everything before `ack` is acknowledged. Returns the number of newly acknowledged sequence numbers.
    #[inline]
    pub fn acknowledge(&mut self, ack: u64) -> u64 {
        let newly = ack - self.una;
        self.una = ack;
        newly
    }

    /// Whether the application has no more data for now.
    #[inline]
    pub fn is_app_exhausted(&self) -> bool {
        self.nxt >= self.app_limit
    }

    /// Whether the FIN was sent.
    pub fn fin_sent(&self) -> bool {
        self.fin_sent
    }

    /// Whether there is a segment to send, data or FIN, that ends at or before `right_edge`.
    #[inline]
    pub fn has_sendable(&self, right_edge: u64) -> bool {
        self.next_len(right_edge).is_some()
    }

    /// Payload of the next segment to send, data or FIN, if there is one that ends at or before `right_edge`. A segment
    /// that more data is going to fill waits while anything is outstanding (RFC 896).
    #[inline]
    pub fn next_len(&self, right_edge: u64) -> Option<u16> {
        if self.nxt < self.limit {
            let len = (self.limit - self.nxt).min(self.mss);
            if len < self.mss && (self.nagle || !self.is_fully_buffered()) && self.una < self.nxt {
                return None;
            }
            (self.nxt + len <= right_edge).then_some(len as u16)
        } else {
            (self.closing && !self.fin_sent && self.is_fully_buffered()).then_some(0)
        }
    }

    /// Number of full segments that end at or before `edge` and are not the last in the socket: [`Self::next_len`]
    /// allows them without a look at anything else.
    #[inline]
    pub fn full_segments(&self, edge: u64) -> u32 {
        let bytes = edge.min(self.limit.saturating_sub(1)).saturating_sub(self.nxt);
        (bytes / self.mss).min(u64::from(u32::MAX)) as u32
    }

    /// [`Self::next_len`] within a burst, whose last segment may fill up the receiver's window (`tcp_mss_split_point`),
    /// unless a segment that was not full is outstanding (`tcp_minshall_check`).
    pub fn next_len_in_burst(&self, right_edge: u64) -> Option<u16> {
        self.next_len(right_edge).or_else(|| {
            let room = right_edge.saturating_sub(self.nxt);
            let fits = room > 0 && room < self.mss && room < self.limit - self.nxt;
            (fits && self.buffered && self.last_short_end <= self.una).then_some(room as u16)
        })
    }

    /// Whether a single segment is left to send, with the FIN, or the FIN alone.
    pub fn is_last_segment(&self) -> bool {
        self.closing && !self.fin_sent && self.is_fully_buffered() && self.waiting_bytes() <= self.mss
    }

    /// Bytes of the application that were not sent yet.
    pub fn unsent_bytes(&self) -> u64 {
        self.app_limit.saturating_sub(self.nxt)
    }

    /// Unsent bytes in the socket.
    pub fn waiting_bytes(&self) -> u64 {
        self.limit.saturating_sub(self.nxt)
    }

    fn is_fully_buffered(&self) -> bool {
        self.limit == self.app_limit
    }

    /// Bytes of data sent from the sequence number `from` on, without a FIN.
    pub fn payload_since(&self, from: u64) -> u64 {
        self.nxt - from - (self.fin_sent && self.nxt > from) as u64
    }

    /// Unsent segments in the socket.
    pub fn unsent(&self) -> u32 {
        let segments = self.waiting_bytes().div_ceil(self.mss);
        segments.min(u32::MAX as u64) as u32
    }

    /// Takes the next segment if it is a full one, is not the last, and ends within `right_edge`. The fast path: most
    /// segments are like that.
    #[inline(always)]
    pub fn take_full(&mut self, right_edge: u64, at: Instant) -> Option<Segment> {
        let (seq, end) = (self.nxt, self.nxt + self.mss);
        if end >= self.limit || end > right_edge {
            return None;
        }
        self.nxt = end;
        Some(Segment::new(seq, self.mss as u16, false, at))
    }

    /// Takes the next segment, to be sent at `at`, with the payload that [`Self::next_len`] returned.
    #[inline(always)]
    pub fn take(&mut self, len: u16, at: Instant) -> Segment {
        let fin = self.closing && self.nxt + len as u64 >= self.app_limit;
        let segment = Segment::new(self.nxt, len, fin, at);
        self.fin_sent |= fin;
        self.nxt = segment.end();
        if u64::from(len) < self.mss {
            self.last_short_end = self.nxt;
        }
        segment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes all segments that fit: start, payload, FIN.
    fn drain(queue: &mut SendQueue, right_edge: u64) -> Vec<(u64, u16, bool)> {
        let mut taken = Vec::new();
        while let Some(len) = queue.next_len(right_edge) {
            let segment = queue.take(len, Instant::ZERO);
            taken.push((segment.seq, segment.len, segment.fin));
        }
        taken
    }

    #[test]
    fn the_last_segment_is_what_is_left_and_carries_the_fin() {
        let mut queue = SendQueue::new(1000);
        queue.open(Some(2_345));
        assert_eq!((queue.unsent(), queue.fin_sent()), (3, false));
        assert_eq!(drain(&mut queue, u64::MAX), [(1, 1000, false), (1001, 1000, false), (2001, 345, true)]);
        assert_eq!((queue.nxt(), queue.unsent(), queue.is_app_exhausted(), queue.fin_sent()), (2_347, 0, true, true));
    }

    #[test]
    fn a_segment_that_does_not_fit_into_the_window_waits_whole() {
        let mut queue = SendQueue::new(1000);
        queue.open(None);
        assert_eq!(drain(&mut queue, 2_500).len(), 2, "no segment is cut to what the window has left");
        assert_eq!(queue.acknowledge(1_001), 1_001, "the SYN and a thousand bytes");
    }

    #[test]
    fn with_nagle_what_does_not_fill_a_segment_waits_for_the_last_acknowledgment() {
        let mut queue = SendQueue::new(1000);
        queue.stay_open();
        queue.enable_nagle();
        queue.open(Some(0));
        queue.stay_open();
        queue.established();
        let at = Instant::ZERO;
        queue.write(400);
        assert_eq!(queue.next_len(u64::MAX), Some(400), "nothing is out");
        queue.take(400, at);
        queue.write(2_300);
        for _ in 0..2 {
            let len = queue.next_len(u64::MAX).expect("full segments do not wait");
            assert_eq!(len, 1000);
            queue.take(len, at);
        }
        queue.end();
        assert_eq!((queue.next_len(u64::MAX), queue.unsent_bytes(), queue.is_app_exhausted()), (None, 300, false));
        queue.acknowledge(FIRST_BYTE + 2_399);
        assert_eq!(queue.next_len(u64::MAX), None, "a byte is out");
        queue.acknowledge(FIRST_BYTE + 2_400);
        assert_eq!(queue.next_len(u64::MAX), Some(300));
        assert!(queue.take(300, at).fin);
    }

    #[test]
    fn the_end_of_a_burst_fills_the_window_unless_a_small_segment_is_out() {
        let mut queue = SendQueue::new(1000).buffered();
        queue.open(None);
        queue.established();
        queue.accept_bytes(9_000);
        queue.take(1000, Instant::ZERO);
        let edge = FIRST_BYTE + 1_200;
        assert_eq!((queue.next_len(edge), queue.next_len_in_burst(edge)), (None, Some(200)));
        queue.take(200, Instant::ZERO);
        assert_eq!((queue.next_len_in_burst(edge), queue.next_len_in_burst(edge + 50)), (None, None));
        queue.acknowledge(edge);
        assert_eq!(queue.next_len_in_burst(edge + 50), Some(50));
    }

    #[test]
    fn closing_forgets_what_was_not_sent_and_sends_a_lone_fin() {
        let mut queue = SendQueue::new(1000);
        queue.open(None);
        assert_eq!(drain(&mut queue, 1_500), [(1, 1000, false)]);
        queue.close();
        assert_eq!(drain(&mut queue, u64::MAX), [(1001, 0, true)]);
    }

    #[test]
    fn a_writer_ends_with_what_it_says_is_last() {
        let mut queue = SendQueue::new(1000);
        queue.open(Some(0));
        queue.stay_open();
        queue.write(700);
        assert_eq!(drain(&mut queue, u64::MAX), [(1, 700, false)]);
        queue.end();
        queue.write(300);
        assert_eq!(drain(&mut queue, u64::MAX), [(701, 300, true)]);
    }
}
