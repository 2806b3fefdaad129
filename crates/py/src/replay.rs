//! Replays arrivals through one or two qdiscs, and reports the first difference.

use crate::classes::{SharedLibraries, check_effects, check_fault};
use crate::error::{UnsignedInt, check, input};
use crate::slices;
use crate::values::limits_of;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value, json};
use sojourn_aqm::class::ClassId;
use sojourn_aqm::in_kernel;
use sojourn_aqm::replay::tc::TcSpec;
use sojourn_aqm::replay::{self, Arrival, Comparison, Difference, Fate, RecordedFate, Recording, Reference, Replay};
use sojourn_aqm::replay::{Call, CallKind, Calls, DropNotification, ReplayChange, ReplayLink, State};
use sojourn_aqm::{DropReason, Duration, Ecn, Host, Instant, Link, Meta, Qdisc, Rate, Rng, units};
use sojourn_sim::scenario::{AqmError, AqmSpec, LinkSpec, UPTIME};
use sojourn_sim::{Transmitter, stream_of_queue};
use std::path::Path;

type Queue = dyn Qdisc<u32> + Send;

/// The link, the queue's limit and random stream, and the conventions of the recording.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Setup {
    rate: String,
    /// Bytes that the link adds to each packet, below the queue.
    overhead: u32,
    mtu: u32,
    limit: String,
    seed: u64,
    /// Number of the link, which selects the simulator's random streams.
    #[pyo3(default)]
    link: u64,
    /// Whether the arrivals are from the Linux kernel; otherwise they are from the simulator.
    kernel: bool,
    /// The fields of [`DropNotification`], in order.
    told: (bool, bool, bool),
    /// Whether the recorded queue dropped arriving packets only.
    drops_on_arrival: bool,
    /// Origin of the reported times, on the queue's clock.
    origin_ns: u64,
    /// If the link changes during the run: its table (`link`) and the changes (`changes`, each with `at`), as JSON;
    /// rate and limits are then read from it.
    #[pyo3(default)]
    changing: Option<String>,
    /// Propagation delay of the link, 0 if unknown.
    #[pyo3(default)]
    delay_ns: u64,
    /// Time of the creation of a queue whose calls are recorded.
    #[pyo3(default)]
    created_ns: Option<u64>,
}

/// One packet per row.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Columns<'py> {
    time_ns: PyReadonlyArray1<'py, u64>,
    bytes: PyReadonlyArray1<'py, u32>,
    flow: PyReadonlyArray1<'py, u32>,
    ecn: PyReadonlyArray1<'py, u8>,
    from_host: PyReadonlyArray1<'py, u32>,
    to_host: PyReadonlyArray1<'py, u32>,
    dscp: PyReadonlyArray1<'py, u8>,
    /// For a queue that duplicates: whether this is the duplicate of the packet before.
    #[pyo3(default)]
    copy: Option<PyReadonlyArray1<'py, bool>>,
    /// Linux's `skb->priority`.
    #[pyo3(default)]
    class_id: Option<PyReadonlyArray1<'py, u32>>,
    /// Segments of a super-packet, otherwise 1.
    #[pyo3(default)]
    segments: Option<PyReadonlyArray1<'py, u16>>,
    /// Times of all calls of a recorded queue, and their kinds: 0 the next arrival, 1 a request for a packet, 2 updates.
    #[pyo3(default)]
    call_ns: Option<PyReadonlyArray1<'py, u64>>,
    #[pyo3(default)]
    call_kind: Option<PyReadonlyArray1<'py, u8>>,
}

/// Recorded verdict of each packet: a code and its time.
///
/// The codes are those of the column `fate` of a log, then 6 dropped with notification of the sender, 7 dropped without
/// (both without a time), 8 still queued at that time, 9 dropped at that time for an unknown reason, 10 not to be
/// compared, 11 dropped at that time with the queue manager that another one replaced.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct FateColumns<'py> {
    fate: PyReadonlyArray1<'py, u8>,
    fate_ns: PyReadonlyArray1<'py, u64>,
}

