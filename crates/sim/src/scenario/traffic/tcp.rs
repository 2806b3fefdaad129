//! TCP with an application that always has data.

use crate::scenario::Error;
use crate::scenario::keys::{Kind, Need, Table, table};
use sojourn_aqm::{Duration, Rate};
use sojourn_tcp::cc::AnyCc;
use sojourn_tcp::stack::Stack;
use sojourn_tcp::{cc, quic, stack};

table! {
    /// A TCP sender and its receiver.
    pub struct TcpSpec {
        /// Congestion control, by its registered name.
        cc: String = Kind::Word("congestion control", controls), Need::Default(cc::DEFAULT);
        /// TCP stack, by its registered name; or quic-rfc9002, for flows of kind tcp.
        stack: String = Kind::Word("TCP stack", stacks), Need::Default(stack::NEWEST);
        /// Selective acknowledgements.
        sack: bool = Kind::Flag, Need::Default("true");
        /// Delayed acknowledgements at the receiver.
        delayed_ack: bool = Kind::Flag, Need::Default("true");
        /// Payload bytes of a full segment, at least 1; with QUIC the UDP payload of a full packet, at least 1200.
        mss: u32 = Kind::Size(1, MOST_MSS), Need::Default("1448 B");
        /// Initial window in segments; without it, the stack's own.
        initial_window: Option<u32> = Kind::Count(1, 1_000_000), Need::Optional;
        /// Appropriate byte counting in slow start: segments per acknowledgment at the most, 1 or 2, or 0 for none; without it, the stack's own.
        abc: Option<u32> = Kind::Count(0, 2), Need::Optional;
        /// Nagle's algorithm (RFC 896): a segment that is not full waits until everything sent is acknowledged.
        nagle: Option<bool> = Kind::Flag, Need::Optional;
        /// The sender's host paces, as with the queue discipline fq; controls that need it are paced without it.
        pacing: Option<bool> = Kind::Flag, Need::Optional;
        /// Largest pacing rate, of payload (SO_MAX_PACING_RATE); with it the sender is paced.
        max_pacing_rate: Option<Rate> = Kind::Rate, Need::Optional;
        /// Segmentation offload: bursts by the stack's own rule reach the first link as super-packets of up to 64 kB.
        gso: Option<bool> = Kind::Flag, Need::Optional;
        /// Receive offload: the receiver's card is polled so long after the first packet, and segments that have come by then arrive as one.
        gro: Option<Duration> = Kind::PositiveTime, Need::Optional;
        /// Receive window in bytes; without it, unlimited.
        receive_window: Option<u64> = Kind::Size(1, 1 << 40), Need::Optional;
        /// Most memory of what the application has written and has not been acknowledged (the last of Linux's tcp_wmem), in bytes; without it, unlimited.
        send_buffer: Option<u64> = Kind::Size(16_384, 1 << 40), Need::Optional;
        /// Negotiates ECN, so that marks stand for drops.
        ecn: bool = Kind::Flag, Need::Default("false");
    }
}

impl TcpSpec {
    /// Whether the events of one instant are to come in ns-2's order, as its stack supposes.
    pub(crate) fn orders_as_ns2(&self) -> bool {
        Stack::find(&self.stack).is_some_and(Stack::runs_in_ns2)
    }

    /// Whether the stack is QUIC, ours or quinn's.
    pub(crate) fn is_quic(&self) -> bool {
        quic::is_known(&self.stack) || self.is_quinn()
    }

    /// Whether the stack is quinn's.
    pub(crate) fn is_quinn(&self) -> bool {
        QUINN.contains(&self.stack.as_str())
    }

    /// Whether the sender is paced whatever its control needs.
    pub(crate) fn is_paced(&self) -> bool {
        self.pacing == Some(true) || self.max_pacing_rate.is_some()
    }

    /// How both ends of a QUIC connection are made, with congestion control `cc`.
    pub(crate) fn quic(&self, cc: AnyCc) -> quic::Config {
        let &Self { mss, ecn, initial_window, delayed_ack, .. } = self;
        quic::Config { cc, max_datagram_size: mss, ecn, initial_window, delayed_ack }
    }

    /// Refuses what QUIC does not have.
    fn check_quic(&self, table: &Table) -> Result<(), Error> {
        let refused = [
            ("sack", !self.sack, "acknowledgments of QUIC always tell what has arrived; leave it out"),
            ("abc", self.abc.is_some(), "QUIC counts bytes or packets, by its control; leave it out"),
            ("nagle", self.nagle == Some(true), "QUIC has no Nagle's algorithm; leave it out"),
            ("pacing", self.pacing.is_some(), "QUIC is always paced; leave it out"),
            ("max_pacing_rate", self.max_pacing_rate.is_some(), "QUIC is paced by its window or control; leave it out"),
            ("gso", self.gso == Some(true), "packets of QUIC leave one by one, paced; leave it out"),
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
        if self.mss < quic::LEAST_DATAGRAM {
            let text =
                format!("every path of QUIC carries {} B of UDP payload; write at least that", quic::LEAST_DATAGRAM);
            return Err(table.error("mss", text));
        }
        if self.is_quinn() {
            return self.check_quinn(table);
        }
        if !quic::fits(&AnyCc::new(&self.cc).expect("the key admits known controls only")) {
            return Err(table.error("cc", format!("{} needs TCP's timestamps; choose ledbat++", self.cc)));
        }
        Ok(())
    }

    /// Refuses what quinn does not have.
    fn check_quinn(&self, table: &Table) -> Result<(), Error> {
        if !["newreno", "cubic"].contains(&self.cc.as_str()) {
            let text =
                format!("quinn runs newreno and cubic here, not {}; choose one, or stack = \"quic-rfc9002\"", self.cc);
            return Err(table.error("cc", text));
        }
        if !self.delayed_ack {
            return Err(table.error("delayed_ack", "quinn acknowledges as it does; leave it out"));
        }
        if table.values.contains_key("pause") {
            return Err(table.error("pause", "a flow of quinn is one connection; leave it out"));
        }
        Ok(())
    }

    /// Refuses what the stack does not have.
    pub(super) fn check(&self, table: &Table) -> Result<(), Error> {
        if self.is_quic() {
            return self.check_quic(table);
        }
        let stack = Stack::find(&self.stack).expect("the key admits known stacks only");
        if !AnyCc::new(&self.cc).expect("the key admits known controls only").needs().fit(stack) {
            let text = format!(
                "{} needs a stack that decides on recovery before the window; choose linux-3.13 or linux-6.1",
                self.cc
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
        if let (Some(false), Some(_)) = (self.pacing, self.max_pacing_rate) {
            return Err(table.error("pacing", "max_pacing_rate paces; leave out one of the two"));
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

/// The stacks of TCP, and QUIC.
fn stacks() -> Vec<&'static str> {
    names(stack::NAMES).into_iter().chain(names(quic::NAMES)).chain(QUINN.iter().copied()).collect()
}

/// The stack of another project, where it is built in.
const QUINN: &[&str] = if cfg!(feature = "quinn") { &["quinn"] } else { &[] };

/// The names of the registry, and the shorter ones.
fn controls() -> Vec<&'static str> {
    let aliases = cc::ALIASES.iter().map(|&(alias, _)| alias);
    names(cc::NAMES).into_iter().chain(aliases).collect()
}

fn names(registry: &[(&'static str, &'static str)]) -> Vec<&'static str> {
    registry.iter().map(|&(name, _)| name).collect()
}

/// Largest segment: IP, TCP and timestamps are 52 of 65,535 bytes.
const MOST_MSS: u64 = 65_535 - 52;
