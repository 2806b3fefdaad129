//! Keys of a TCP or QUIC connection.

use crate::scenario::keys::{Kind, Need, Table, table};
use crate::scenario::{ControlSpec, Error};
use sojourn_aqm::{Duration, Rate};
use sojourn_tcp::cc::AnyCc;
use sojourn_tcp::stack::Stack;
use sojourn_tcp::{cc, quic, stack};

table! {
    /// TCP sender and receiver.
    pub struct TcpSpec {
        /// Congestion control, with parameters behind it: `ledbat target 5ms`; `bbr`, `bbr3`, `dctcp` and `prague` are
        /// short for `bbr@linux-6.1`, `bbr3@google`, `dctcp@linux` and `prague@0.7`. `sojourn cc list` describes each.
        /// Your own: `my_cc.py:Mine alpha 0.5`, `./libmine.so`; in a kernel `kernel:mine`.
        cc: ControlSpec = Kind::Control, Need::Default(cc::DEFAULT);
        /// TCP stack: of a Linux version; or `ns2`, whose own agents are `cc` `reno` and `newreno`; or QUIC
        /// (`quic-rfc9002`), for `kind = "tcp"` only.
        stack: String = Kind::Word("TCP stack", stacks), Need::Default(stack::NEWEST);
        /// Selective acknowledgments.
        sack: bool = Kind::Flag, Need::Default("true");
        /// Delayed acknowledgments; `false` gives an ACK per packet.
        delayed_ack: bool = Kind::Flag, Need::Default("true");
        /// Payload of a full segment; with QUIC the UDP payload of a full packet, at least 1200 B.
        mss: u32 = Kind::Size(1, MAX_MSS), Need::Default("1448 B");
        /// Initial window in segments; with QUIC in packets. Default: the stack's.
        initial_window: Option<u32> = Kind::Count(1, 1_000_000), Need::Optional;
        /// Appropriate byte counting (RFC 3465): in slow start an acknowledgment counts for at most this many segments
        /// of the bytes that it covers, and `reno` grows by one segment per window of bytes; 0 switches it off. Only
        /// `linux-2.6.29`, where it is off by default, and `linux-3.8`, where it is 1. Default: the stack's.
        abc: Option<u32> = Kind::Count(0, 2), Need::Optional;
        /// Nagle's algorithm (RFC 896): the last part of a write, if it does not fill a segment, waits until everything
        /// sent is acknowledged. ns-2's `FullTcp`, over which its PackMime runs, has it; so it is the default of
        /// `packmime` on `--engine ns2`. Default: `false`.
        nagle: Option<bool> = Kind::Flag, Need::Optional;
        /// Pacing by the sender's host, as by the queue discipline fq: at 200 % of the window per RTT in the first half
        /// of slow start and at 120 % afterwards, the first ten segments at once. Only `linux-3.13` and `linux-6.1`;
        /// BBR and Prague, and flows whose host's device has `sch_fq`, are paced without it. Default: `false`.
        pacing: Option<bool> = Kind::Flag, Need::Optional;
        /// Maximum pacing rate, of payload (`SO_MAX_PACING_RATE`); the flow is paced.
        max_pacing_rate: Option<Rate> = Kind::Rate, Need::Optional;
        /// Segmentation offload: bursts by the rule of the stack leave as super-packets of up to 64 kB. Default:
        /// `false`.
        gso: Option<bool> = Kind::Flag, Need::Optional;
        /// Receive offload of the receiver's host: its network card is polled this long after the first packet, e.g.
        /// `50 us`, and segments that have arrived by then reach TCP as one.
        gro: Option<Duration> = Kind::PositiveTime, Need::Optional;
        /// Maximum window that the receiver advertises, e.g. `4 MB`; that of `linux-6.1` starts at 64 kB and grows with
        /// the data received. Default: the stack's, otherwise unlimited.
        receive_window: Option<u64> = Kind::Size(1, 1 << 40), Need::Optional;
        /// Maximum memory of data that the application has written and that is not acknowledged, e.g. `4 MiB`, Linux's
        /// default (the last value of `tcp_wmem`); at least 16 KiB, only `linux-6.1`. A full segment takes about 2.1 kB
        /// of it. Default: unlimited.
        send_buffer: Option<u64> = Kind::Size(16_384, 1 << 40), Need::Optional;
        /// Negotiate ECN.
        ecn: bool = Kind::Flag, Need::Default("false");
    }
}

impl TcpSpec {
    /// Whether simultaneous events must follow ns-2's order, which its stack assumes.
    pub(crate) fn orders_as_ns2(&self) -> bool {
        Stack::find(&self.stack).is_some_and(Stack::runs_in_ns2)
    }

    /// Whether the stack is QUIC: this crate's or quinn.
    pub(crate) fn is_quic(&self) -> bool {
        quic::is_known(&self.stack) || self.is_quinn()
    }

    /// Whether the stack is quinn.
    pub(crate) fn is_quinn(&self) -> bool {
        QUINN.contains(&self.stack.as_str())
    }

    /// Whether the keys enable pacing, independently of the control.
    pub(crate) fn is_paced(&self) -> bool {
        self.pacing == Some(true) || self.max_pacing_rate.is_some()
    }

