//! TCP with real segments: sequence space in bytes, a retransmission queue, SACK, acknowledgments that are packets.
//!
//! The endpoints do no I/O and own no clock. A host tells them what happens and when, takes the segments that they send
//! through a [`Wire`], and calls `on_timer` at their `deadline`. Both ends of a connection:
//!
//! | | |
//! |---|---|
//! | [`Sender`] | sends data, takes acknowledgments: retransmission, loss recovery, the congestion window |
//! | [`Receiver`] | takes data, sends acknowledgments: reassembly, SACK, delayed and compressed acknowledgments |
//!
//! What they do is chosen by name:
//!
//! | | |
//! |---|---|
//! | [`stack`] | which mechanisms a kernel (or ns-2) has, one file each |
//! | [`cc`] | congestion controls, one file each |
//!
//! # Map
//!
//! The sender arranges mechanisms. Each is a type in a file of its own that owns its state and its rules: it is told what
//! happened and answers what to do, and it alone reads the settings of the stack that are named after it.
//!
//! | What | Where |
//! |---|---|
//! | the connection's life, the order in which an acknowledgment is dealt with | `sender`, `handshake` |
//! | what an acknowledgment tells | `ack` |
//! | sending: the send sequence, bursts, the receiver's window, headers, ECN | `transmission`, `queue`, `send_buffer`, `segmentation`, `small_queue`, `offered`, `output`, `ecn` |
//! | the congestion control and its window, and when that may grow | `cc`, `control`, `validation` |
//! | what a control may ask for: rate samples, pacing, to set the window itself | `flight`, `rate_sample`, `min_filter`, `pacing` |
//! | what is out and what is known of it | `scoreboard`, `segment` |
//! | loss recovery: three state machines, what they share, what is sent again | `recovery` |
//! | … how losses are told | `reordering`, `rack`, `early_retransmit`, `tlp` |
//! | … what becomes of the window, and how that is undone | `reduction`, `undo`, `frto` |
//! | round-trip times, the timer and what its expiry sends | `round_trip`, `rtt`, `timer`, `expiry` |
//! | the receiver: reassembly, delay, marks | `receiver`, `compressed_ack` |
//! | segments as one super-packet | `offload` |
//! | what queue disciplines see of a header | `view` |
//! | what a host sees that watches a sender | `watch` |
//! | QUIC, with endpoints of its own over the same controls, pacing and rate samples | [`quic`] |
//!
//! Sequence numbers are absolute and do not wrap, windows are counted in segments as in Linux, and the source of each
//! rule is named at the head of its file.
//!
//! # Example
//!
//! Forty segments over a pipe of 20 ms that loses each packet with probability 5 %:
//!
//! ```
//! use sojourn_aqm::{Duration, Ecn, Instant, Rng};
//! use sojourn_tcp::cc::AnyCc;
//! use sojourn_tcp::stack::Stack;
//! use sojourn_tcp::{Header, Receiver, ReceiverConfig, Sender, SenderConfig};
//!
//! let stack = Stack::find("linux-6.1").expect("a stack of that name");
//! let cc = AnyCc::new("cubic").expect("a congestion control of that name");
//! let (mss, sack, ecn, delayed_ack, receive_window) = (1448, true, false, true, None);
//! let mut sender = Sender::new(SenderConfig { stack, cc, mss, sack, ecn, initial_window: None, receive_window });
//! let mut receiver = Receiver::new(ReceiverConfig { stack, mss, sack, delayed_ack, ecn, receive_window });
//!
//! // What is under way, in the order of arrival: when, whether to the receiver, and the segment.
//! let mut pipe: Vec<(Instant, bool, Header)> = Vec::new();
//! let mut rng = Rng::from_state(7);
//! let mut now = Instant::ZERO;
//! let mut lossy = |pipe: &mut Vec<_>, now: Instant, to_receiver: bool, header: &Header| {
//!     if rng.uniform() >= 0.05 {
//!         pipe.push((now + Duration::from_millis(20), to_receiver, *header));
//!     }
//! };
//! sender.open(now, Some(40 * 1448), &mut |header: &Header, _: Ecn| lossy(&mut pipe, now, true, header));
//! while !sender.is_finished() {
//!     // The next event: an arrival or a timer, of whichever end.
//!     let arrival = pipe.first().map_or(Instant::NEVER, |&(at, ..)| at);
//!     now = arrival.min(sender.deadline()).min(receiver.deadline());
//!     let arrived = (arrival == now).then(|| pipe.remove(0));
//!     let from_sender = &mut |header: &Header, _: Ecn| lossy(&mut pipe, now, true, header);
//!     match arrived {
//!         Some((_, false, header)) => sender.on_segment(now, &header, from_sender),
//!         _ => sender.on_timer(now, from_sender),
//!     }
//!     let from_receiver = &mut |header: &Header, _: Ecn| lossy(&mut pipe, now, false, header);
//!     match arrived {
//!         Some((_, true, header)) => receiver.on_segment(now, &header, Ecn::NotEct, from_receiver),
//!         _ => receiver.on_timer(now, from_receiver),
//!     }
//! }
//! assert_eq!(receiver.delivered(), 40 * 1448);
//! assert!(sender.stats().retransmissions > 0, "the pipe loses packets");
//! ```

