//! The socket's send buffer: data that the application has written ahead, and its division into skbs.
//!
//! Source: Linux 6.1 `tcp_sendmsg_locked`, `tcp_push`, `forced_push`, `tcp_xmit_size_goal`, `tcp_sndbuf_expand`,
//! `tcp_check_space`, `sk_stream_write_space`. Data is held in skbs of up to 64 kB; each burst becomes an skb of its
//! own until it is acknowledged. The limit applies to the memory of all skbs. The buffer grows with the congestion
//! window, so it holds no flow back for long.
//!
//! `Differs:` unless set, the maximum size (`tcp_wmem`) is out of reach, as for the receiver's window. An application
//! that stops discards unsent data, as one that resets its connection does. A retransmission splits no skb; the share
//! of bursts that SACKs join (`tcp_shift_skb_data`) is taken to be that of SACKed segments. At the end of a write a
//! segment that is not full waits for the next write while anything is outstanding; Linux waits only while another such
//! segment is outstanding or packets wait below (Minshall, autocorking).

use crate::FIRST_BYTE;
use crate::queue::SendQueue;
use crate::stack::Stack;
use sojourn_aqm::deque::Deque;

/// The send buffer.
#[derive(Clone, Debug)]
pub(crate) struct SendBuffer {
    /// Unsent skbs: from the one that is being sent to the one that is being filled.
    unsent: Deque<Skb>,
    /// Ends of bursts that are not fully acknowledged.
    unacked_ends: Deque<u64>,
    /// Bursts that SACKs have joined to others: their bytes count, but not their descriptors.
    joined: u64,
    /// Limit of the skbs' memory in bytes (`sk_sndbuf`).
    size_limit: u64,
    /// … and its maximum (the last value of `tcp_wmem`). Out of reach by default: Linux's 4 MB limit a flow to about
    /// 2.8 MB in flight, and hosts with long paths raise it.
    max_size: u64,
    /// End of the data pushed last.
    pushed: u64,
    /// Bytes left to write in the application's current call.
    call_left: u64,
    /// The application waits for room.
    app_blocked: bool,
    /// Room was found: the application writes at the end of the current event.
    wakeup_pending: bool,
}

/// A run of bytes whose end no burst crosses.
#[derive(Clone, Copy, Debug)]
struct Skb {
    end: u64,
    /// Its last segment carries PSH.
    pushed: bool,
}

/// The unsent skb at the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SendHead {
    /// Its unsent segments.
    pub left: u32,
    /// No other skb waits after it.
    pub is_last: bool,
    /// Its last segment carries PSH, also if it is sent alone.
    pub pushed: bool,
}

/// Outcome of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteResult {
    /// All unsent data is to be sent now.
    Pushed,
    /// The skb at the head is full: one burst is to be sent.
    HeadFull,
    /// Another skb is full.
    SkbFull,
    /// There was nothing to write, or no room.
    Nothing,
}

impl SendBuffer {
    /// An empty buffer of initial size, if `stack` has one.
    pub fn for_stack(stack: &Stack) -> Option<Box<Self>> {
        let empty = || Self {
            unsent: Deque::new(),
            unacked_ends: Deque::new(),
            joined: 0,
            size_limit: FIRST_SIZE,
            max_size: u64::MAX,
            pushed: FIRST_BYTE,
            call_left: CALL,
            app_blocked: false,
            wakeup_pending: false,
        };
        stack.buffers_sends.then(|| Box::new(empty()))
    }

    /// Limits the size to `max` bytes.
    pub fn set_max_size(&mut self, max: u64) {
        self.max_size = max;
    }

    /// Grows the buffer to two or three `windows` of `cwnd` segments of `mss` bytes, however they are divided. Called
    /// when the connection is established, and when the application found no room while the congestion window had some.
    pub fn expand(&mut self, windows: u64, cwnd: u32, reordering: u32, mss: u32) {
        let segments = u64::from(cwnd.max(MIN_SEGMENTS).max(reordering + 1));
        let wanted = windows * segments * segment_memory(u64::from(mss) + OPTIONS);
        if self.size_limit < wanted {
            self.size_limit = wanted.min(self.max_size);
        }
    }