/// Plays arrivals through the discipline `a` and compares with `b` or with the recorded verdicts; JSON.
///
/// The interpreter lock is released meanwhile; `progress` as for `simulate`.
#[pyfunction]
#[pyo3(signature = (a, b, setup, arrivals, recorded = None, progress = None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn diff(
    py: Python<'_>,
    a: &str,
    b: Option<&str>,
    setup: Setup,
    arrivals: Columns<'_>,
    recorded: Option<FateColumns<'_>>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let (copies, calls) = (arrivals.copies()?, arrivals.calls()?);
    let arrivals = arrivals.read()?;
    let played = Played { setup: &setup, arrivals: &arrivals, copies: copies.as_deref(), calls: calls.as_deref() };
    let parse = |aqm: &str| check(py, setup.read(aqm));
    let (a, b) = (&parse(a)?, b.map(parse).transpose()?);
    let b = b.as_ref();
    let reference = match (b, recorded) {
        (Some(b), _) => Reference::Replay(Box::new(played.replay(b)?)),
        (None, Some(recorded)) => {
            let fates = recorded.read(arrivals.len())?;
            Reference::Recording(Recording::new(&arrivals, fates, setup.drop_notification(), setup.drops_on_arrival))
        }
        (None, None) => return Err(input("nothing to compare with; give a second AQM")),
    };
    let mut comparison = Comparison::new(&arrivals, played.replay(a)?, reference);
    slices::run(py, progress.as_ref(), || {
        let more = (0..STEPS_PER_SLICE).all(|_| comparison.step());
        more.then(|| comparison.share())
    })?;
    let first = match comparison.judged_before() {
        Some(packet) => Some(Difference {
            packet,
            at: arrivals[packet].at,
            a: State::before_arrival(played.replay(a)?, packet),
            b: b.map(|b| Ok::<_, PyErr>(State::before_arrival(played.replay(b)?, packet))).transpose()?,
        }),
        None => comparison.first().cloned(),
    };
    check_fault([Some(a), b].into_iter().flatten().map(|aqm| &aqm.config))?;
    Ok(report(&setup, &arrivals, &comparison, first.as_ref()).to_string())
}

/// Settings for comparing `aqm` with a queue recorded in tc's syntax.
///
/// `aqm`: its shortest spelling with the parameters of `line` that it does not give itself; `limit` of its queue;
/// `told` and `drops_on_arrival` as `diff` takes them; `instead`: the name of the same discipline as Linux has it, if
/// `aqm` is another variant, else None.
#[pyfunction]
pub fn tc_queue<'py>(
    py: Python<'py>,
    aqm: &str,
    line: &str,
    created_ns: Option<UnsignedInt>,
) -> PyResult<Bound<'py, PyDict>> {
    let created = created_ns.map(|created| created.get("created")).transpose()?.map(Instant::from_nanos);
    let line = TcSpec::parse(line).map_err(input)?;
    let (named, limits) = line.apply(aqm, created).map_err(input)?;
    let DropNotification { early, limit, queued } = line.drop_notification();
    let queue = PyDict::new(py);
    queue.set_item("aqm", named.spelling())?;
    queue.set_item("limit", limits.to_string())?;
    queue.set_item("told", (early, limit, queued))?;
    queue.set_item("drops_on_arrival", line.drops_on_arrival())?;
    queue.set_item("instead", line.linux_equivalent(aqm))?;
    Ok(queue)
}

/// Normalised spelling of a rate: `9.600000000000001 Mbit/s` is 9.6 Mbit/s.
#[pyfunction]
pub fn spelled_rate(text: &str) -> PyResult<String> {
    Ok(link_rate(text)?.to_string())
}

