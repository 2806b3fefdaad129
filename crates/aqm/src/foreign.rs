//! Foreign queue disciplines: they store packets themselves, such as those of shared libraries, and their parameters
//! are one opaque text.
//!
//! They store numbers instead of the host's packets, so that one of them serves every host. Another crate
//! (`sojourn-library`) loads libraries: this one has no unsafe code.

use crate::aqm::DropReason;
use crate::backlog::Backlog;
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::packet::Meta;
use crate::params::{Param, Value, unknown};
use crate::qdisc::{DequeueResult, EnqueueResult, Host, Qdisc, Sink, Stats};
use crate::registry::Algorithm;
use crate::tcp_view::TcpView;
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Number of a packet while it is queued.
pub type Ticket = u32;

/// A configured foreign discipline.
pub trait ForeignConfig: fmt::Debug + Send + Sync {
    /// Checks the parameters before a queue uses them.
    fn check(&self) -> Result<(), ConfigError>;
    /// Creates an empty queue.
    fn queue(&self, limits: Limits, host: Host) -> Box<dyn Qdisc<Ticket> + Send>;
    /// An invariant that one of its queues, or of its clones' queues, has violated; the results are invalid then.
    fn fault(&self) -> Option<String>;
    /// Clones into a box.
    fn clone_box(&self) -> Box<dyn ForeignConfig>;
}

/// A validated configuration of a foreign discipline.
pub struct ForeignDiscipline {
    pub(crate) algorithm: &'static Algorithm,
    /// The words after its name.
    text: &'static str,
    config: Box<dyn ForeignConfig>,
}

impl ForeignDiscipline {
    /// Wraps `config`, which `algorithm` created from `text`.
    pub fn new(algorithm: &'static Algorithm, text: &'static str, config: Box<dyn ForeignConfig>) -> Self {
        Self { algorithm, text, config }
    }

    pub(crate) fn value(&self, param: &str) -> Option<Value> {
        (param == TEXT.name).then_some(Value::Choice(self.text))
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        self.config.check()
    }

    /// See [`ForeignConfig::fault`].
    pub fn fault(&self) -> Option<String> {
        self.config.fault()
    }

    pub(crate) fn queue<P: Send + 'static>(&self, limits: Limits, host: Host) -> Box<dyn Qdisc<P> + Send> {
        let (packets, free) = (Vec::new(), Vec::new());
        Box::new(TicketQueue { queue: self.config.queue(limits, host), packets: PacketSlots { packets, free } })
    }
}

impl Clone for ForeignDiscipline {
    fn clone(&self) -> Self {
        Self { algorithm: self.algorithm, text: self.text, config: self.config.clone_box() }
    }
}

impl fmt::Debug for ForeignDiscipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(self.algorithm.name).field(&self.text).finish()
    }
}

impl PartialEq for ForeignDiscipline {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.algorithm, other.algorithm) && self.text == other.text
    }
}

/// The parameter of every foreign discipline: the words after its name, unchanged.
pub static PARAMS: &[Param] = &[TEXT];

const TEXT: Param = Param {
    name: "text",
    doc: "Parameters after the name; only the library interprets them.",
    range: (Value::Choice(""), Value::Choice("")),
    choices: &[],
};

/// The profile of every foreign discipline.
pub const PROFILES: &[(&str, &str)] = &[("plain", "its own defaults")];

/// The words after the name, from a table of parameters: its `text`, then each other parameter in tc's syntax.
pub fn words(profile: &str, params: &[(String, String)]) -> Result<String, ConfigError> {
    if !["", PROFILES[0].0].contains(&profile) {
        return Err(ConfigError::Unknown(unknown("profile", profile, PROFILES.iter().map(|&(name, _)| name))));
    }
    let (texts, others): (Vec<_>, Vec<_>) = params.iter().partition(|(name, _)| name == TEXT.name);
    let spelled = texts.into_iter().chain(others).map(|(name, value)| match value.as_str() {
        text if name == TEXT.name => text.split_whitespace().collect::<Vec<_>>().join(" "),
        "true" => name.clone(),
        "false" => format!("no{name}"),
        value => format!("{name} {}", value.replace(' ', "")),
    });
    Ok(spelled.filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" "))
}

impl Algorithm {
    /// Whether the words after its name are one opaque text.
    pub(crate) fn is_foreign(&self) -> bool {
        core::ptr::eq(self.params, PARAMS)
    }
}

/// A foreign queue and the host's packets.
struct TicketQueue<P> {
    queue: Box<dyn Qdisc<Ticket> + Send>,
    packets: PacketSlots<P>,
}

struct PacketSlots<P> {
    packets: Vec<Option<P>>,
    free: Vec<Ticket>,
}

impl<P> PacketSlots<P> {
    fn insert(&mut self, packet: P) -> Ticket {
        let ticket = self.free.pop().unwrap_or_else(|| {
            self.packets.push(None);
            self.packets.len() as Ticket - 1
        });
        self.packets[ticket as usize] = Some(packet);
        ticket
    }

    fn take(&mut self, ticket: Ticket) -> P {
        self.free.push(ticket);
        self.packets[ticket as usize].take().expect("the queue has checked that each ticket comes back once")
    }
}

/// Sink that converts tickets to the host's packets.
struct TicketSink<'a, P> {
    packets: &'a mut PacketSlots<P>,
    sink: &'a mut dyn Sink<P>,
}

impl<P> Sink<Ticket> for TicketSink<'_, P> {
    fn dropped(&mut self, meta: Meta, ticket: Ticket, reason: DropReason) {
        self.sink.dropped(meta, self.packets.take(ticket), reason);
    }

    fn tcp_header(&self, ticket: &Ticket) -> Option<TcpView> {
        self.sink.tcp_header(self.packets.packets[*ticket as usize].as_ref()?)
    }
}

impl<P> Qdisc<P> for TicketQueue<P> {
    fn enqueue(&mut self, now: Instant, meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> EnqueueResult {
        let ticket = self.packets.insert(packet);
        self.queue.enqueue(now, meta, ticket, &mut TicketSink { packets: &mut self.packets, sink })
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> DequeueResult<P> {
        match self.queue.dequeue(now, &mut TicketSink { packets: &mut self.packets, sink }) {
            DequeueResult::Packet(meta, ticket) => DequeueResult::Packet(meta, self.packets.take(ticket)),
            DequeueResult::Empty => DequeueResult::Empty,
            DequeueResult::NotBefore(at) => DequeueResult::NotBefore(at),
        }
    }

    fn bypass(&mut self, now: Instant, meta: Meta) -> Option<Meta> {
        self.queue.bypass(now, meta)
    }

    fn needs_tcp_headers(&self) -> bool {
        self.queue.needs_tcp_headers()
    }

    fn settle(&mut self, now: Instant) {
        self.queue.settle(now);
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn stats(&self) -> &Stats {
        self.queue.stats()
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.queue.observe(see);
    }
}
