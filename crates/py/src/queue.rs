//! A single queue, driven step by step from Python.

use crate::classes::{ClassFinder, check_effects, check_fault};
use crate::error::{UnsignedInt, check, input};
use pyo3::prelude::*;
use sojourn_aqm::class::ClassId;
use sojourn_aqm::registry::AnyConfig;
use sojourn_aqm::{
    DequeueResult, DropReason, Ecn, EnqueueResult, Host, Instant, Limits, Link, Meta, Qdisc, Rng, units,
};
use sojourn_sim::scenario::{AqmSpec, MIN_MTU};
use std::collections::BTreeMap;
use std::sync::Mutex;

type Tag = Option<Py<PyAny>>;

/// A queue under a queue manager; the caller owns the clock.
///
/// `aqm` in tc's syntax, `limit` like "1000 packets", `rate` of the link below like "10 Mbit/s", `mtu` in bytes. Times
/// are integer nanoseconds and never go back. `ecn` is the field of the IP header: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
#[pyclass(module = "sojourn._core")]
pub struct Queue {
    /// Never locked: every access is exclusive (`get_mut`), and the mutex only makes the type `Sync` for PyO3.
    qdisc: Mutex<Box<dyn Qdisc<Tag> + Send>>,
    dropped: Vec<(Tag, &'static str)>,
    now: Instant,
    config: AnyConfig,
    /// Time from [`DequeueResult::NotBefore`] of the last `pop`.
    not_before: Option<Instant>,
}

#[pymethods]
impl Queue {
    #[new]
    #[pyo3(
        signature = (aqm, limit = "1000 packets", rate = "10 Mbit/s", mtu = UnsignedInt::of(1500), seed = UnsignedInt::of(1)),
        text_signature = "(aqm, limit='1000 packets', rate='10 Mbit/s', mtu=1500, seed=1)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(py: Python<'_>, aqm: &str, limit: &str, rate: &str, mtu: UnsignedInt, seed: UnsignedInt) -> PyResult<Self> {
        let at = |argument: &'static str| move |error: String| input(format!("{argument}: {error}"));
        let aqm = check(py, AqmSpec::parse_with(aqm, &ClassFinder::of(".")).map_err(|e| format!("aqm: {e}")))?;
        check_effects(&aqm.config, "a standalone queue")?;
        let limits = Limits::parse(limit).map_err(|e| at("limit")(e.0))?;
        let link_rate = units::rate(rate).map_err(|e| at("rate")(e.0))?;
        if link_rate.as_bps() == 0 {
            return Err(at("rate")(format!(r#"{rate:?} is not above zero; write e.g. "10 Mbit/s""#)));
        }
        let mtu: u32 = mtu.get("mtu")?;
        if u64::from(mtu) < MIN_MTU {
            return Err(input(format!("mtu: {mtu} B is below the minimum of IPv4; give at least {MIN_MTU}")));
        }
        let link = Link::new(link_rate, mtu);
        let host = Host { link, rng: Rng::stream(seed.get("seed")?, "queue", 0) };
        let qdisc = Mutex::new(aqm.config.build(limits, host));
        raised(py)?;
        check_fault([&aqm.config])?;
        Ok(Self { qdisc, dropped: Vec::new(), now: Instant::ZERO, config: aqm.config, not_before: None })
    }

    /// Offers a packet of `size` bytes at `now_ns`: "queued", "marked", or "dropped:" and the reason.
    ///
    /// `flow` is the flow number, `hosts` the numbers of its sending and receiving host, `class_` its class or
    /// priority, and `tag` is returned when it leaves.
    #[pyo3(
        signature = (now_ns, size, flow = UnsignedInt::of(0), ecn = UnsignedInt::of(0), tag = None, dscp = UnsignedInt::of(0), hosts = (UnsignedInt::of(0), UnsignedInt::of(0)), class_ = ""),
        text_signature = "($self, now_ns, size, flow=0, ecn=0, tag=None, dscp=0, hosts=(0, 0), class_='')"
    )]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn push(
        &mut self,
        py: Python<'_>,
        now_ns: UnsignedInt,
        size: UnsignedInt,
        flow: UnsignedInt,
        ecn: UnsignedInt,
        tag: Tag,
        dscp: UnsignedInt,
        hosts: (UnsignedInt, UnsignedInt),
        class_: &str,
    ) -> PyResult<String> {
        let ecn = Ecn::ALL.get(ecn.get::<usize>("ecn")?).copied();
        let ecn = ecn.ok_or_else(|| input("ecn: unknown value; 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE"))?;
        let size = size.get("size")?;
        if size == 0 {
            return Err(input("size: 0 B is not a packet; give at least 1"));
        }
        let dscp: u8 = dscp.get("dscp")?;
        if dscp > 63 {
            return Err(input(format!("dscp: {dscp} is not a code point; from 0 to 63, e.g. 46 for EF")));
        }
        let hosts = (hosts.0.get("hosts")?, hosts.1.get("hosts")?);
        let class = match class_ {
            "" => ClassId::NONE,
            text => ClassId::parse(text, 1).map_err(|e| input(format!("class_: {e}")))?,
        };
        let meta = Meta { dscp, hosts, class, ..Meta::new(size, flow.get("flow")?).with_ecn(ecn) };
        let now = self.advance(now_ns)?;
        let (qdisc, dropped) = self.parts();
        let fate = qdisc.enqueue(now, meta, tag, &mut |_, tag, reason: DropReason| dropped.push((tag, reason.name())));
        raised(py)?;
        check_fault([&self.config])?;
        Ok(match fate {
            EnqueueResult::Queued => "queued".to_string(),
            EnqueueResult::Marked => "marked".to_string(),
            EnqueueResult::Dropped(reason) => format!("dropped:{}", reason.name()),
        })
    }