/// Synthetic arrivals that bring out differences, as columns: `packets` of eight flows for a link of `rate`.
#[pyfunction]
pub fn made_up_arrivals<'py>(
    py: Python<'py>,
    seed: UnsignedInt,
    packets: UnsignedInt,
    rate: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let packets: usize = packets.get("packets")?;
    if packets > MAX_ARRIVALS {
        return Err(input(format!("packets: {packets} is out of range; from 1 to {MAX_ARRIVALS}")));
    }
    let link = link_rate(rate)?;
    if link < MIN_RATE {
        return Err(input(format!("rate: {rate:?} is too low for synthetic arrivals; give at least {MIN_RATE}")));
    }
    let seed = seed.get("seed")?;
    let arrivals = py.detach(|| replay::arrivals(seed, packets, link));
    let columns = PyDict::new(py);
    let of = |value: fn(&Arrival) -> u32| PyArray1::from_iter(py, arrivals.iter().map(value));
    columns.set_item("time_ns", PyArray1::from_iter(py, arrivals.iter().map(|a| a.at.as_nanos())))?;
    columns.set_item("bytes", of(|a| a.meta.len))?;
    columns.set_item("flow", of(|a| a.meta.flow))?;
    columns.set_item("ecn", PyArray1::from_iter(py, arrivals.iter().map(|a| a.meta.ecn as u8)))?;
    columns.set_item("from_host", of(|a| a.meta.hosts.0))?;
    columns.set_item("to_host", of(|a| a.meta.hosts.1))?;
    columns.set_item("dscp", PyArray1::from_iter(py, arrivals.iter().map(|a| a.meta.dscp)))?;
    Ok(columns)
}

/// Recorded or synthetic arrivals.
struct Played<'a> {
    setup: &'a Setup,
    arrivals: &'a [Arrival],
    copies: Option<&'a [bool]>,
    calls: Option<&'a [Call]>,
}

impl<'a> Played<'a> {
    fn replay(&self, aqm: &AqmSpec) -> PyResult<Replay<'a, Queue>> {
        if self.copies.is_none() {
            check_effects(&aqm.config, "a replay")?;
        }
        if let Some(changing) = &self.setup.changing {
            return self.changing_replay(aqm, changing);
        }
        let setup = self.setup;
        let limits = limits_of(&setup.limit)?;
        let rate = link_rate(&setup.rate)?;
        let origin = setup.origin(aqm);
        // The kernel's recordings use the kernel's clock, so the queue's uptime is that of its origin.
        let (wire, rng, uptime) = match setup.kernel {
            true => {
                let (wire, rng) = (ReplayLink::kernel(rate, setup.overhead), Rng::from_state(setup.seed));
                (wire, rng, origin - Instant::ZERO)
            }
            false => (ReplayLink::simulator(rate), Rng::stream(setup.seed, "queue", setup.link), UPTIME),
        };
        let delay = Duration::from_nanos(i64::try_from(setup.delay_ns).unwrap_or(i64::MAX));
        let host = Host { link: Link { uptime, delay, ..Link::new(rate, setup.mtu) }, rng };
        let mut replay = Replay::new(self.arrivals, aqm.queue(limits, host), wire);
        if let Some(calls) = self.calls {
            replay = replay.with_calls(Calls { calls, origin });
        }
        Ok(match self.copies {
            Some(copies) => replay.with_copies(copies),
            None => replay,
        })
    }

    /// A replay with the changes of the recorded run: of the rate and the limits, and of the queue manager if `aqm` is
    /// the recorded one.
    fn changing_replay(&self, aqm: &AqmSpec, changing: &str) -> PyResult<Replay<'a, Queue>> {
        let (seed, link) = (self.setup.seed, self.setup.link as usize);
        let values: Value = serde_json::from_str(changing).map_err(|e| input(format!("changes: {e}")))?;
        let changes = values["changes"].as_array().map_or(&[][..], Vec::as_slice);
        let read = LinkSpec::parse_changing("link", &values["link"], changes, Path::new("/"), &SharedLibraries);
        let spec = read.map_err(|error| input(error.to_string()))?;
        let mut transmitter = Transmitter::new(&spec.service, spec.mtu, seed, link)
            .ok_or_else(|| input("link: it has no transmitter of its own"))?;
        let wire = ReplayLink::scheduled(move |start, bytes| transmitter.send(start, bytes).free);
        let (follows, mut limits) = (aqm.config == spec.aqm.config, spec.limits);
        let host = |link_spec: &LinkSpec, number| Host {
            link: link_spec.nominal_link(),
            rng: stream_of_queue(seed, link, number),
        };
        let mut queues = Vec::new();
        for number in 1.. {
            let Some((at, changed)) = spec.planned(number) else { break };
            let Some(after) = changed.queue else { continue };
            let (manager, keeps) = if follows { (&after.aqm, changed.keeps) } else { (aqm, true) };
            if follows || after.limits != limits {
                let queue = manager.queue(after.limits, host(&after, number as u64));
                queues.push(ReplayChange { at: Instant::ZERO + at, queue, keeps });
            }
            limits = after.limits;
        }
        let replay = Replay::new(self.arrivals, aqm.queue(spec.limits, host(&spec, 0)), wire).with_changes(queues);
        Ok(match self.copies {
            Some(copies) => replay.with_copies(copies),
            None => replay,
        })
    }
}