#[macro_use]
mod cloned;

mod ack;
pub mod cc;
mod compressed_ack;
mod config;
mod control;
mod early_retransmit;
mod ecn;
mod expiry;
mod flight;
mod frto;
mod handshake;
mod min_filter;
mod offered;
mod offload;
mod output;
mod pacing;
mod queue;
pub mod quic;
mod rack;
mod rate_sample;
mod receive_buffer;
mod receiver;
mod recovery;
mod reduction;
mod reordering;
mod round_trip;
mod rtt;
mod sack;
mod scoreboard;
mod segment;
mod segmentation;
mod send_buffer;
mod sender;
mod small_queue;
pub mod stack;
mod timer;
mod tlp;
mod transmission;
mod undo;
mod validation;
mod view;
mod watch;

pub use config::{SenderConfig, SenderStats, State};
pub use rate_sample::RateSample;
pub use receiver::{Marked, Receiver, ReceiverConfig};
pub use sack::{Block, Sack};
pub use sender::Sender;
pub use small_queue::memory_below;
pub use timer::Purpose;
pub use watch::{Event, Loss, Standing};

use sack::SACK_HEADER;
use sojourn_aqm::{Duration, Ecn, Instant};

/// Takes the segments that an endpoint sends.
pub trait Wire {
    /// Sends a packet of `len` IP bytes now; `ecn` is its codepoint.
    fn transmit(&mut self, header: &Header, len: u32, ecn: Ecn);

    /// [`Self::transmit`] of a new segment with data, where no more than that is to be done: most segments are sent so, and a
    /// host may compile it into its caller.
    #[inline(always)]
    fn send_data(&mut self, header: &Header, len: u32, ecn: Ecn) {
        self.transmit(header, len, ecn);
    }

    /// The same of an acknowledgment.
    #[inline(always)]
    fn send_ack(&mut self, header: &Header, len: u32, ecn: Ecn) {
        self.transmit(header, len, ecn);
    }

    /// The segments that follow, up to [`Wire::end_burst`], are one super-packet: the sender has segmentation offload.
    #[inline]
    fn begin_burst(&mut self) {}

    /// The last segment of a super-packet has been sent.
    #[inline]
    fn end_burst(&mut self) {}

    /// Whether the host takes new data now (TCP small queues); else it tells when it does again.
    #[inline]
    fn has_room(&self) -> bool {
        true
    }

    /// When the device of the sender's host will have sent all that was handed to it; in the past where nothing waits there.
    #[inline]
    fn leaves(&self) -> Instant {
        Instant::ZERO
    }

    /// Memory in bytes of what this sender has handed down and its host's device has not begun to send, where the device is
    /// shared with others, so that nobody knows when it will have ([`memory_below`]); none where [`Wire::leaves`] tells.
    #[inline]
    fn waits_below(&self) -> Option<u64> {
        None
    }

    /// That is too much: the sender goes on with [`Sender::on_departure`] when some of it has begun to leave or was dropped.
    fn hold(&mut self) {}

    /// Whether that device lets each packet go at its departure time (Linux's `fq`): then the sender says it and does not wait
    /// for it.
    #[inline]
    fn paces(&self) -> bool {
        false
    }

    /// What is sent next, a segment or a burst, is to leave the device at `at`.
    fn departs(&mut self, at: Instant) {
        let _ = at;
    }

