//! Segments in, segments out: the endpoints under scripts that move the clock.
//!
//! All numbers are full segments: `ack(4)` acknowledges segments 0 to 3, a SACK block `(6, 8)` holds 6 and 7.

mod accurate_ecn;
mod compressed_ack;
mod connection;
mod early_retransmit;
mod ecn;
mod fast_paths;
mod growth;
mod mean_window;
mod pair;
mod prr;
mod rack;
mod receiver;
mod recovery;
mod script;
mod scripts;
mod steering;
mod tail_loss_probe;
mod timeout;
mod undo;
mod watch;

use self::receiver::ScriptedReceiver;
use crate::cc::AnyCc;
use crate::stack::Stack;
use crate::*;
use sojourn_aqm::{Ecn, Instant};

const MSS: u64 = 1448;
/// Age of the timestamp that an acknowledgment echoes, unless the script gives one.
const RTT_MS: u64 = 100;
/// Time at which the handshake of [`SenderHarness::new`] ends.
const START_MS: u64 = 1_000;

/// No segments.
const NOTHING: [u64; 0] = [];

/// Sequence number of segment `n`.
fn seq(n: u64) -> u64 {
    FIRST_BYTE + n * MSS
}

/// Segment that starts at a sequence number.
fn segment(seq: u64) -> u64 {
    assert_eq!((seq - FIRST_BYTE) % MSS, 0, "{seq} is the start of no segment");
    (seq - FIRST_BYTE) / MSS
}

fn ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn stack() -> &'static Stack {
    Stack::find("linux-2.6.29").expect("the stack is registered")
}

/// A segment sent by an endpoint.
#[derive(Clone, Copy, Debug)]
struct SentSegment {
    at_ms: u64,
    header: Header,
    len: u32,
    ecn: Ecn,
}

/// Records the segments sent, with the time of the call.
struct Recorder<'a>(u64, &'a mut Vec<SentSegment>);

impl Wire for Recorder<'_> {
    fn transmit(&mut self, header: &Header, len: u32, ecn: Ecn) {
        self.1.push(SentSegment { at_ms: self.0, header: *header, len, ecn });
    }
}

/// Configuration of a scripted sender.
#[derive(Clone, Copy)]
struct Setup {
    stack: Stack,
    cc: &'static str,
    sack: bool,
    ecn: bool,
    window: Option<u32>,
    receive_window: Option<u64>,
    bytes: Option<u64>,
    /// Segments that the application has at first; it may write more. Unlimited if none.
    segments: Option<u64>,
    delayed_ack: bool,
}

/// Reno with SACK and an initial window of `segments`.
fn window(segments: u32) -> Setup {
    Setup {
        stack: *stack(),
        cc: "reno",
        sack: true,
        ecn: false,
        window: Some(segments),
        receive_window: None,
        bytes: None,
        segments: None,
        delayed_ack: true,
    }
}

impl Setup {
    /// The stack, leaked to the lifetime that an endpoint needs.
    fn stack(&self) -> &'static Stack {
        Box::leak(Box::new(self.stack))
    }
}

/// `setup` with another stack.
fn under(stack: &str, setup: Setup) -> Setup {
    Setup { stack: *Stack::find(stack).expect("the stack is registered"), ..setup }
}

/// `setup` with a stack that lacks a feature.
fn lacking(stack: &str, setup: Setup, without: fn(&mut Stack)) -> Setup {
    let mut setup = under(stack, setup);
    without(&mut setup.stack);
    setup
}

/// An acknowledgment in a script's notation.
#[derive(Clone, Debug)]
struct ScriptAck {
    up_to: u64,
    blocks: Vec<(u64, u64)>,
    echo_ms: Option<u64>,
    ece: bool,
}

fn upto(segments: u64) -> ScriptAck {
    ScriptAck { up_to: segments, blocks: Vec::new(), echo_ms: None, ece: false }
}

impl ScriptAck {
    fn sack(self, blocks: &[(u64, u64)]) -> Self {
        Self { blocks: blocks.to_vec(), ..self }
    }

    fn echo(self, ms: u64) -> Self {
        Self { echo_ms: Some(ms), ..self }
    }

    fn ece(self) -> Self {
        Self { ece: true, ..self }
    }
}

/// A scripted sender.
struct SenderHarness {
    sender: Sender,
    now_ms: u64,
    sent: Vec<SentSegment>,
}

impl SenderHarness {
    /// A connection before its SYN.
    fn closed(setup: Setup) -> Self {
        Self::closed_with(setup, AnyCc::new(setup.cc).expect("the congestion control is registered"))
    }