impl Setup {
    fn read(&self, aqm: &str) -> Result<AqmSpec, AqmError> {
        let read = |text: &str| AqmSpec::parse_with(text, &SharedLibraries);
        let spec = read(aqm)?;
        let words = self.created().and_then(|created| in_kernel::creation_words(&spec.named(), created));
        words.map_or(Ok(spec), |words| read(&format!("{aqm} {words}")))
    }

    /// Origin of a queue's clock.
    fn origin(&self, aqm: &AqmSpec) -> Instant {
        self.created().map_or(Instant::ZERO, |created| in_kernel::origin(&aqm.named(), created))
    }

    fn created(&self) -> Option<Instant> {
        self.created_ns.map(Instant::from_nanos)
    }

    fn drop_notification(&self) -> DropNotification {
        let (early, limit, queued) = self.told;
        DropNotification { early, limit, queued }
    }

    fn nanos(&self, at: Instant) -> i64 {
        (at - Instant::from_nanos(self.origin_ns)).as_nanos()
    }
}

impl Columns<'_> {
    fn copies(&self) -> PyResult<Option<Vec<bool>>> {
        let Some(column) = &self.copy else { return Ok(None) };
        let copies = column.as_slice()?;
        if copies.len() != self.time_ns.as_slice()?.len() {
            return Err(input("arrivals: the columns differ in length"));
        }
        if copies.first() == Some(&true) {
            return Err(input("arrivals: packet 0 duplicates no packet"));
        }
        Ok(Some(copies.to_vec()))
    }

    fn calls(&self) -> PyResult<Option<Vec<Call>>> {
        let (Some(times), Some(kinds)) = (&self.call_ns, &self.call_kind) else { return Ok(None) };
        let (times, kinds) = (times.as_slice()?, kinds.as_slice()?);
        let arrivals = kinds.iter().filter(|&&kind| kind == 0).count();
        if times.len() != kinds.len() || arrivals != self.time_ns.as_slice()?.len() {
            return Err(input("calls: not one per arrival and request"));
        }
        let one = |(i, (&at, &kind)): (usize, (&u64, &u8))| {
            let Some(&kind) = [CallKind::Arrival, CallKind::Service, CallKind::Update].get(usize::from(kind)) else {
                return Err(input(format!("calls: call {i} has the unknown kind {kind}")));
            };
            if i > 0 && (at < times[i - 1] || at - times[i - 1] > MAX_GAP) {
                return Err(input(format!("calls: call {i} is before the previous one, or over a day after it")));
            }
            Ok(Call { at: Instant::from_nanos(at), kind })
        };
        times.iter().zip(kinds).enumerate().map(one).collect::<PyResult<_>>().map(Some)
    }

    fn read(&self) -> PyResult<Vec<Arrival>> {
        let (time, bytes, flow) = (self.time_ns.as_slice()?, self.bytes.as_slice()?, self.flow.as_slice()?);
        let (ecn, from, to) = (self.ecn.as_slice()?, self.from_host.as_slice()?, self.to_host.as_slice()?);
        let (dscp, rows) = (self.dscp.as_slice()?, time.len());
        let class = self.class_id.as_ref().map(|column| column.as_slice()).transpose()?;
        let segments = self.segments.as_ref().map(|column| column.as_slice()).transpose()?;
        let optional = [class.map(<[_]>::len), segments.map(<[_]>::len)].map(|len| len.unwrap_or(rows));
        let lengths = [bytes.len(), flow.len(), ecn.len(), from.len(), to.len(), dscp.len()];
        if lengths.iter().chain(&optional).any(|&len| len != rows) {
            return Err(input("arrivals: the columns differ in length"));
        }
        let row = |i: usize| {
            let wrong = |what: &str| Err(input(format!("arrivals: packet {i} {what}")));
            let Some(&field) = Ecn::ALL.get(ecn[i] as usize) else { return wrong("has an ECN field above 3") };
            if bytes[i] == 0 || bytes[i] > MAX_BYTES {
                return wrong("has a size out of range; from 1 B to 1 GB");
            }
            if i > 0 && time[i] < time[i - 1] {
                return wrong("arrives before the one before it");
            }
            // A queue catches up on every periodic update since the last arrival.
            if i > 0 && time[i] - time[i - 1] > MAX_GAP {
                return wrong("arrives over a day after the one before it");
            }
            if dscp[i] > 63 {
                return wrong("has a DSCP above 63");
            }
            let class = class.map_or(0, |class| class[i]);
            let meta = Meta {
                hosts: (from[i], to[i]),
                dscp: dscp[i],
                class: ClassId::new((class >> 16) as u16, class as u16),
                segments: segments.map_or(1, |segments| segments[i].max(1)),
                ..Meta::new(bytes[i], flow[i]).with_ecn(field)
            };
            Ok(Arrival { at: Instant::from_nanos(time[i]), meta })
        };
        (0..rows).map(row).collect()
    }
}

