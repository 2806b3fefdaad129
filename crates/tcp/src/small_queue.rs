//! TCP small queues (TSQ): limits the bytes of a connection that wait in its host below TCP.
//!
//! Source: Linux 6.1 `tcp_small_queue_check`, `tcp_wfree`, `tcp_tsq_write`, `__dev_xmit_skb`, `tcp_gso_segment`. The
//! memory of packets that the device has not begun to send counts. New data waits while that exceeds two bursts and a
//! millisecond of the rate (at most 1 MiB without pacing), a retransmission while it exceeds twice as much, so that lost
//! segments go first. With at most one burst unacknowledged, another may always be sent. Sending resumes when enough has
//! left.
//!
//! A burst is cut into segments, each with its own memory, when its turn comes, and at once if no other one waits. A
//! device with GSO gets it whole.

use crate::send_buffer::{OVERHEAD, segment_memory};
use crate::stack::Stack;
use sojourn_aqm::deque::Deque;
use sojourn_aqm::{Duration, Instant};

/// Data of a connection below TCP. Access links send the same packets at the same times with or without this bound. The
/// sender's view differs: a packet is timed from when it is handed down, and a retransmission does not wait behind new
/// data.
#[derive(Clone, Debug)]
pub(crate) struct SmallQueue {
    bursts: Deque<Burst>,
    bytes: u64,
    /// A millisecond (2^-10 s) of the rate, in bytes.
    pub rate_limit_bytes: u64,
    /// When held segments are sent; `NEVER` if none are held.
    wakeup: Instant,
}

/// The part of a burst that the device has not begun to send.
#[derive(Clone, Copy, Debug)]
struct Burst {
    /// Start of the next segment's transmission, and transmission time per segment.
    next_start: Instant,
    segment_time: Duration,
    segments: u32,
    /// Memory of a segment in bytes, once the burst is cut.
    segment_memory: u64,
    /// Memory of the burst in bytes, until it is cut.
    uncut_memory: Option<u64>,
}

impl Burst {
    /// Memory in bytes.
    fn bytes(&self) -> u64 {
        self.uncut_memory.unwrap_or(u64::from(self.segments) * self.segment_memory)
    }

    /// The transmission of its next segment begins.
    fn begin(&mut self) {
        (self.uncut_memory, self.segments) = (None, self.segments - 1);
        self.next_start += self.segment_time;
    }
}

impl SmallQueue {
    /// An empty queue, if `stack` has TSQ.
    pub fn for_stack(stack: &Stack) -> Option<Box<Self>> {
        let empty = || Self { bursts: Deque::new(), bytes: 0, rate_limit_bytes: 0, wakeup: Instant::NEVER };
        stack.small_queues.then(|| Box::new(empty()))
    }

    /// A burst with `payload` bytes, which the host cuts into `segments`, was handed down; the device begins and ends
    /// its transmission at these instants.
    #[inline]
    pub fn on_sent(&mut self, now: Instant, (begins, ends): (Instant, Instant), segments: u32, payload: u64) {
        if ends > now {
            self.add(now, (begins.max(now), ends), segments, payload);
        }
    }

    #[inline(never)]
    fn add(&mut self, now: Instant, (next_start, ends): (Instant, Instant), segments: u32, payload: u64) {
        self.advance_to(now);
        let is_cut = segments > 1 && self.bursts.is_empty();
        let uncut_memory = (!is_cut).then(|| memory(payload));
        let segment_time = (ends - next_start) / i64::from(segments);
        let burst = Burst {
            next_start,
            segment_time,
            segments,
            segment_memory: segment_memory(payload / u64::from(segments)),
            uncut_memory,
        };
        self.bytes += burst.bytes();
        self.bursts.push_back(burst);
        self.advance_to(now);
    }

    /// Whether nothing waits at `now`.
    #[inline]
    pub fn is_empty(&mut self, now: Instant) -> bool {
        self.advance_to(now);
        self.bursts.is_empty()
    }

    /// A burst of `payload` bytes may be sent only if less than this is queued.
    pub fn limit(&self, payload: u64, shift: u32) -> u64 {
        // Linux counts one byte for the socket itself, and compares with "greater than".
        (2 * memory(payload)).max(self.rate_limit_bytes) << shift
    }

