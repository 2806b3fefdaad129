//! A discipline made from a text.

use crate::own::Own;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;
use sojourn_aqm::in_kernel;
use sojourn_aqm::named::NamedConfig;
use sojourn_aqm::qdisc::drop_all;
use sojourn_aqm::value::Value;
use sojourn_aqm::{
    DequeueResult, DropReason, Duration, EnqueueResult, Host, Instant, Limits, Link, Meta, Qdisc, Reservation,
    ReservationError, Rng, Sink, TcpView,
};

/// The kernel's name of a packet.
pub type Handle = usize;

/// Calls to the kernel during an enqueue, a dequeue or a change.
pub trait Kernel {
    /// A packet was dropped; `meta` is its state in the queue.
    fn dropped(&mut self, packet: Handle, meta: &Meta, reason: DropReason);

    /// Copies the start of a packet, from its IP header on, and returns the number of bytes copied.
    fn head(&self, packet: Handle, bytes: &mut [u8]) -> usize;
}

/// Environment of a discipline.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The link below.
    pub link: Link,
    /// State of the random stream.
    pub seed: u64,
    /// Time of creation.
    pub now: Instant,
}

/// A discipline of the registry over a kernel's packets.
pub struct Queue {
    qdisc: Box<dyn Qdisc<Handle> + Send>,
    text: String,
    named: NamedConfig,
    spelling: String,
    limits: Limits,
    setup: Setup,
    /// Origin of the discipline's clock on the kernel's.
    origin: Instant,
}

/// Updates that Linux runs from a timer on its ticks, before or after what else is due at the same tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticks {
    /// From the creation to the first expiry.
    pub first: Duration,
    /// From an expiry to the next.
    pub period: Duration,
}

impl Queue {
    /// Makes the discipline `text`, in Sojourn's spelling (`codel@act target 7ms ecn`), within `limit` (`1000` or
    /// `1000packets`, `250kB`, `50ms`, several joined by `+`; empty: 1000 packets), with the memory of as many packets:
    /// no call with a packet allocates.
    ///
    /// # Errors
    ///
    /// One line that names the word that is refused and the remedy, or the memory.
    pub fn create(text: &str, limit: &str, setup: Setup) -> Result<Self, String> {
        let limits = match limit.trim() {
            "" => DEFAULT_LIMITS,
            given => match given.parse() {
                Ok(packets) => Limits::packets(packets),
                Err(_) => Limits::parse(given).map_err(|error| format!("limit: {error}"))?,
            },
        };
        let named = configured(text, setup.now)?;
        let (name, effects) = (named.algorithm().name, named.config.effects());
        if effects.duplicates || effects.damages {
            return Err(format!("{name}: packets are not duplicated or damaged here; use the kernel's own netem"));
        }
        named.config.check_link(limits, setup.link).map_err(|error| format!("{name}: {error}"))?;
        let origin = in_kernel::origin(&named, setup.now);
        let qdisc = empty(&named, limits, &setup, origin).map_err(|error| format!("{name}: {error}"))?;
        if qdisc.paces() {
            return Err(format!("{name}: departure times of senders are not known here; use the kernel's own fq"));
        }
        let spelling = spelling(limits, &named);
        Ok(Self { qdisc, text: text.to_string(), named, spelling, limits, setup, origin })
    }

    /// The environment it was created or reset in, for the `new` of [`Queue::change`].
    pub fn setup(&self) -> Setup {
        self.setup
    }

    /// Takes the parameters, limits and memory of `new` at `now`, and leaves its own there; packets that no longer fit
    /// are dropped, the others stay. Allocates nothing, unless it fails: `new` is created while the kernel may wait.
    ///
    /// # Errors
    ///
    /// Another discipline, or a parameter that does not change; nothing has changed then.
    pub fn change(&mut self, new: &mut Self, now: Instant, kernel: &mut dyn Kernel) -> Result<(), String> {
        let (own, other) = (self.named.algorithm().name, new.named.algorithm().name);
        if own != other {
            return Err(format!("this queue has {own}; replace it instead of changing it to {other}"));
        }
        let old = self.qdisc.as_any().ok_or_else(|| format!("{own} has no parameters to change"))?;
        // Both clocks have the origin of the creation.
        let clock = clock(now, self.origin);
        new.origin = self.origin;
        let inherited = new.qdisc.inherit(old, clock, &mut KernelSink(kernel));
        inherited.map_err(|error| format!("{own}: {error}"))?;
        core::mem::swap(self, new);
        Ok(())
    }

    /// Offers a packet.
    #[inline]
    pub fn enqueue(&mut self, now: Instant, meta: Meta, packet: Handle, kernel: &mut dyn Kernel) -> EnqueueResult {
        self.qdisc.enqueue(clock(now, self.origin), meta, packet, &mut KernelSink(kernel))
    }

    /// Requests a packet.
    #[inline]
    pub fn dequeue(&mut self, now: Instant, kernel: &mut dyn Kernel) -> DequeueResult<Handle> {
        match self.qdisc.dequeue(clock(now, self.origin), &mut KernelSink(kernel)) {
            DequeueResult::NotBefore(at) => DequeueResult::NotBefore(at + (self.origin - Instant::ZERO)),
            result => result,
        }
    }

    /// Runs the updates due up to and including `now`.
    pub fn settle(&mut self, now: Instant) {
        self.qdisc.settle(clock(now, self.origin));
    }

    /// The timer of Linux's implementation, if the discipline has its arithmetic and it has one. Between its expiries
    /// nothing is due; without a timer in the kernel, updates run before the next call.
    pub fn ticks(&self) -> Option<Ticks> {
        ticks(&self.named)
    }