    /// Everything before `una` is acknowledged, and `sacked` of the `packets` outstanding are SACKed. SACKs join
    /// bursts: without that, a hole that lasts a few round trips would fill the buffer with descriptors and stop the
    /// flow.
    pub fn on_acknowledged(&mut self, una: u64, sacked: u32, packets: u32) {
        while self.unacked_ends.front().is_some_and(|&end| end <= una) {
            self.unacked_ends.pop_front();
        }
        self.joined = if sacked == 0 {
            0
        } else {
            self.unacked_ends.len() as u64 * u64::from(sacked) / u64::from(packets.max(1))
        };
    }

    /// Everything before `nxt` has been sent, the last part of it as one burst.
    pub fn on_sent(&mut self, nxt: u64) {
        self.unacked_ends.push_back(nxt);
        while self.unsent.front().is_some_and(|piece| piece.end <= nxt) {
            self.unsent.pop_front();
        }
    }

    /// The application stops: unsent data is discarded.
    pub fn close(&mut self) {
        self.unsent.remove_front(self.unsent.len());
        (self.app_blocked, self.wakeup_pending) = (false, false);
    }

    /// Whether the application waits for room.
    pub fn is_full(&self) -> bool {
        self.app_blocked
    }

    /// Lets a waiting application write again if a third of the buffer is free.
    pub fn check_space(&mut self, queue: &SendQueue) {
        let taken = self.memory_used(queue);
        if taken + taken / 2 <= self.size_limit {
            (self.app_blocked, self.wakeup_pending) = (false, true);
        }
    }

    /// Whether a waiting application is to write now.
    pub fn take_wakeup(&mut self) -> bool {
        std::mem::take(&mut self.wakeup_pending)
    }

    /// Whether the next write begins a call of the application.
    pub fn is_call_start(&self) -> bool {
        self.call_left == CALL
    }

    /// The application writes up to the end of an skb, of its call, or of its data; `window` is the receiver's. A call
    /// that finds no room ends. The application calls again until a call has written nothing; the last skb has room
    /// again if a part of it was sent.
    pub fn write(&mut self, queue: &mut SendQueue, mss: u32, window: u64) -> WriteResult {
        let (unwritten, begun) = (queue.unwritten(), self.call_left < CALL);
        if unwritten == 0 {
            return WriteResult::Nothing;
        }
        let start = self.unsent.get(self.unsent.len().wrapping_sub(2)).map_or(queue.nxt(), |piece| piece.end);
        let goal = full_skb_bytes(mss, window);
        let mut room = self.unsent.back().map_or(0, |tail| goal.saturating_sub(tail.end - start));
        if room == 0 {
            if self.memory_used(queue) >= self.size_limit {
                (self.app_blocked, self.call_left) = (true, CALL);
                return if begun { self.push(queue.written(), WriteResult::Pushed) } else { WriteResult::Nothing };
            }
            self.unsent.push_back(Skb { end: queue.written(), pushed: false });
            room = goal;
        }
        let bytes = room.min(unwritten).min(self.call_left);
        queue.accept_bytes(bytes);
        self.call_left -= bytes;
        let written = queue.written();
        let Some(tail) = self.unsent.back_mut() else { return WriteResult::Nothing };
        (tail.end, tail.pushed) = (written, tail.pushed && begun);
        if self.call_left == 0 || bytes == unwritten {
            self.call_left = CALL;
            return self.push(written, WriteResult::Pushed);
        }
        match self.unsent.len() {
            _ if written > self.pushed + window / 2 => self.push(written, WriteResult::Pushed),
            1 => WriteResult::HeadFull,
            _ => WriteResult::SkbFull,
        }
    }

    /// End of the skb at the head, which no segment crosses.
    pub fn front_end(&self) -> u64 {
        self.unsent.front().map_or(u64::MAX, |piece| piece.end)
    }

    /// Number of bursts outstanding.
    pub fn bursts_out(&self) -> usize {
        self.unacked_ends.len()
    }

    /// The skb at the head, with segments of `mss` bytes.
    pub fn front(&self, queue: &SendQueue, mss: u32) -> Option<SendHead> {
        let piece = self.unsent.front()?;
        let left = (piece.end - queue.nxt()).div_ceil(u64::from(mss)) as u32;
        Some(SendHead { left, is_last: self.unsent.len() == 1, pushed: piece.pushed })
    }

    /// Pushes the last skb.
    fn push(&mut self, written: u64, wrote: WriteResult) -> WriteResult {
        if let Some(tail) = self.unsent.back_mut() {
            tail.pushed = true;
        }
        self.pushed = written;
        wrote
    }

    /// Memory of the skbs (`sk_wmem_queued`).
    fn memory_used(&self, queue: &SendQueue) -> u64 {
        queue.written() - queue.una() + ((self.unsent.len() + self.unacked_ends.len()) as u64 - self.joined) * OVERHEAD
    }
}