    /// Whether a burst of `payload` bytes has to wait; if so, until [`Self::wakeup`]. `shift` is 0 for new data, 1 for
    /// retransmissions.
    pub fn must_wait(&mut self, now: Instant, payload: u64, shift: u32) -> bool {
        self.advance_to(now);
        let limit = self.limit(payload, shift);
        if self.bytes < limit {
            return false;
        }
        let mut others = self.bytes;
        for mut burst in self.bursts.iter().copied() {
            others -= burst.bytes();
            while burst.segments > 0 {
                self.wakeup = burst.next_start;
                burst.begin();
                if others + burst.bytes() < limit {
                    return true;
                }
            }
        }
        true
    }

    /// When held segments are sent; `NEVER` if none are held.
    #[inline]
    pub fn wakeup(&self) -> Instant {
        self.wakeup
    }

    /// Ends the wait if it is over. Returns whether one ended.
    #[inline]
    pub fn on_wakeup(&mut self, now: Instant) -> bool {
        let due = self.wakeup <= now;
        if due {
            self.wakeup = Instant::NEVER;
        }
        due
    }

    fn advance_to(&mut self, now: Instant) {
        while let Some(burst) = self.bursts.get_mut(0).filter(|burst| burst.next_start <= now) {
            self.bytes -= burst.bytes();
            burst.begin();
            self.bytes += burst.bytes();
            if burst.segments == 0 {
                self.bursts.pop_front();
            }
        }
    }
}

/// Linux `tcp_limit_output_bytes`, for connections without pacing.
pub(crate) const LIMIT_OUTPUT_BYTES: u64 = 1 << 20;

/// Memory in bytes of `payload` bytes below TCP in `pieces` skbs; a super-packet is one, even before it is cut.
pub fn memory_below(payload: u64, pieces: u32) -> u64 {
    payload + u64::from(pieces) * OVERHEAD
}

/// Memory of a burst (`truesize`).
fn memory(payload: u64) -> u64 {
    payload + OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    fn queue() -> SmallQueue {
        *SmallQueue::for_stack(Stack::find("linux-6.1").expect("a stack")).expect("it has one")
    }

    #[test]
    fn two_bursts_or_a_millisecond_of_the_rate_wait_at_the_most() {
        // Super-packets of a device with GSO: 2,896 bytes and 768 more.
        let mut queue = queue();
        queue.on_sent(us(0), (us(50), us(100)), 1, 2_896);
        assert!(!queue.must_wait(us(0), 2_896, 0));
        queue.on_sent(us(0), (us(100), us(200)), 1, 2_896);
        assert!(queue.must_wait(us(0), 2_896, 0), "two wait, and a third is one too many");
        assert_eq!(queue.wakeup(), us(50), "when the first begins to leave");
        assert!(!queue.must_wait(us(0), 2_896, 1), "twice as much before a retransmission");
        queue.rate_limit_bytes = 7_329;
        assert!(!queue.must_wait(us(0), 2_896, 0), "the rate allows for it");
        queue.rate_limit_bytes = 0;
        assert!(!queue.on_wakeup(us(49)) && queue.on_wakeup(us(50)) && !queue.on_wakeup(us(50)));
        assert!(!queue.must_wait(us(50), 2_896, 0));
        queue.on_sent(us(100), (us(40), us(100)), 1, 2_896);
        assert!(!queue.is_empty(us(99)) && queue.is_empty(us(100)), "what leaves at once does not wait");
    }

    #[test]
    fn a_burst_is_cut_when_its_turn_comes_and_at_once_where_no_other_waits() {
        // Linux 6.1 after an acknowledgment at 1 Gbit/s: `sk_wmem_alloc` less the byte of the socket itself.
        let ns = Instant::from_nanos;
        let mut queue = queue();
        let mut bytes = vec![];
        queue.on_sent(ns(0), (ns(416), ns(24_416)), 2, 2_896);
        bytes.push(queue.bytes);
        queue.on_sent(ns(0), (ns(24_416), ns(48_416)), 2, 2_896);
        bytes.push(queue.bytes);
        assert_eq!((queue.must_wait(ns(0), 2_896, 0), queue.wakeup()), (true, ns(416)));
        queue.advance_to(ns(416));
        bytes.push(queue.bytes);
        queue.on_sent(ns(416), (ns(48_416), ns(72_416)), 2, 2_896);
        assert_eq!((queue.must_wait(ns(416), 2_896, 0), queue.wakeup()), (true, ns(24_416)));
        queue.advance_to(ns(12_416));
        bytes.push(queue.bytes);
        queue.advance_to(ns(24_416));
        bytes.push(queue.bytes);
        assert_eq!(bytes, [4_608, 8_272, 5_968, 7_328, 5_968]);
    }
}
