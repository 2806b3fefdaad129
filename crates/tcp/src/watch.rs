//! What a sender does, told to a host that watches it.
//!
//! An event of a sender is one call of its host: an acknowledgment that arrives, a timer, an application that writes or
//! room below. In each event the host is told, by [`Wire::tell`], what came, what went out, which losses were marked, and
//! last how the sender stands.

use crate::config::State;
use crate::control::Control;
use crate::quic::AckFrame;
use crate::recovery::Recovery;
use crate::timer::Purpose;
use crate::transmission::Transmission;
use crate::{Block, Header, Wire};
use sojourn_aqm::{Duration, Ecn, Instant, Rate};

/// Something that a sender does, or that happens to it.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A segment of the receiver has come, of so many IP bytes, and nothing was done about it yet.
    #[allow(missing_docs)]
    Received { header: &'a Header, len: u32 },
    /// The timer has expired, which was set for this purpose.
    Expired(Purpose),
    /// A segment goes out, `again` if it has been sent before: its header, its IP bytes and its codepoint.
    #[allow(missing_docs)]
    Sent { header: &'a Header, len: u32, ecn: Ecn, again: bool },
    /// An ACK frame of QUIC has come, in packet `number` of the other side, of so many IP bytes.
    #[allow(missing_docs)]
    Acknowledged { number: u64, frame: &'a AckFrame, len: u32 },
    /// What the sender believes lost has changed.
    Judged(Loss),
    /// The event is over.
    Stands(&'a Standing),
}

/// What a sender believes of segments that it has sent; each is a range of sequence numbers, the end excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The segment is lost as it was sent first.
    First(Block),
    /// Its last retransmission is lost too.
    Again(Block),
    /// No segment is lost, after all; nothing below this number was meant.
    None(u64),
}

/// How a sender stands after an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Where congestion avoidance stands.
    pub state: State,
    /// The oldest sequence number that is not acknowledged (SND.UNA).
    pub una: u64,
    /// The next sequence number to be sent (SND.NXT).
    pub nxt: u64,
    /// The sequence number behind the last one that the receiver takes.
    pub right_edge: u64,
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow-start threshold in segments; [`Window::INFINITE_SSTHRESH`](crate::cc::Window::INFINITE_SSTHRESH) before it was
    /// set.
    pub ssthresh: u32,
    /// Segments in the network, by the sender's belief.
    pub in_flight: u32,
    /// The pacing rate, in bits of payload per second; none where nothing is held.
    pub pacing: Option<Rate>,
    /// Smoothed round-trip time in seconds; zero before the first sample.
    pub srtt_s: f64,
    /// The least round-trip time that the control, or else RACK, keeps.
    pub min_rtt: Option<Duration>,
    /// What the timer is set for, and when it expires.
    pub timer: Option<(Purpose, Instant)>,
}

impl Standing {
    fn of(tx: &Transmission, control: &Control, recovery: &Recovery) -> Self {
        let (window, episode) = (&control.window, &recovery.episode);
        let sampled = tx.sampler.as_ref().and_then(|sampler| sampler.min_rtt());
        Self {
            state: recovery.state(),
            una: tx.queue.una(),
            nxt: tx.queue.nxt(),
            right_edge: tx.right_edge(),
            mss: window.mss,
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            in_flight: tx.board.in_flight(),
            pacing: tx.pacer.as_ref().and_then(|pacer| pacer.rate()),
            srtt_s: tx.rtt.srtt_s(),
            min_rtt: sampled.or(episode.rack.as_ref().and_then(|rack| rack.min_rtt())),
            timer: tx.timer.expiry().map(|_| (tx.timer.purpose(), tx.timer.deadline(tx.rtt.clock()))),
        }
    }
}

/// Tells a host the rest of an event, and how the sender stands.
#[inline(never)]
pub(crate) fn tell(tx: &mut Transmission, control: &Control, recovery: &Recovery, wire: &mut impl Wire) {
    tx.board.take_log(|loss| wire.tell(|| Event::Judged(loss)));
    let standing = Standing::of(tx, control, recovery);
    wire.tell(|| Event::Stands(&standing));
}