/// Bytes of a full skb: 64 kB, or half of the receiver's window, in whole segments. The window is that of when the skb
/// is begun: the application writes ahead, so skbs are sized by an older window than the one that sends them.
fn full_skb_bytes(mss: u32, window: u64) -> u64 {
    let mss = u64::from(mss);
    ((window / 2).min(BUFFER) / mss).max(1) * mss
}

/// Memory of a segment of `bytes` in a block of its own, with its headers and its descriptor.
pub(crate) fn segment_memory(bytes: u64) -> u64 {
    (bytes + HEADROOM).next_power_of_two() + DESCRIPTOR
}

/// Memory of a packet of `bytes` that was not part of a burst and that its device has linearised (`pskb_expand_head`).
pub(crate) fn lone_segment_memory(bytes: u64) -> u64 {
    (bytes + HEADROOM + SPARE).next_power_of_two() + DESCRIPTOR
}

/// Linux `tcp_wmem`: the initial size of a buffer.
const FIRST_SIZE: u64 = 16_384;

/// Linux `TCP_INIT_CWND`.
const MIN_SEGMENTS: u32 = 10;

/// Difference between the negotiated MSS and the payload with timestamps.
const OPTIONS: u64 = 12;

/// Bytes of an skb and of a burst: 64 KiB less the headers (`sk_gso_max_size`).
pub(crate) const BUFFER: u64 = 65_536 - MAX_HEADER - 1;
/// `MAX_TCP_HEADER` of a kernel without wireless LANs and tunnels, as in the kernel engine's guest. Distributions have
/// 320, with which an skb takes 1,280 bytes.
pub(crate) const MAX_HEADER: u64 = 192;

/// `MAX_HEADER` and `struct skb_shared_info`.
const HEADROOM: u64 = MAX_HEADER + 320;

/// Linux `__pskb_pull_tail`: tail room that is added for more data.
const SPARE: u64 = 128;

/// `struct sk_buff`, rounded up to whole cache lines.
const DESCRIPTOR: u64 = 256;

/// Memory of an skb beside its bytes: its descriptor, and headers in a block of 512 bytes
/// (`SKB_TRUESIZE(MAX_TCP_HEADER)`).
pub(crate) const OVERHEAD: u64 = HEADROOM + DESCRIPTOR;