impl FateColumns<'_> {
    fn read(&self, rows: usize) -> PyResult<Vec<RecordedFate>> {
        let (fate, time) = (self.fate.as_slice()?, self.fate_ns.as_slice()?);
        if [fate.len(), time.len()] != [rows; 2] {
            return Err(input("recorded: the columns are not as long as the arrivals"));
        }
        let one = |(i, (&fate, &time)): (usize, (&u8, &u64))| {
            let at = Instant::from_nanos(time);
            Ok(match fate {
                0 | 1 => RecordedFate::Sent { at, marked: fate == 1 },
                2..=5 => RecordedFate::DroppedAt { at, reason: Some(DropReason::ALL[fate as usize - 2]) },
                11 => RecordedFate::DroppedAt { at, reason: Some(DropReason::Replaced) },
                6 | 7 => RecordedFate::Dropped { notified: fate == 6 },
                8 => RecordedFate::Waiting { until: at },
                9 => RecordedFate::DroppedAt { at, reason: None },
                10 => RecordedFate::Unknown,
                _ => return Err(input(format!("recorded: packet {i} has the unknown fate {fate}"))),
            })
        };
        fate.iter().zip(time).enumerate().map(one).collect()
    }
}

fn link_rate(text: &str) -> PyResult<Rate> {
    match units::rate(text) {
        Ok(rate) if rate.as_bps() > 0 => Ok(rate),
        Ok(_) => Err(input(format!(r#"rate: {text:?} is not above zero; write e.g. "10 Mbit/s""#))),
        Err(error) => Err(input(format!("rate: {}", error.0))),
    }
}

fn report(
    setup: &Setup,
    arrivals: &[Arrival],
    comparison: &Comparison<'_, Queue>,
    first: Option<&Difference>,
) -> Value {
    let first = first.map(|first| difference(setup, arrivals, comparison, first));
    json!({
        "packets": comparison.compared(),
        "agreeing": comparison.agreeing(),
        "same_verdicts": comparison.same_kinds(),
        "differing_labels": comparison.differing_labels(),
        "first_difference": first,
    })
}

fn difference(setup: &Setup, arrivals: &[Arrival], comparison: &Comparison<'_, Queue>, first: &Difference) -> Value {
    let (i, Arrival { at, meta }) = (first.packet, arrivals[first.packet]);
    let a = fate(setup, comparison.fate_a(i));
    let b = comparison.fate_b(i).map_or_else(|it| recorded(setup, it, at), |it| fate(setup, it));
    json!({
        "index": i,
        "arrival": { "time_ns": setup.nanos(at), "flow": meta.flow, "bytes": meta.len, "ecn": ECN_NAMES[meta.ecn as usize] },
        "at_ns": setup.nanos(first.at),
        "clock_ns": first.at.as_nanos(),
        "a": with_state(a, Some(&first.a)),
        "b": with_state(b, first.b.as_ref()),
    })
}

fn with_state(mut fate: Value, state: Option<&State>) -> Value {
    let variables = |state: &State| -> Map<String, Value> {
        let backlog = [("packets", state.backlog.packets.into()), ("bytes", state.backlog.bytes.into())];
        let backlog = backlog.into_iter().map(|(unit, n)| (format!("backlog_{unit}"), n));
        backlog.chain(state.variables.iter().map(|&(name, value)| (name.to_string(), json!(value)))).collect()
    };
    fate["state"] = state.map_or(Value::Null, |state| variables(state).into());
    fate
}

fn fate(setup: &Setup, fate: Fate) -> Value {
    let reason = match fate {
        Fate::Dropped { reason, .. } => Some(reason),
        _ => None,
    };
    described(setup, fate.kind(setup.drop_notification()), fate.at(), reason)
}

fn recorded(setup: &Setup, fate: RecordedFate, arrival: Instant) -> Value {
    let (at, reason) = match fate {
        RecordedFate::Sent { at, .. } => (Some(at), None),
        RecordedFate::DroppedAt { at, reason } => (Some(at), reason),
        RecordedFate::Dropped { .. } | RecordedFate::Waiting { .. } | RecordedFate::Unknown => (None, None),
    };
    described(setup, fate.kind(arrival), at, reason)
}

fn described(setup: &Setup, verdict: replay::FateKind, at: Option<Instant>, reason: Option<DropReason>) -> Value {
    let nanos = at.map(|at| setup.nanos(at));
    let departed = matches!(verdict, replay::FateKind::Pass | replay::FateKind::Mark);
    json!({
        "verdict": verdict.name(),
        "departure_ns": nanos.filter(|_| departed),
        "dropped_ns": nanos.filter(|_| !departed),
        "reason": reason.map(DropReason::name),
    })
}

const ECN_NAMES: [&str; 4] = ["not-ect", "ect1", "ect0", "ce"];
const MAX_BYTES: u32 = 1_000_000_000;
const MAX_GAP: u64 = Duration::from_secs(86_400).as_nanos() as u64;
/// Maximum synthetic arrivals, about a gigabyte.
const MAX_ARRIVALS: usize = 10_000_000;
/// Minimum rate of synthetic arrivals. Below it they would be hours apart, and a queue would spend its time on updates.
const MIN_RATE: Rate = Rate::from_bps(1000);
/// Steps between checks of the clock, about a millisecond.
const STEPS_PER_SLICE: u32 = 4096;