    /// Whether the host watches what the sender does, from its first event on: then it is told.
    #[inline]
    fn watches(&self) -> bool {
        false
    }

    /// Tells a host that watches the sender what this does; `event` is asked for where somebody wants to know.
    #[inline]
    fn tell<'a>(&mut self, event: impl FnOnce() -> Event<'a>) {
        let _ = event;
    }
}

impl<F: FnMut(&Header, Ecn)> Wire for F {
    fn transmit(&mut self, header: &Header, _: u32, ecn: Ecn) {
        self(header, ecn);
    }
}

/// A segment's header. Sequence numbers are absolute: they start at 0 with the SYN and do not wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// First sequence number.
    pub seq: u64,
    /// Acknowledgment: the next byte expected.
    pub ack: u64,
    /// Payload bytes.
    pub len: u16,
    /// SYN, FIN, ACK, ECE, CWR, PSH, AE.
    pub flags: Flags,
    /// Timestamp option: the sender's clock in ticks.
    pub ts_val: u32,
    /// Timestamp option: the clock value echoed.
    pub ts_ecr: u32,
    /// The receive window of an acknowledgment, in units of [`Header::WINDOW_UNIT`] bytes; 0 where the host tells none.
    pub window: u32,
    /// Selective acknowledgments.
    pub sack: Sack,
}

impl Header {
    /// What the window counts, in bytes: a window scale of 11, which Linux takes where a buffer may grow to 64 MB.
    pub const WINDOW_UNIT: u64 = 1 << 11;

    /// The sequence number after this segment: SYN and FIN take one each.
    pub fn end_seq(&self) -> u64 {
        self.seq + self.len as u64 + self.flags.contains(Flags::SYN) as u64 + self.flags.contains(Flags::FIN) as u64
    }

    /// IP bytes of the segment with timestamps: IPv4 and TCP headers, options padded to four bytes, payload.
    pub fn ip_len(&self) -> u32 {
        let options = match () {
            // MSS, SACK permitted, timestamps, window scale.
            () if self.flags.contains(Flags::SYN) => 20,
            () if self.sack.blocks().is_empty() => TIMESTAMPS,
            () => TIMESTAMPS + SACK_HEADER + 8 * self.sack.blocks().len() as u32,
        };
        IP_HEADER + TCP_HEADER + options + self.len as u32
    }

    /// IP bytes of a data segment without its payload, as `stack` sends it.
    fn ip_overhead_of(stack: &stack::Stack) -> u32 {
        Self { flags: Flags::ACK, ..Self::default() }.ip_len_of(stack)
    }

    /// IP bytes of the segment as `stack` sends it.
    #[inline]
    fn ip_len_of(&self, stack: &stack::Stack) -> u32 {
        let without = if stack.timestamps { 0 } else { TIMESTAMPS };
        self.ip_len() - without - if stack.pads_options { 0 } else { self.option_padding() }
    }

    /// What the options take beside timestamps and SACK blocks.
    fn option_padding(&self) -> u32 {
        match () {
            () if self.flags.contains(Flags::SYN) => 8,
            () if self.sack.blocks().is_empty() => 0,
            () => SACK_HEADER,
        }
    }
}

