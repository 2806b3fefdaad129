//! Runs of other engines: their inputs from a scenario, and statistics from their recordings.

use crate::controls::parse_described;
use crate::error::{UnsignedInt, check, input};
use crate::output::Output;
use crate::values::limits_of;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use sojourn_aqm::{DropReason, Duration, Ecn, Instant, Meta};
use sojourn_sim::scenario::{HostTable, Scenario};
use sojourn_sim::{
    BulkShares, DropPolicy, EndpointCounts, EndpointIndex, EntryKind, ForwardTotals, Histogram, PayloadSummary,
    Quantiles, RecordingAnalysis, RecordingEntry, Statistics, paths_of_document,
};

/// Every source of a scenario in numeric order: `group`, `start_ns`, `stop_ns` (None for never), and `times_ns`, the
/// times at which it sends each datagram or requests each connection.
#[pyfunction]
pub fn plan<'py>(py: Python<'py>, scenario_json: &str, seed: UnsignedInt) -> PyResult<Bound<'py, PyList>> {
    let (seed, scenario) = (seed.get("seed")?, parse(py, scenario_json)?);
    let sources = PyList::empty(py);
    for planned in py.detach(|| sojourn_sim::plan(&scenario, seed)) {
        let source = PyDict::new(py);
        source.set_item("group", planned.group)?;
        source.set_item("start_ns", planned.start.as_nanos())?;
        source.set_item("stop_ns", (planned.stop < Instant::NEVER).then(|| planned.stop.as_nanos()))?;
        source.set_item("times_ns", PyArray1::from_iter(py, planned.times.iter().map(|at| at.as_nanos())))?;
        sources.append(source)?;
    }
    Ok(sources)
}

/// Numbers of the hosts of each source of a scenario, in numeric order: the source's and the sink's.
#[pyfunction]
pub fn hosts<'py>(py: Python<'py>, scenario_json: &str) -> PyResult<Bound<'py, PyArray2<u32>>> {
    let scenario = parse(py, scenario_json)?;
    let table = HostTable::of(&scenario);
    let members = (0..).zip(&scenario.flows).flat_map(|(group, flow)| (0..flow.count).map(move |i| (group, i)));
    let rows: Vec<Vec<u32>> = members.map(|(group, i)| <[u32; 2]>::from(table.pair(group, i)).to_vec()).collect();
    Ok(PyArray2::from_vec2(py, &rows)?)
}

/// State of the random stream of a link's queue in a run, before its first draw.
#[pyfunction]
pub fn state_of_queue(seed: UnsignedInt, link: usize) -> PyResult<u64> {
    Ok(sojourn_sim::stream_of_queue(seed.get("seed")?, link, 0).state())
}

/// Possible start times of a run's statistics, in ns; the first is the start of the run.
#[pyfunction]
pub fn starts<'py>(py: Python<'py>, scenario_json: &str) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let statistics = Statistics::of(&parse(py, scenario_json)?);
    Ok(PyArray1::from_iter(py, statistics.starts().iter().map(|at| at.as_nanos())))
}

/// Entries of a recording, in order of time.
///
/// `what` is 0 for a packet that arrives, 1 for one that is sent, 2 for one dropped later, 3 for one dropped because of
/// an arrival, 4 for one dropped with its queue, which was replaced, and 5 and the reason's number for one dropped for a
/// known reason. Packets are numbered from 0 in order of
/// arrival. Size, segments (1, or those of a super-packet), flow and hosts are read for arrivals only.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct EntryColumns<'py> {
    time_ns: PyReadonlyArray1<'py, u64>,
    what: PyReadonlyArray1<'py, u8>,
    link: PyReadonlyArray1<'py, u16>,
    packet: PyReadonlyArray1<'py, u32>,
    flow: PyReadonlyArray1<'py, u32>,
    bytes: PyReadonlyArray1<'py, u32>,
    segments: PyReadonlyArray1<'py, u16>,
    ecn: PyReadonlyArray1<'py, u8>,
    from_host: PyReadonlyArray1<'py, u32>,
    to_host: PyReadonlyArray1<'py, u32>,
}