    /// Starts as at its creation, at `now` and without packets, which the kernel has freed. If the kernel, which cannot
    /// wait for memory here, refuses that of a second queue, this one forgets its packets and keeps its state.
    pub fn reset(&mut self, now: Instant) {
        let named = configured(&self.text, now).unwrap_or_else(|_| self.named.clone());
        let (setup, origin) = (Setup { now, ..self.setup }, in_kernel::origin(&named, now));
        match empty(&named, self.limits, &setup, origin) {
            Ok(qdisc) => {
                self.spelling = spelling(self.limits, &named);
                (self.qdisc, self.named, self.setup, self.origin) = (qdisc, named, setup, origin);
            }
            Err(_) => drop_all(&mut *self.qdisc, clock(now, self.origin), &mut |_: Meta, _: Handle, _: DropReason| {}),
        }
    }

    /// Whether the kernel offers the segments of a super-packet in its place.
    pub fn splits_gso(&self) -> bool {
        self.qdisc.splits_gso()
    }

    /// Shortest spelling and limits.
    pub fn spelling(&self) -> &str {
        &self.spelling
    }

    /// Writes counters and state variables at `now` as one line, `NAME VALUE NAME VALUE …`; times in seconds. Allocates
    /// nothing, since the kernel holds the queue's lock.
    pub fn state(&mut self, now: Instant, text: &mut dyn Write) {
        self.settle(now);
        let stats = *self.qdisc.stats();
        let (arrived, departed, marked) = (stats.arrived, stats.departed, stats.marked);
        let _ = write!(text, "arrived {} departed {} marked {}", arrived.packets, departed.packets, marked.packets);
        for reason in DropReason::ALL {
            let dropped = stats.dropped[reason as usize].packets;
            if dropped > 0 {
                let _ = write!(text, " dropped-{} {dropped}", reason.name());
            }
        }
        self.qdisc.observe(&mut |name, value| {
            let _ = write!(text, " {name} {value}");
        });
    }
}

fn spelling(limits: Limits, named: &NamedConfig) -> String {
    format!("limit {} {}", limits.to_string().replace(' ', ""), named.spelling())
}

/// Builds the discipline with all its memory.
fn empty(
    named: &NamedConfig,
    limits: Limits,
    setup: &Setup,
    origin: Instant,
) -> Result<Box<dyn Qdisc<Handle> + Send>, ReservationError> {
    let mut memory = Reservation::new(SMALLEST, MOST_BYTES);
    // Building cannot be refused memory: it is requested, and released, before.
    let mut built = Vec::<u8>::new();
    memory.vec(&mut built, usize::try_from(named.config.built_bytes()).unwrap_or(usize::MAX))?;
    drop(core::hint::black_box(built));
    let link = Link { uptime: origin - Instant::ZERO, ..setup.link };
    let mut qdisc = named.config.build(limits, Host { link, rng: Rng::from_state(setup.seed) });
    if !qdisc.paces() {
        qdisc.reserve(&mut memory)?;
    }
    Ok(qdisc)
}

/// Time of the discipline's clock at `now` of the kernel's.
#[inline]
fn clock(now: Instant, origin: Instant) -> Instant {
    Instant::ZERO + (now - origin)
}

/// Reads the text; a discipline whose updates count from its creation in the kernel gets the time of it.
fn configured(text: &str, now: Instant) -> Result<NamedConfig, String> {
    let read = |text: &str| NamedConfig::parse_with(text, &Own).map_err(|error| error.to_string());
    let named = read(text)?;
    match in_kernel::creation_words(&named, now) {
        Some(words) => read(&format!("{text} {words}")),
        None => Ok(named),
    }
}

/// Timers of Linux: `pie_init` and `pie_timer` of sch_pie.c, their twins of sch_fq_pie.c, `__red_change` and
/// `red_adaptative_timer` of sch_red.c, `sfq_perturbation` of sch_sfq.c.
fn ticks(named: &NamedConfig) -> Option<Ticks> {
    let time = |param: &str| match named.config.value(param) {
        Some(Value::Time(span)) => Some(span),
        _ => None,
    };
    let half = Duration::from_millis(500);
    match named.algorithm().name {
        _ if !named.profile.starts_with("linux") => None,
        "pie" | "fq_pie" => Some(Ticks { first: half, period: time("tupdate")? }),
        "red" | "ared" if named.config.value("adaptive") != Some(Value::Choice("off")) => {
            Some(Ticks { first: half, period: half })
        }
        "sfq" | "sfq_red" => {
            let period = time("perturb_period").filter(|&period| period > Duration::ZERO)?;
            Some(Ticks { first: period, period })
        }
        _ => None,
    }
}

/// The kernel as a discipline's host.
struct KernelSink<'a>(&'a mut dyn Kernel);

impl Sink<Handle> for KernelSink<'_> {
    fn dropped(&mut self, meta: Meta, packet: Handle, reason: DropReason) {
        self.0.dropped(packet, &meta, reason);
    }

    fn tcp_header(&self, packet: &Handle) -> Option<TcpView> {
        let mut bytes = [0; MAX_HEAD];
        let copied = self.0.head(*packet, &mut bytes).min(MAX_HEAD);
        TcpView::of_ip(&bytes[..copied])
    }
}

/// Linux's length of a device's transmit queue.
const DEFAULT_LIMITS: Limits = Limits::packets(1000);
/// An empty UDP datagram or ICMP message over IPv4, as a device without link-layer headers accounts it: only raw sockets
/// send less.
const SMALLEST: u32 = 28;
/// Memory of a queue: more than a million packets.
const MOST_BYTES: u64 = 128 << 20;
/// IPv6 and TCP headers with all options.
const MAX_HEAD: usize = 120;