/// Header flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// Opens a connection.
    pub const SYN: Self = Self(1);
    /// Ends the sender's data.
    pub const FIN: Self = Self(2);
    /// The acknowledgment field counts.
    pub const ACK: Self = Self(4);
    /// ECN echo.
    pub const ECE: Self = Self(8);
    /// Congestion window reduced.
    pub const CWR: Self = Self(16);
    /// The end of a burst.
    pub const PSH: Self = Self(32);
    /// Accurate ECN; with CWR and ECE the bits of a counter.
    pub const AE: Self = Self(128);
    /// What the counter of accurate ECN starts at (RFC 9768 §3.2.1).
    pub const ACE_START: u64 = 5;
    /// No bit of the header: the segment belongs to the half of a connection in which the server sends. Each half has
    /// sequence numbers of its own in both directions, where real segments share them.
    pub const ANSWER: Self = Self(64);
    /// No bit of the header: the segment was cut out of a burst in its host, and lies in as little memory as it needs.
    pub const CUT: Self = Self(256);

    /// Both sets of flags.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// `other` if `condition`, added.
    pub const fn with_if(self, other: Self, condition: bool) -> Self {
        if condition { self.with(other) } else { self }
    }

    /// AE, CWR and ECE as a number of three bits, the most significant first (RFC 9768 §3.2).
    pub const fn ace(self) -> u8 {
        (self.contains(Self::AE) as u8) << 2 | (self.contains(Self::CWR) as u8) << 1 | self.contains(Self::ECE) as u8
    }

    /// The three lowest bits of `count` as AE, CWR and ECE, which were not set.
    pub const fn with_ace(self, count: u64) -> Self {
        let high = self.with_if(Self::AE, count & 4 != 0).with_if(Self::CWR, count & 2 != 0);
        high.with_if(Self::ECE, count & 1 != 0)
    }

    /// The flags as bits: SYN 1, FIN 2, ACK 4, ECE 8, CWR 16, PSH 32, AE 128. Every segment has SYN or ACK.
    pub const fn bits(self) -> u8 {
        self.0 as u8
    }

    /// Whether any of `other` is set.
    pub const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The flags but for those of `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A time on a host's coarse clock, or a span. Timestamps on the wire are its low 32 bits.
pub type Ticks = u64;

/// An instant, and the tick of the host's clock in which it lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub at: Instant,
    pub tick: Ticks,
}

impl Now {
    /// The tick of this host whose timestamp the other side echoes.
    #[inline]
    pub fn echoed(self, ts_ecr: u32) -> Ticks {
        wide(self.tick, ts_ecr)
    }

    /// Ticks since the one that a timestamp echoes; none since one to come.
    #[inline(always)]
    pub fn since_echoed(self, ts_ecr: u32) -> Ticks {
        // As `tick - echoed(ts_ecr)`, with no look at what lies on the way.
        let since = -i64::from(ts_ecr.wrapping_sub(self.tick as u32) as i32);
        (since.max(0) as u64).min(self.tick)
    }
}

/// The tick nearest to `now` that has these low 32 bits.
#[inline]
fn wide(now: Ticks, low: u32) -> Ticks {
    now.saturating_add_signed(low.wrapping_sub(now as u32) as i32 as i64)
}

/// Whether a timestamp is newer than another one (RFC 7323 §5.2: by half of their range).
#[inline]
fn is_newer(stamp: u32, than: u32) -> bool {
    stamp.wrapping_sub(than) as i32 > 0
}

/// How long every host had been up when the run began. So had the guest of the kernel engine, and the queue managers of links:
/// clocks of microseconds turn over when theirs do.
pub const UPTIME: Duration = Duration::from_nanos(10_000_000_100);

/// Microseconds on a host's clock (`tcp_mstamp`), on which the run begins 100 ns behind a whole one.
#[inline]
pub(crate) fn micros_at(at: Instant) -> u64 {
    (at + UPTIME).as_nanos() / 1_000
}

/// A host's coarse clock: jiffies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    tick: Duration,
}

impl Clock {
    /// A clock that counts spans of `tick`.
    pub const fn new(tick: Duration) -> Self {
        Self { tick }
    }

    /// Ticks at `now`.
    #[inline]
    pub fn ticks(self, now: Instant) -> Ticks {
        now.as_nanos() / self.tick.as_nanos() as u64
    }

    /// The tick at `at`, with it.
    #[inline]
    pub(crate) fn now(self, at: Instant) -> Now {
        Now { at, tick: self.ticks(at) }
    }

    /// The instant of a tick.
    #[inline]
    pub fn instant(self, ticks: Ticks) -> Instant {
        Instant::from_nanos(ticks * self.tick.as_nanos() as u64)
    }

    /// The span of a number of ticks.
    #[inline]
    pub fn duration(self, ticks: Ticks) -> Duration {
        self.tick * ticks as i64
    }

    /// Ticks in a span, begun ones included.
    pub(crate) fn begun(self, span: Duration) -> Ticks {
        (span.as_nanos() as u64).div_ceil(self.tick.as_nanos() as u64)
    }

    /// Ticks in a span, at least one.
    pub fn span(self, span: Duration) -> Ticks {
        ((span.as_nanos() / self.tick.as_nanos()) as u64).max(1)
    }
}

const IP_HEADER: u32 = 20;
const TCP_HEADER: u32 = 20;
/// The timestamp option, padded.
const TIMESTAMPS: u32 = 12;

/// Sequence number of the first data byte: the SYN takes 0.
const FIRST_BYTE: u64 = 1;