/// Which limit a link's discipline has ("1000 packets", "unlimited"), and whether it also drops arrivals before that.
#[derive(FromPyObject)]
pub struct LinkLimit(String, bool);

/// Numbers of the links that the data and the acknowledgments of each flow group of a canonical scenario cross, in
/// order; empty in a wireless LAN. Link 2i is the forward direction of bottleneck i, 2i + 1 its reverse direction.
#[pyfunction]
pub fn paths(py: Python<'_>, scenario_json: &str) -> PyResult<Vec<(Vec<u16>, Vec<u16>)>> {
    let paths = check(py, serde_json::from_str(scenario_json).map(|document| paths_of_document(&document)))?;
    Ok(check(py, paths)?.iter().map(|paths| (paths.data.to_vec(), paths.acks.to_vec())).collect())
}

/// Statistics of a scenario's links from a recording: `warmup_s`, `links`, `hops` and `fingerprint` as in a summary,
/// and the tables of the packet probes; in `windows`, values that only the ends know are not numbers.
#[pyfunction]
pub fn summarise(
    py: Python<'_>,
    scenario_json: &str,
    seed: UnsignedInt,
    limits: Vec<LinkLimit>,
    entries: EntryColumns<'_>,
) -> PyResult<Output> {
    let (seed, scenario) = (seed.get("seed")?, parse(py, scenario_json)?);
    let limited = limits.iter().map(LinkLimit::read).collect::<PyResult<Vec<_>>>()?;
    if limited.len() != scenario.hops().count() * 2 {
        return Err(input("limits: give one for each link"));
    }
    let mut recorded = RecordingAnalysis::new(&scenario, seed, limited);
    for entry in entries.read()? {
        recorded.add(entry).map_err(input)?;
    }
    let (summary, tables) = recorded.finish();
    Output::of(py, serde_json::to_string(&summary).map_err(input)?, tables)
}

/// Mean, quantiles and maximum of times in ns, in ms; JSON.
#[pyfunction]
pub fn quantiles_ms(times_ns: PyReadonlyArray1<'_, u64>) -> PyResult<String> {
    let mut histogram = Histogram::default();
    times_ns.as_slice()?.iter().for_each(|&time| histogram.record(Duration::from_nanos(time as i64)));
    serde_json::to_string(&Quantiles::of(&histogram)).map_err(input)
}

/// Values at the head of `series` that belong to its transient, by MSER with batches of `batch` values; None if it has
/// not settled.
#[pyfunction]
pub fn mser(series: Vec<f64>, batch: usize) -> PyResult<Option<usize>> {
    if batch == 0 {
        return Err(input("batch: 0; write at least 1"));
    }
    Ok(sojourn_sim::mser(&series, batch))
}

/// `goodput_bps`, `bytes`, `delivered_bps` and `delivered_bytes` of a window; JSON.
///
/// `arrived` are bytes that arrived for the first time, `delivered` those delivered in order.
#[pyfunction]
pub fn payload_summary(arrived: u64, delivered: u64, seconds: f64) -> PyResult<String> {
    serde_json::to_string(&PayloadSummary::counted(arrived, delivered, seconds)).map_err(input)
}

/// Whether each flow group of a canonical scenario has bulk flows: they have data to send until the end of the run, at
/// no rate of their own.
#[pyfunction]
pub fn bulk_groups(py: Python<'_>, scenario_json: &str) -> PyResult<Vec<bool>> {
    let scenario = parse(py, scenario_json)?;
    Ok(scenario.flows.iter().map(|flow| flow.is_bulk(scenario.duration)).collect())
}

/// A group of flows of another engine.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct GroupRates {
    is_bulk: bool,
    forward: bool,
    goodput_bps: f64,
    delivered_bps: f64,
}

