//! Congestion marks at the receiver: echoed until the sender sends CWR (RFC 3168), echoed per packet (RFC 8257 §3.2),
//! or counted (RFC 9768).
//!
//! Source: Linux 6.1 `tcp_ecn_check_ce`, `tcp_ecn_accept_cwr`, `dctcp_ece_ack_update`; for accurate ECN Linux 6.18
//! `tcp_ecn_received_counters`, `tcp_accecn_set_ace`, without the option.

use super::CeCounters;
use crate::cc::Needs;
use crate::stack::Stack;
use crate::{Flags, Header};
use sojourn_aqm::Ecn;

/// The receiver's side of ECN.
#[derive(Clone, Copy, Debug)]
pub(super) struct EcnReceiver {
    mode: Mode,
    quickacks: bool,
    /// Accepts requests for accurate ECN.
    supports_accurate: bool,
    /// Classic ECN echoes the mark of each packet.
    per_packet: bool,
    /// The codepoint of ECN-capable packets.
    capable: Ecn,
    on_syn: bool,
    on_acks: bool,
    /// The codepoint of acknowledgments.
    ack_codepoint: Ecn,
    /// ECN-capable data has arrived.
    ect_seen: bool,
    /// CE has arrived, and no CWR since.
    echo: bool,
    counters: AccEcnCounters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Off,
    Classic,
    /// As classic, but `echo` is the mark of the last packet.
    PerPacket,
    Accurate,
}

/// Counters of accurate ECN.
#[derive(Clone, Copy, Debug, Default)]
struct AccEcnCounters {
    marked: CeCounters,
    /// Marked packets since the last acknowledgment.
    pending: u32,
    /// The codepoint of the last packet.
    last: Ecn,
}

/// Acknowledgments that a segment's codepoint requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AckRequest {
    /// An acknowledgment at once.
    pub at_once: bool,
    /// Quick acknowledgments.
    pub enters_quickack: bool,
}

/// A set of codepoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodepointSet(u8);

impl CodepointSet {
    /// None of them.
    pub const NONE: Self = Self(0);

    const fn of(codepoints: &[Ecn]) -> Self {
        let (mut set, mut i) = (0, 0);
        while i < codepoints.len() {
            set |= 1 << codepoints[i] as u8;
            i += 1;
        }
        Self(set)
    }

    /// Whether `ecn` is among them.
    #[inline(always)]
    pub fn has(self, ecn: Ecn) -> bool {
        self.0 >> ecn as u8 & 1 != 0
    }
}

impl EcnReceiver {
    /// ECN is used if `requested`.
    pub fn new(stack: &Stack, requested: bool) -> Self {
        Self {
            mode: if requested { Mode::Classic } else { Mode::Off },
            quickacks: stack.quickacks_on_ecn,
            supports_accurate: stack.accurate_ecn,
            per_packet: false,
            capable: if stack.ect1 { Ecn::Ect1 } else { Ecn::Ect0 },
            on_syn: stack.ect_on_syn,
            on_acks: stack.ect_on_acks,
            ack_codepoint: Ecn::NotEct,
            ect_seen: false,
            echo: false,
            counters: AccEcnCounters::default(),
        }
    }

    /// The congestion controls of both hosts have `needs`.
    pub fn apply_needs(&mut self, needs: &Needs) {
        if needs.ecn && self.mode == Mode::Off {
            self.mode = Mode::Classic;
        }
        self.supports_accurate |= needs.accurate_ecn;
        self.per_packet = needs.echo_per_packet;
        if needs.ect1 {
            self.capable = Ecn::Ect1;
        }
        self.on_syn |= needs.ect_on_control;
        self.on_acks |= needs.ect_on_control;
    }

    /// A SYN with `flags` arrived under `ecn`. Returns flags and codepoint of the SYN-ACK.
    pub fn on_syn(&mut self, flags: Flags, ecn: Ecn) -> (Flags, Ecn) {
        let on = self.mode != Mode::Off;
        let answer = if on && self.supports_accurate && flags.ace() == ACCURATE_SYN {
            self.mode = Mode::Accurate;
            Flags::default().with_ace(reflected(ecn))
        } else {
            // RFC 3168 §6.1.1: ECN is used if the SYN requests it.
            let classic = on && flags.contains(Flags::ECE.with(Flags::CWR));
            self.mode = self.classic(classic);
            Flags::default().with_if(Flags::ECE, classic)
        };
        self.ack_codepoint = self.codepoint(self.on_acks);
        (answer, self.codepoint(self.on_syn))
    }

    /// The SYN-ACK for this host, which sends too, agreed on `flags`.
    pub fn on_answer(&mut self, flags: Flags) {
        self.mode = match flags.ace() {
            _ if !self.is_on() => Mode::Off,
            0b010 | 0b011 | 0b100 | 0b110 if self.supports_accurate => Mode::Accurate,
            _ => self.classic(flags.contains(Flags::ECE)),
        };
        self.ack_codepoint = self.codepoint(self.on_acks);
    }

