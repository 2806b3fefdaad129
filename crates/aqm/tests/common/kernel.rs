//! Vectors recorded from the real Linux kernel: loading, replaying and comparing them.
//!
//! A vector is a list of arrivals at a link of exact rate, with the fate of each packet in the kernel's qdisc. Most
//! vectors are not part of this repository; without them a test prints a note and passes.
#![allow(dead_code)] // each test that includes this file uses a part of it

pub use sojourn_aqm::replay::{DropNotification, FateKind};

use sojourn_aqm::replay::tc::TcSpec;
use sojourn_aqm::replay::{self, Arrival, Replay, ReplayLink};
use sojourn_aqm::{Duration, Ecn, Host, Instant, Link, Meta, Qdisc, Rate, Rng};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// A recorded run.
pub struct Vector {
    /// Name of its files.
    pub name: String,
    /// tc's words: the kind of qdisc and its parameters.
    pub qdisc: String,
    /// Our discipline with all its parameters, if recorded.
    pub aqm: Option<String>,
    /// Rate of the link.
    pub rate: Rate,
    /// Bytes that the link adds to each packet.
    pub overhead: u32,
    /// Initial state of the random stream.
    pub seed: u64,
    /// The kernel's clock at time zero of the arrivals. The replay passes these times to the queue; a test that needs
    /// another phase sets another origin.
    pub origin: Instant,
    /// The kernel's clock just before the qdisc was created.
    pub created: Instant,
    /// The arrivals, in order.
    pub packets: Vec<Packet>,
}

/// An arrival and its fate in the kernel.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Time since the vector's origin.
    pub arrival: Duration,
    /// Bytes, Ethernet header included.
    pub size: u32,
    /// Number of the flow.
    pub flow: u32,
    /// ECN field on arrival.
    pub ecn: Ecn,
    /// DSCP; 0 if not recorded.
    pub dscp: u8,
    /// Source and destination host; 1 and 2 if not recorded.
    pub hosts: (u32, u32),
    /// Whether the kernel's queue duplicated it from the previous packet.
    pub copy: bool,
    /// Its fate.
    pub fate: KernelFate,
}

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelFate {
    /// Kind of fate.
    pub verdict: FateKind,
    /// Start of its transmission, since the vector's origin.
    pub departure: Option<Duration>,
}

/// The vectors whose names begin with `prefix`, by name; none without the folder of vectors.
pub fn vectors(prefix: &str) -> Vec<Vector> {
    let found = vectors_in(&folder(), prefix);
    if found.is_empty() {
        let folder = folder();
        let folder = folder.display();
        println!("skipped: no vectors {prefix}* in {folder}; set SOJOURN_SHARED to the folder above kernel/");
    }
    found
}

/// The same for the vectors in this repository (`python -m sojourn.kernel.vectors` records them).
pub fn own_vectors(prefix: &str) -> Vec<Vector> {
    vectors_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors"), prefix)
}

fn vectors_in(folder: &Path, prefix: &str) -> Vec<Vector> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".jsonl.gz").map(str::to_string))
        .filter(|name| name.starts_with(prefix))
        .collect();
    names.sort();
    names.iter().map(|name| Vector::load(folder, name)).collect()
}

/// Replays the vectors whose names begin with `prefix` through the queues that `build` creates for them. Panics at the
/// first vector that does not agree on every verdict and every nanosecond.
pub fn assert_agreement(prefix: &str, build: impl Fn(&mut Vector) -> Box<dyn Qdisc<u32>>) {
    let mut vectors = vectors(prefix);
    let mut packets = 0;
    for vector in &mut vectors {
        let queue = build(vector);
        let fates = replay(vector, queue);
        packets += fates.len();
        if let Some(text) = differences(vector, &fates) {
            panic!("{text}");
        }
    }
    println!("{packets} packets of {} vectors {prefix}* agree", vectors.len());
}

/// Number of packets whose fate differs from the kernel's, and the first of them; `None` if all agree.
pub fn differences(vector: &Vector, fates: &[KernelFate]) -> Option<String> {
    let differing: Vec<_> = (0..fates.len()).filter(|&i| fates[i] != vector.packets[i].fate).collect();
    let &i = differing.first()?;
    let (name, kernel, here) = (&vector.name, &vector.packets[i], fates[i]);
    Some(format!("{name}: {} of {} differ; first {i}: {kernel:?}, here {here:?}", differing.len(), fates.len()))
}

/// Replays the arrivals through a queue above a link.
pub fn replay(vector: &Vector, queue: Box<dyn Qdisc<u32>>) -> Vec<KernelFate> {
    replay_notifying(vector, queue, TcSpec::parse(&vector.qdisc).expect("tc's words").drop_notification())
}