/// `goodput_bps`, `delivered_bps` and `jain` of a whole run, and `jain_of_groups`; JSON.
///
/// `groups` are all flow groups in order, `lasting` has group and goodput of each flow that lasts for the whole run.
#[pyfunction]
pub fn whole(groups: Vec<GroupRates>, lasting: Vec<(usize, f64)>) -> PyResult<String> {
    let mut shares = BulkShares::new(groups.iter().map(|group| (group.is_bulk, group.forward)));
    lasting.into_iter().for_each(|(group, goodput_bps)| shares.add(group, goodput_bps));
    let rates = |group: &GroupRates| {
        let &GroupRates { goodput_bps, delivered_bps, .. } = group;
        PayloadSummary { goodput_bps, delivered_bps, ..Default::default() }
    };
    let whole = ForwardTotals::of(groups.iter().filter(|group| group.forward).map(rates), &shares);
    let mut found = serde_json::to_value(whole).map_err(input)?;
    found["jain_of_groups"] = (0..groups.len()).map(|group| shares.of_group(group)).collect();
    Ok(found.to_string())
}

/// The part of a summary that only the ends of a run know, from each of `starts_ns` to `end_ns`; JSON.
///
/// `counts` is JSON with the fields of `EndpointCounts` in the crate `sojourn-sim`.
#[pyfunction]
pub fn end_summaries(
    py: Python<'_>,
    scenario_json: &str,
    counts: &str,
    starts_ns: Vec<u64>,
    end_ns: u64,
) -> PyResult<String> {
    let scenario = parse(py, scenario_json)?;
    let counts: EndpointCounts = serde_json::from_str(counts).map_err(|error| input(format!("counts: {error}")))?;
    let ends = EndpointIndex::new(&counts, &scenario).map_err(|error| input(format!("counts: {error}")))?;
    let summaries: Vec<_> = starts_ns.into_iter().map(|start| ends.summary(start, end_ns)).collect();
    serde_json::to_string(&summaries).map_err(input)
}

/// Jain's fairness index of rates; 1 for an empty list or if all are zero.
#[pyfunction]
pub fn jain(rates: Vec<f64>) -> f64 {
    sojourn_sim::jain(&rates)
}

fn parse(py: Python<'_>, text: &str) -> PyResult<Scenario> {
    check(py, parse_described(text))
}

impl LinkLimit {
    fn read(&self) -> PyResult<DropPolicy> {
        let limits = limits_of(&self.0)?;
        Ok(DropPolicy { drops_early: self.1, packets: limits.packets, bytes: limits.bytes })
    }
}

impl EntryColumns<'_> {
    fn read(&self) -> PyResult<Vec<RecordingEntry>> {
        let (time, what, link) = (self.time_ns.as_slice()?, self.what.as_slice()?, self.link.as_slice()?);
        let (packet, flow, bytes) = (self.packet.as_slice()?, self.flow.as_slice()?, self.bytes.as_slice()?);
        let (ecn, from, to) = (self.ecn.as_slice()?, self.from_host.as_slice()?, self.to_host.as_slice()?);
        let segments = self.segments.as_slice()?;
        let lengths = [what.len(), link.len(), packet.len(), flow.len(), bytes.len(), ecn.len(), from.len(), to.len()];
        if lengths.into_iter().chain([segments.len()]).any(|length| length != time.len()) {
            return Err(input("recording: the columns differ in length"));
        }
        let row = |i: usize| {
            let Some(&field) = Ecn::ALL.get(usize::from(ecn[i])) else {
                return Err(input(format!("recording: entry {i} has an ECN field above 3")));
            };
            let kind = match what[i] {
                0 => EntryKind::Offered,
                1 => EntryKind::Sent(field),
                2 => EntryKind::Dropped,
                3 => EntryKind::Refused,
                4 => EntryKind::Replaced,
                code => match DropReason::ALL.get(usize::from(code) - REASONS) {
                    Some(&reason) => EntryKind::DroppedFor(reason),
                    None => return Err(input(format!("recording: entry {i} has the unknown code {code}"))),
                },
            };
            let meta = Meta::new(bytes[i], flow[i]).with_ecn(field).with_segments(segments[i].max(1));
            let meta = Meta { hosts: (from[i], to[i]), ..meta };
            let at = Instant::from_nanos(time[i]);
            Ok(RecordingEntry { at, link: usize::from(link[i]), packet: packet[i], meta, kind })
        };
        (0..time.len()).map(row).collect()
    }
}

/// Code in `what` of a drop for the first reason.
const REASONS: usize = 5;