/// Bytes that the application writes per call.
const CALL: u64 = 65_536;

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_aqm::Instant;

    const MSS: u32 = 1_448;
    const WINDOW: u64 = 64_088;

    fn parts(bytes: Option<u64>) -> (SendBuffer, SendQueue) {
        let mut queue = SendQueue::new(MSS).buffered();
        queue.open(bytes);
        queue.established();
        let mut buffer = *SendBuffer::for_stack(Stack::find("linux-6.1").expect("a stack")).expect("it has one");
        buffer.expand(2, 10, 3, MSS);
        (buffer, queue)
    }

    fn send(buffer: &mut SendBuffer, queue: &mut SendQueue, segments: u32) {
        for _ in 0..segments {
            let len = queue.next_len(u64::MAX).expect("there is something");
            queue.take(len, Instant::ZERO);
        }
        buffer.on_sent(queue.nxt());
    }

    #[test]
    fn an_application_writes_until_the_pieces_fill_the_buffer() {
        // 2 x 10 x (2048 + 256) bytes hold an skb of 22 segments and a second one that exceeds the limit.
        let (mut buffer, mut queue) = parts(None);
        assert_eq!(buffer.size_limit, 46_080);
        assert_eq!(
            [WINDOW, WINDOW, WINDOW].map(|w| buffer.write(&mut queue, MSS, w)),
            [WriteResult::HeadFull, WriteResult::Pushed, WriteResult::Pushed]
        );
        assert_eq!((queue.written() - FIRST_BYTE, buffer.is_full()), (44 * 1_448, true));
        assert_eq!(buffer.front(&queue, MSS), Some(SendHead { left: 22, is_last: false, pushed: false }));
        assert!(buffer.is_call_start());
        assert_eq!(buffer.write(&mut queue, MSS, WINDOW), WriteResult::Nothing);
        // Ten segments in bursts of two are outstanding: five more skbs. An acknowledgment frees its bytes and its
        // skbs.
        (0..5).for_each(|_| send(&mut buffer, &mut queue, 2));
        assert_eq!(buffer.memory_used(&queue), 44 * 1_448 + 7 * 768);
        assert_eq!(buffer.front(&queue, MSS), Some(SendHead { left: 12, is_last: false, pushed: false }));
        let wakes = |buffer: &mut SendBuffer, queue: &SendQueue| {
            buffer.check_space(queue);
            buffer.take_wakeup()
        };
        assert!(!wakes(&mut buffer, &queue));
        queue.acknowledge(FIRST_BYTE + 3 * 1_448);
        buffer.on_acknowledged(queue.una(), 0, 7);
        assert_eq!(buffer.memory_used(&queue), 41 * 1_448 + 6 * 768);
        buffer.on_acknowledged(queue.una(), 4, 7);
        assert_eq!(buffer.memory_used(&queue), 41 * 1_448 + 4 * 768, "SACKs have joined two of four bursts");
        buffer.on_acknowledged(queue.una(), 0, 7);
        assert!(!wakes(&mut buffer, &queue));
        buffer.expand(2, 45, 3, MSS);
        assert!(wakes(&mut buffer, &queue), "207,360 bytes are enough");
        assert!(!buffer.take_wakeup() && !buffer.is_full(), "it is woken once");
    }

    #[test]
    fn a_call_that_finds_no_room_is_followed_by_another_that_fills_the_last_piece_up() {
        let (mut buffer, mut queue) = parts(None);
        buffer.size_limit = 1;
        assert_eq!(buffer.write(&mut queue, MSS, WINDOW), WriteResult::HeadFull);
        send(&mut buffer, &mut queue, 2);
        // Two segments of the skb of 22 have left: as many more fit into it, and then nothing does.
        let mut calls = || (buffer.write(&mut queue, MSS, WINDOW), queue.written() - FIRST_BYTE);
        assert_eq!([calls(), calls()], [(WriteResult::Pushed, 24 * 1_448); 2]);
        assert!(buffer.unsent[0].pushed);
        send(&mut buffer, &mut queue, 8);
        assert_eq!(buffer.write(&mut queue, MSS, WINDOW), WriteResult::HeadFull, "a new call");
        assert_eq!((queue.written() - FIRST_BYTE, buffer.unsent[0].pushed), (32 * 1_448, false));
        assert_eq!(buffer.write(&mut queue, MSS, WINDOW), WriteResult::Pushed);
        assert_eq!(buffer.write(&mut queue, MSS, WINDOW), WriteResult::Nothing, "nothing has left since");
    }

    #[test]
    fn the_piece_that_is_sent_is_filled_up_again_if_it_is_the_last() {
        let (mut buffer, mut queue) = parts(None);
        assert_eq!(buffer.write(&mut queue, MSS, WINDOW), WriteResult::HeadFull);
        send(&mut buffer, &mut queue, 4);
        assert_eq!(
            buffer.write(&mut queue, MSS, WINDOW),
            WriteResult::Pushed,
            "26 segments are over half of the window"
        );
        assert_eq!(buffer.front(&queue, MSS), Some(SendHead { left: 22, is_last: true, pushed: true }));
        assert_eq!(queue.written(), FIRST_BYTE + 26 * 1_448);
    }

    #[test]
    fn the_last_of_a_call_and_of_the_data_is_pushed() {
        let (mut buffer, mut queue) = parts(Some(70_000));
        buffer.size_limit = 1 << 20;
        let wide = 1 << 20;
        assert_eq!(buffer.write(&mut queue, MSS, wide), WriteResult::HeadFull, "45 segments, and no push");
        assert_eq!(buffer.front(&queue, MSS).map(|front| front.pushed), Some(false));
        assert_eq!(buffer.write(&mut queue, MSS, wide), WriteResult::Pushed, "64 KiB are one call");
        assert!(buffer.unsent[1].pushed);
        assert_eq!((buffer.write(&mut queue, MSS, wide), queue.unwritten()), (WriteResult::Pushed, 0));
        assert_eq!(buffer.unsent.len(), 2);
        assert!(buffer.unsent[1].pushed && !buffer.is_full());
        assert_eq!(buffer.write(&mut queue, MSS, wide), WriteResult::Nothing);
    }

    #[test]
    fn no_buffer_before_linux_6_1() {
        let has = |name: &str| SendBuffer::for_stack(Stack::find(name).expect("a stack")).is_some();
        assert_eq!(["linux-2.6.29", "linux-3.13", "linux-6.1", "ns2"].map(has), [false, false, true, false]);
    }
}