    /// The same with a custom control.
    fn closed_with(setup: Setup, cc: AnyCc) -> Self {
        let sender = Sender::new(SenderConfig {
            stack: setup.stack(),
            cc,
            mss: MSS as u32,
            sack: setup.sack,
            ecn: setup.ecn,
            initial_window: setup.window,
            receive_window: setup.receive_window.or(setup.stack.tunes_window.then_some(u64::MAX / 2)),
        });
        Self { sender, now_ms: 0, sent: Vec::new() }
    }

    /// An established connection with an RTT of [`RTT_MS`] that has sent its first flight.
    fn new(setup: Setup) -> Self {
        Self::with(setup, AnyCc::new(setup.cc).expect("the congestion control is registered"))
    }

    /// The same with a custom control.
    fn with(setup: Setup, cc: AnyCc) -> Self {
        let mut rig = Self::closed_with(setup, cc);
        rig.now_ms = START_MS - RTT_MS;
        rig.open(setup.bytes);
        rig.limit(setup.segments);
        rig.now_ms = START_MS;
        rig.syn_ack();
        rig.sent.clear();
        rig.now_ms += RTT_MS;
        rig
    }

    /// Limits the data that the application has at first; it may write more.
    fn limit(&mut self, segments: Option<u64>) {
        if let Some(segments) = segments {
            self.sender.transmission.queue.open(Some(segments * MSS));
            self.sender.transmission.queue.stay_open();
        }
    }

    fn open(&mut self, bytes: Option<u64>) {
        self.sender.open(ms(self.now_ms), bytes, &mut Recorder(self.now_ms, &mut self.sent));
    }

    fn close(&mut self) -> Vec<u64> {
        self.sender.close(ms(self.now_ms), &mut Recorder(self.now_ms, &mut self.sent));
        self.take()
    }

    fn syn_ack(&mut self) {
        let flags = Flags::SYN.with(Flags::ACK).with_if(Flags::ECE, self.sender.transmission.ecn.is_on());
        let ts = (self.now_ms - RTT_MS.min(self.now_ms)) as u32;
        self.segment(Header { ack: FIRST_BYTE, flags, ts_val: 1, ts_ecr: ts, ..Header::default() });
    }

    /// Delivers an acknowledgment; returns the segments sent in response.
    fn on(&mut self, ack: ScriptAck) -> Vec<u64> {
        self.inject(ack);
        self.take()
    }

    fn inject(&mut self, ack: ScriptAck) {
        let mut sack = Sack::default();
        ack.blocks.iter().for_each(|&(from, to)| sack.push((seq(from), seq(to))));
        let ts_ecr = ack.echo_ms.unwrap_or(self.now_ms - RTT_MS) as u32;
        let flags = Flags::ACK.with_if(Flags::ECE, ack.ece);
        self.segment(Header {
            seq: FIRST_BYTE,
            ack: seq(ack.up_to),
            flags,
            ts_val: 1,
            ts_ecr,
            sack,
            ..Header::default()
        });
    }

    /// A plain cumulative acknowledgment.
    fn ack(&mut self, segments: u64) -> Vec<u64> {
        self.on(upto(segments))
    }

    /// A duplicate acknowledgment with SACK blocks.
    fn sack(&mut self, segments: u64, blocks: &[(u64, u64)]) -> Vec<u64> {
        self.on(upto(segments).sack(blocks))
    }

    /// Lets the timer expire; returns the waiting time in milliseconds and the segments sent.
    fn timer(&mut self) -> (u64, Vec<u64>) {
        let deadline_ms = self.sender.deadline().as_nanos() / 1_000_000;
        let waited = deadline_ms - self.now_ms;
        self.now_ms = deadline_ms;
        self.sender.on_timer(ms(self.now_ms), &mut Recorder(self.now_ms, &mut self.sent));
        (waited, self.take())
    }

    fn segment(&mut self, header: Header) {
        self.sender.on_segment(ms(self.now_ms), &header, &mut Recorder(self.now_ms, &mut self.sent));
    }

    /// Segments sent since the last call.
    fn take(&mut self) -> Vec<u64> {
        self.sent.drain(..).map(|sent| segment(sent.header.seq)).collect()
    }

    fn cwnd(&self) -> u32 {
        self.sender.window().cwnd
    }

    fn ssthresh(&self) -> u32 {
        self.sender.window().ssthresh
    }

    fn state(&self) -> CaState {
        self.sender.state()
    }
}

#[test]
fn sizes_on_the_wire() {
    let ack = Header { flags: Flags::ACK, ..Header::default() };
    assert_eq!(ack.ip_len(), 52);
    for (blocks, len) in [(1, 64), (2, 72), (3, 80)] {
        let mut sack = Sack::default();
        (0..blocks).for_each(|i| sack.push((i, i + 1)));
        assert_eq!(Header { sack, ..ack }.ip_len(), len);
    }
    assert_eq!(Header { len: 1448, ..ack }.ip_len(), 1500);
    assert_eq!(Header { flags: Flags::SYN, ..Header::default() }.ip_len(), 60);
}