    /// Dequeues the next packet at `now_ns`: its tag, its sojourn time in nanoseconds, and whether it carries a mark;
    /// None if there is none. The manager may drop packets on the way.
    fn pop(&mut self, py: Python<'_>, now_ns: UnsignedInt) -> PyResult<Option<(Tag, i64, bool)>> {
        let now = self.advance(now_ns)?;
        self.not_before = None;
        let (qdisc, dropped) = self.parts();
        let next = qdisc.dequeue(now, &mut |_, tag, reason: DropReason| dropped.push((tag, reason.name())));
        raised(py)?;
        check_fault([&self.config])?;
        Ok(match next {
            DequeueResult::Packet(meta, tag) => Some((tag, (now - meta.enqueued).as_nanos(), meta.ecn == Ecn::Ce)),
            DequeueResult::Empty => None,
            DequeueResult::NotBefore(at) => {
                self.not_before = Some(at);
                None
            }
        })
    }

    /// Earliest time at which queued packets may leave, if the last pop found that none may leave yet; only of queues
    /// that shape.
    fn not_before(&self) -> Option<u64> {
        self.not_before.map(Instant::as_nanos)
    }

    /// Statistics as `tc -s -j qdisc` prints them, as JSON; None for a discipline that tc does not have.
    fn statistics(&mut self) -> Option<String> {
        self.parts().0.statistics()
    }

    /// Tags and reasons of the packets dropped since the last call.
    fn dropped(&mut self) -> Vec<(Tag, &'static str)> {
        std::mem::take(&mut self.dropped)
    }

    /// Packets and bytes queued.
    fn backlog(&mut self) -> (u32, u64) {
        let backlog = self.parts().0.backlog();
        (backlog.packets, backlog.bytes)
    }

    /// State variables of the queue manager by name; times in seconds.
    fn state(&mut self, py: Python<'_>) -> PyResult<BTreeMap<&'static str, f64>> {
        let mut state = BTreeMap::new();
        self.parts().0.observe(&mut |name, value| {
            state.insert(name, value);
        });
        raised(py)?;
        Ok(state)
    }
}

impl Queue {
    fn advance(&mut self, now_ns: UnsignedInt) -> PyResult<Instant> {
        let (now_ns, last) = (now_ns.get::<u64>("now_ns")?, self.now.as_nanos());
        if now_ns < last {
            return Err(input(format!("now_ns: {now_ns} is before {last}, the time of an earlier call")));
        }
        if now_ns - last > MAX_GAP {
            return Err(input(format!("now_ns: {now_ns} is over a day after {last}; let the clock start at 0")));
        }
        self.now = Instant::from_nanos(now_ns);
        Ok(self.now)
    }

    fn parts(&mut self) -> (&mut dyn Qdisc<Tag>, &mut Vec<(Tag, &'static str)>) {
        let qdisc = self.qdisc.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        (&mut **qdisc, &mut self.dropped)
    }
}

/// Returns an exception that an AQM in Python left pending.
fn raised(py: Python<'_>) -> PyResult<()> {
    PyErr::take(py).map_or(Ok(()), Err)
}

/// Maximum nanoseconds between calls, a day. The AQM catches up on every periodic update since the last call; from the
/// Unix epoch, that would take minutes.
const MAX_GAP: u64 = 86_400_000_000_000;