    /// Configuration of both ends of a QUIC connection with congestion control `cc`.
    pub(crate) fn quic(&self, cc: AnyCc) -> quic::Config {
        let &Self { mss, ecn, initial_window, delayed_ack, .. } = self;
        quic::Config { cc, max_datagram_size: mss, ecn, initial_window, delayed_ack }
    }

    /// Rejects keys that QUIC does not support.
    fn check_quic(&self, table: &Table) -> Result<(), Error> {
        let refused = [
            ("sack", !self.sack, "QUIC acknowledgments always report all ranges; leave it out"),
            ("abc", self.abc.is_some(), "QUIC counts bytes or packets, depending on its control; leave it out"),
            ("nagle", self.nagle == Some(true), "QUIC has no Nagle's algorithm; leave it out"),
            ("pacing", self.pacing.is_some(), "QUIC is always paced; leave it out"),
            ("max_pacing_rate", self.max_pacing_rate.is_some(), "QUIC is paced by its window or control; leave it out"),
            ("gso", self.gso == Some(true), "QUIC sends packets one by one, paced; leave it out"),
            ("gro", self.gro.is_some(), "packets of QUIC are not joined at the receiver; leave it out"),
            ("receive_window", self.receive_window.is_some(), "flow control of QUIC is not modelled; leave it out"),
            (
                "send_buffer",
                self.send_buffer.is_some(),
                "the application of QUIC writes when it can send; leave it out",
            ),
        ];
        if let Some((key, _, text)) = refused.into_iter().find(|&(_, is_set, _)| is_set) {
            return Err(table.error(key, text));
        }
        if self.mss < quic::MIN_DATAGRAM {
            let text = format!("every QUIC path carries {} B of UDP payload; write at least that", quic::MIN_DATAGRAM);
            return Err(table.error("mss", text));
        }
        if self.is_quinn() {
            return self.check_quinn(table);
        }
        if !quic::fits(&self.cc.control) {
            return Err(table.error("cc", format!("{} needs TCP's timestamps; choose ledbat++", self.cc.text)));
        }
        Ok(())
    }

    /// Rejects keys that quinn does not support.
    fn check_quinn(&self, table: &Table) -> Result<(), Error> {
        if !["newreno", "cubic", "bbr"].contains(&self.cc.text.as_str()) {
            let text = format!(
                "quinn has newreno, cubic and bbr, not {}; choose one, or stack = \"quic-rfc9002\"",
                self.cc.text
            );
            return Err(table.error("cc", text));
        }
        if !self.delayed_ack {
            return Err(table.error("delayed_ack", "quinn decides itself when to acknowledge; leave it out"));
        }
        if table.values.contains_key("pause") {
            return Err(table.error("pause", "a quinn flow is one connection; leave it out"));
        }
        Ok(())
    }

    /// Rejects keys that the stack does not support.
    pub(super) fn check(&self, table: &Table) -> Result<(), Error> {
        if self.is_quic() {
            return self.check_quic(table);
        }
        let stack = Stack::find(&self.stack).expect("the key admits known stacks only");
        if self.cc.definition.is_some() && stack.runs_in_ns2() {
            return Err(table.error("cc", "ns2 runs its own agents, reno and newreno; choose a stack of Linux"));
        }
        if !self.cc.control.needs().is_met_by(stack) {
            let text = format!(
                "{} needs a stack that decides on recovery before the window; choose linux-3.13 or linux-6.1",
                self.cc.text
            );
            return Err(table.error("cc", text));
        }
        if self.abc.is_some() && !stack.has_byte_counting() {
            let text = format!(
                "{} has no appropriate byte counting, which Linux dropped in 3.9; choose linux-2.6.29 or linux-3.8",
                self.stack
            );
            return Err(table.error("abc", text));
        }
        if self.is_paced() && !stack.may_be_paced() {
            let key = if self.pacing == Some(true) { "pacing" } else { "max_pacing_rate" };
            return Err(table.error(key, format!("{} has no pacing; choose linux-3.13 or linux-6.1", self.stack)));
        }
        // As in Linux, a maximum pacing rate turns pacing on.
        if let (Some(false), Some(_)) = (self.pacing, self.max_pacing_rate) {
            return Err(table.error("pacing", "conflicts with max_pacing_rate, which paces; leave one of the two out"));
        }
        if self.send_buffer.is_some() && !stack.has_send_buffer() {
            let text = format!("{} has no send buffer; choose linux-6.1, or leave it out", self.stack);
            return Err(table.error("send_buffer", text));
        }
        if self.gso == Some(true) && !stack.has_segmentation_offload() {
            let text = format!("{} sends packets one by one; choose a stack of Linux, or leave it out", self.stack);
            return Err(table.error("gso", text));
        }
        Ok(())
    }
}

/// Names of the TCP stacks and of QUIC.
fn stacks() -> Vec<&'static str> {
    names(stack::NAMES).into_iter().chain(names(quic::NAMES)).chain(QUINN.iter().copied()).collect()
}

/// quinn, if the feature is enabled.
const QUINN: &[&str] = if cfg!(feature = "quinn") { &["quinn"] } else { &[] };

fn names(registry: &[(&'static str, &'static str)]) -> Vec<&'static str> {
    registry.iter().map(|&(name, _)| name).collect()
}

/// Maximum segment size: IP, TCP and timestamps take 52 of 65,535 bytes.
const MAX_MSS: u64 = 65_535 - 52;