    /// The mode that echoes marks, if ECN is `used`.
    fn classic(&self, used: bool) -> Mode {
        match used {
            true if self.per_packet => Mode::PerPacket,
            true => Mode::Classic,
            false => Mode::Off,
        }
    }

    /// Whether it has to process segments.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.mode != Mode::Off
    }

    /// Codepoints of data that without CWR changes no state and requests nothing, while acknowledgments carry
    /// neither an echo nor a codepoint.
    pub fn fast_path_codepoints(&self) -> CodepointSet {
        const ANY: CodepointSet = CodepointSet::of(&[Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
        const UNMARKED: CodepointSet = CodepointSet::of(&[Ecn::NotEct, Ecn::Ect0, Ecn::Ect1]);
        match self.mode {
            _ if self.echo || self.ack_codepoint != Ecn::NotEct => CodepointSet::NONE,
            Mode::Off => ANY,
            Mode::Classic if !self.quickacks => UNMARKED,
            Mode::Classic if self.ect_seen => CodepointSet::of(&[Ecn::Ect0, Ecn::Ect1]),
            Mode::Classic => CodepointSet::of(&[Ecn::NotEct]),
            Mode::PerPacket | Mode::Accurate => CodepointSet::NONE,
        }
    }

    /// Whether its requests also apply to out-of-order data.
    #[inline]
    pub fn is_prompt(&self) -> bool {
        matches!(self.mode, Mode::Accurate | Mode::PerPacket)
    }

    /// Whether packets before this one have to be acknowledged before a packet under `ecn` is processed.
    pub fn flushes_before(&self, ecn: Ecn) -> bool {
        self.mode == Mode::PerPacket && ecn != Ecn::NotEct && self.echo != (ecn == Ecn::Ce)
    }

    /// Data or a FIN arrives.
    #[inline]
    pub fn on_data(&mut self, header: &Header, ecn: Ecn) -> AckRequest {
        match self.mode {
            Mode::Off => AckRequest::default(),
            Mode::Classic => self.echo(header, ecn),
            Mode::PerPacket => self.mirror(header, ecn),
            Mode::Accurate => self.count(header, ecn),
        }
    }

    /// A pure acknowledgment arrives.
    pub fn on_pure_ack(&mut self, header: &Header, ecn: Ecn) {
        if self.mode == Mode::Accurate {
            self.count(header, ecn);
        }
    }

    /// Flags and codepoint of a pure acknowledgment.
    #[inline(always)]
    pub fn of_ack(&mut self) -> (Flags, Ecn) {
        if self.mode == Mode::Accurate {
            return self.accurate_ack();
        }
        (Flags::ACK.with_if(Flags::ECE, self.echo), self.ack_codepoint)
    }

    /// The counters.
    pub fn marked(&self) -> CeCounters {
        self.counters.marked
    }

    /// RFC 3168 §6.1.3: CWR ends the echo, a new mark starts it again.
    #[inline]
    fn echo(&mut self, header: &Header, ecn: Ecn) -> AckRequest {
        let cwr = header.flags.contains(Flags::CWR);
        let (echoing, marked) = (self.echo && !cwr, ecn == Ecn::Ce);
        self.echo = echoing || marked;
        if !self.quickacks {
            return AckRequest::default();
        }
        // The sender's window may be very small after a mark, or after a retransmission, which is not ECN-capable.
        let enters_quickack = (marked && !echoing) || (ecn == Ecn::NotEct && self.ect_seen);
        self.ect_seen |= ecn != Ecn::NotEct;
        AckRequest { at_once: cwr, enters_quickack }
    }

    /// RFC 8257 §3.2: the echo is the mark of the last packet, and a change is acknowledged at once. CWR does not end
    /// it.
    #[inline(never)]
    fn mirror(&mut self, header: &Header, ecn: Ecn) -> AckRequest {
        let cwr = header.flags.contains(Flags::CWR);
        if ecn == Ecn::NotEct {
            return AckRequest { at_once: cwr, enters_quickack: self.quickacks && self.ect_seen };
        }
        self.ect_seen = true;
        let changed = std::mem::replace(&mut self.echo, ecn == Ecn::Ce) != self.echo;
        AckRequest { at_once: cwr || changed, enters_quickack: false }
    }

    /// RFC 9768 §3.2.2: counts marks of all packets, and acknowledges at once when the codepoint changes, or at the
    /// sixth mark (`TCP_ACCECN_ACE_MAX_DELTA`), because the three bits of the counter wrap after eight.
    #[inline(never)]
    fn count(&mut self, header: &Header, ecn: Ecn) -> AckRequest {
        let counted = &mut self.counters;
        if ecn == Ecn::Ce {
            counted.marked.packets += 1;
            counted.marked.bytes += header.len as u64;
            counted.pending += 1;
        }
        let changed = std::mem::replace(&mut counted.last, ecn) != ecn;
        AckRequest { at_once: changed || counted.pending >= MAX_PENDING, enters_quickack: false }
    }

    #[inline(never)]
    fn accurate_ack(&mut self) -> (Flags, Ecn) {
        self.counters.pending = 0;
        (Flags::ACK.with_ace(self.counters.marked.packets + Flags::ACE_START), self.ack_codepoint)
    }

    #[inline(always)]
    fn codepoint(&self, capable: bool) -> Ecn {
        if capable && self.is_on() { self.capable } else { Ecn::NotEct }
    }
}

/// ACE of a SYN-ACK: reports the codepoint of the SYN on arrival (RFC 9768 §3.1.2).
fn reflected(ecn: Ecn) -> u64 {
    match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// AE, CWR and ECE of a SYN that requests accurate ECN.
const ACCURATE_SYN: u8 = 0b111;

/// Linux `TCP_ACCECN_ACE_MAX_DELTA`.
const MAX_PENDING: u32 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> Header {
        Header { seq: 1, len: 700, flags: Flags::ACK, ..Header::default() }
    }

    /// A receiver with accurate ECN, after a SYN that requests it and arrived under `ecn`.
    fn accurate(ecn: Ecn) -> (EcnReceiver, Flags) {
        let stack = Stack { accurate_ecn: true, ..*Stack::find("linux-6.1").expect("a stack") };
        let mut receiver = EcnReceiver::new(&stack, true);
        let (answer, _) = receiver.on_syn(Flags::SYN.with_ace(7), ecn);
        (receiver, answer)
    }

    #[test]
    fn the_answer_tells_how_the_syn_arrived() {
        let answers = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(|ecn| accurate(ecn).1.ace());
        assert_eq!(answers, [0b010, 0b011, 0b100, 0b110]);
        for (name, _) in crate::stack::NAMES {
            let mut older = EcnReceiver::new(Stack::find(name).expect("a stack"), true);
            assert_eq!(older.on_syn(Flags::SYN.with_ace(7), Ecn::NotEct), (Flags::ECE, Ecn::NotEct), "{name}");
        }
    }

    #[test]
    fn the_counter_begins_at_five_and_wraps_at_eight() {
        let (mut receiver, _) = accurate(Ecn::NotEct);
        let mut ace = Vec::new();
        for n in 0..10 {
            ace.push(receiver.of_ack().0.ace());
            let header = if n == 4 { Header { len: 0, ..data() } } else { data() };
            match header.len {
                0 => receiver.on_pure_ack(&header, Ecn::Ce),
                _ => drop(receiver.on_data(&header, Ecn::Ce)),
            }
        }
        assert_eq!(ace, [5, 6, 7, 0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(receiver.marked(), CeCounters { packets: 10, bytes: 6_300 }, "a pure acknowledgment has no payload");
    }

    #[test]
    fn a_change_of_the_codepoint_and_the_sixth_mark_are_told_at_once() {
        let (mut receiver, _) = accurate(Ecn::NotEct);
        let codepoints = [Ecn::Ect1, Ecn::Ect1, Ecn::Ce, Ecn::Ce, Ecn::Ect1, Ecn::Ect1];
        let now = codepoints.map(|ecn| receiver.on_data(&data(), ecn).at_once);
        assert_eq!(now, [true, false, true, false, true, false]);
        receiver.of_ack();
        let now = [(); 7].map(|()| receiver.on_data(&data(), Ecn::Ce).at_once);
        assert_eq!(now, [true, false, false, false, false, true, true]);
    }

    #[test]
    fn what_is_ecn_capable_is_as_the_stack_says() {
        let six_one = *Stack::find("linux-6.1").expect("a stack");
        for (stack, expected) in [
            (six_one, [Ecn::NotEct, Ecn::NotEct]),
            (Stack { ect_on_syn: true, ..six_one }, [Ecn::Ect0, Ecn::NotEct]),
            (Stack { ect_on_acks: true, ect1: true, ..six_one }, [Ecn::NotEct, Ecn::Ect1]),
        ] {
            let mut receiver = EcnReceiver::new(&stack, true);
            let request = Flags::SYN.with(Flags::ECE).with(Flags::CWR);
            assert_eq!([receiver.on_syn(request, Ecn::NotEct).1, receiver.of_ack().1], expected);
            let mut refused = EcnReceiver::new(&stack, true);
            assert_eq!([refused.on_syn(Flags::SYN, Ecn::NotEct).1, refused.of_ack().1], [Ecn::NotEct; 2]);
        }
    }
}