/// The same with a given notification of drops.
pub fn replay_notifying(
    vector: &Vector,
    queue: Box<dyn Qdisc<u32>>,
    notification: DropNotification,
) -> Vec<KernelFate> {
    let arrival = |packet: &Packet| Arrival { at: vector.origin + packet.arrival, meta: packet.meta() };
    let arrivals: Vec<_> = vector.packets.iter().map(arrival).collect();
    let copies: Vec<_> = vector.packets.iter().map(|packet| packet.copy).collect();
    let replay = Replay::new(&arrivals, queue, ReplayLink::kernel(vector.rate, vector.overhead));
    let fates = replay.with_copies(&copies).run();
    let fate = |fate: &replay::Fate| KernelFate {
        verdict: fate.kind(notification),
        departure: fate.departure().map(|at| at - vector.origin),
    };
    fates.iter().map(fate).collect()
}

impl Vector {
    /// Reads the files of a vector.
    pub fn load(folder: &Path, name: &str) -> Self {
        let meta = fs::read_to_string(folder.join(format!("{name}.meta.json"))).expect("a vector has a meta file");
        let meta: serde_json::Value = serde_json::from_str(&meta).expect("the meta file is JSON");
        let created = meta["created"].as_str().and_then(|text| text.split(' ').nth(1)?.parse().ok());
        let file = fs::File::open(folder.join(format!("{name}.jsonl.gz"))).expect("the vector is readable");
        let mut lines = String::new();
        flate2::read::GzDecoder::new(file).read_to_string(&mut lines).expect("the vector is gzipped text");
        Self {
            name: name.to_string(),
            qdisc: meta["qdisc"].as_str().expect("qdisc is a string").to_string(),
            aqm: meta["aqm"].as_str().map(str::to_string),
            rate: Rate::from_bps(meta["rate_bps"].as_u64().expect("rate_bps")),
            overhead: meta["overhead"].as_u64().expect("overhead") as u32,
            seed: meta["seed"].as_u64().expect("seed"),
            origin: Instant::from_nanos(meta["t0_mono_ns"].as_u64().expect("t0_mono_ns")),
            created: Instant::from_nanos(created.expect("created is \"mono N …\"")),
            packets: lines.lines().map(packet).collect(),
        }
    }

    /// Environment of the queue: the link, with 1500 bytes of IP after 14 of Ethernet, and the random stream.
    pub fn host(&self) -> Host {
        Host { link: Link::new(self.rate, 1514), rng: Rng::from_state(self.seed) }
    }

    /// The queue of `aqm` with the parameters and the limit of the kernel's, above the vector's link.
    pub fn build_as(&self, aqm: &str) -> Box<dyn Qdisc<u32>> {
        let line = TcSpec::parse(&self.qdisc).and_then(|line| line.apply(aqm, Some(self.created)));
        let (named, limits) = line.unwrap_or_else(|e| panic!("{}: {aqm}: {e}", self.name));
        named.config.build(limits, self.host())
    }
}

impl Packet {
    fn meta(&self) -> Meta {
        Meta { hosts: self.hosts, dscp: self.dscp, ..Meta::new(self.size, self.flow).with_ecn(self.ecn) }
    }
}

fn packet(line: &str) -> Packet {
    let value: serde_json::Value = serde_json::from_str(line).expect("a line is JSON");
    let number = |key: &str| value[key].as_i64().expect("a number");
    let optional = |key: &str, otherwise: i64| if value[key].is_null() { otherwise } else { number(key) };
    let verdict = match value["verdict"].as_str().expect("a verdict") {
        "pass" => FateKind::Pass,
        "mark" => FateKind::Mark,
        "drop_on_arrival" => FateKind::DropOnArrival,
        "drop" => FateKind::Drop,
        other => panic!("{other} is no verdict"),
    };
    let departure = Some(number("departure_ns")).filter(|&nanos| nanos >= 0).map(Duration::from_nanos);
    Packet {
        copy: optional("copy", 0) == 1,
        arrival: Duration::from_nanos(number("arrival_ns")),
        size: number("size") as u32,
        flow: number("flow") as u32,
        ecn: Ecn::ALL[number("ecn") as usize],
        dscp: optional("dscp", 0) as u8,
        hosts: (optional("from_host", 1) as u32, optional("to_host", 2) as u32),
        fate: KernelFate { verdict, departure },
    }
}

/// The folder of the vectors: beside the checkout, or given by SOJOURN_SHARED.
pub fn folder() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    env::var_os("SOJOURN_SHARED").map_or_else(beside, PathBuf::from).join("kernel/vectors")
}
