//! Vectors recorded from the real Linux kernel: loading them, replaying them, and saying where they differ.
//!
//! A vector is a list of arrivals at a link of exact rate, with what the kernel's qdisc made of each packet. The
//! vectors are not part of this repository; where they are absent a test says so and passes.
#![allow(dead_code)] // each test that includes this file uses its own part of it

use sojourn_aqm::{Dequeued, DropReason, Duration, Ecn, Enqueued, Host, Instant, Limits};
use sojourn_aqm::{Link, Meta, Qdisc, Rate, Rng, registry};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// A recorded run.
pub struct Vector {
    /// Name of its files.
    pub name: String,
    /// tc's words: the kind of qdisc and its parameters.
    pub qdisc: String,
    /// Rate of the link.
    pub rate: Rate,
    /// Where the random stream started.
    pub seed: u64,
    /// The kernel's clock at the first arrival's zero. The replay tells the queue these times; a test that needs
    /// another phase of them sets another origin.
    pub origin: Instant,
    /// The kernel's clock just before the qdisc was created.
    pub created: Instant,
    /// The arrivals, in order.
    pub packets: Vec<Packet>,
}

/// An arrival and what the kernel made of it.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Time since the vector's origin.
    pub arrival: Duration,
    /// Bytes, Ethernet header included.
    pub size: u32,
    /// Number of the flow.
    pub flow: u32,
    /// The ECN field that it came with.
    pub ecn: Ecn,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// How it ended.
    pub verdict: Verdict,
    /// When its transmission began, since the vector's origin.
    pub departure: Option<Duration>,
}

/// How a packet ended, in the words of the vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was sent as it came.
    Pass,
    /// It was sent marked.
    Mark,
    /// The sender was told that it was dropped.
    DropOnArrival,
    /// It was dropped without the sender being told, on arrival or later.
    Drop,
}

/// The vectors whose names begin with `prefix`, by name; none where there is no folder of vectors.
pub fn vectors(prefix: &str) -> Vec<Vector> {
    let folder = folder();
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".jsonl.gz").map(str::to_string))
        .filter(|name| name.starts_with(prefix))
        .collect();
    names.sort();
    if names.is_empty() {
        let folder = folder.display();
        println!("skipped: no vectors {prefix}* in {folder}; set SOJOURN_SHARED to the folder above kernel/");
    }
    names.iter().map(|name| Vector::load(&folder, name)).collect()
}

/// Replays the vectors whose names begin with `prefix` through the queues that `build` makes of them, and panics at
/// the first vector that does not agree on every verdict and every nanosecond.
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

/// How many packets fared otherwise than in the kernel, and the first of them; `None` where all agree.
pub fn differences(vector: &Vector, fates: &[Fate]) -> Option<String> {
    let differing: Vec<_> = (0..fates.len()).filter(|&i| fates[i] != vector.packets[i].fate).collect();
    let &i = differing.first()?;
    let (name, kernel, here) = (&vector.name, &vector.packets[i], fates[i]);
    Some(format!("{name}: {} of {} differ; first {i}: {kernel:?}, here {here:?}", differing.len(), fates.len()))
}

/// Plays the arrivals into a queue above a link. At one instant the kernel serves the arrival first, then the link;
/// a link that falls idle asks its queue once more, in vain.
pub fn replay(vector: &Vector, mut queue: Box<dyn Qdisc<u32>>) -> Vec<Fate> {
    // PIE tells the sender of its early drops (NET_XMIT_DROP), the others only of congestion (NET_XMIT_CN).
    let early = if vector.kind() == "pie" { Verdict::DropOnArrival } else { Verdict::Drop };
    let mut fates = vec![Fate { verdict: Verdict::Drop, departure: None }; vector.packets.len()];
    let (mut free, mut idle, mut next) = (vector.origin, true, 0);
    loop {
        let arrival = vector.packets.get(next).map(|packet| vector.origin + packet.arrival);
        if !idle && arrival.is_none_or(|at| free < at) {
            match queue.dequeue(free, &mut |_, _, _| {}) {
                Dequeued::Packet(meta, i) => {
                    let marked = meta.ecn != vector.packets[i as usize].ecn;
                    let verdict = if marked { Verdict::Mark } else { Verdict::Pass };
                    fates[i as usize] = Fate { verdict, departure: Some(free - vector.origin) };
                    free += vector.rate.time_for(meta.len as u64);
                }
                Dequeued::Empty => idle = true,
                Dequeued::NotBefore(at) => free = at,
            }
            continue;
        }
        let Some(at) = arrival else { return fates };
        match queue.enqueue(at, vector.packets[next].meta(), next as u32, &mut |_, _, _| {}) {
            Enqueued::Dropped(DropReason::Limit) => fates[next].verdict = Verdict::DropOnArrival,
            Enqueued::Dropped(_) => fates[next].verdict = early,
            Enqueued::Queued | Enqueued::Marked => {}
        }
        if idle {
            (free, idle) = (at, false);
        }
        next += 1;
    }
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
            rate: Rate::from_bps(meta["rate_bps"].as_u64().expect("rate_bps")),
            seed: meta["seed"].as_u64().expect("seed"),
            origin: Instant::from_nanos(meta["t0_mono_ns"].as_u64().expect("t0_mono_ns")),
            created: Instant::from_nanos(created.expect("created is \"mono N …\"")),
            packets: lines.lines().map(packet).collect(),
        }
    }

    /// The kind of qdisc, tc's first word.
    pub fn kind(&self) -> &str {
        self.qdisc.split(' ').next().expect("a qdisc has a kind")
    }

    /// tc's words after the kind, without `key` and its value; and that value.
    pub fn words_without(&self, key: &str) -> (Vec<&str>, Option<&str>) {
        let mut words: Vec<_> = self.qdisc.split(' ').skip(1).collect();
        let value = words.iter().position(|&word| word == key).map(|i| words.drain(i..i + 2).nth(1).expect("a value"));
        (words, value)
    }

    /// What the queue is built from: the link, with 1500 bytes of IP behind 14 of Ethernet, and the random stream.
    pub fn host(&self) -> Host {
        Host { link: Link { rate: self.rate, mtu: 1514 }, rng: Rng::from_state(self.seed) }
    }

    /// The queue that `aqm` describes, over the vector's link.
    pub fn build(&self, aqm: &str, limits: Limits) -> Box<dyn Qdisc<u32>> {
        registry::parse(aqm).unwrap_or_else(|e| panic!("{}: {aqm}: {e}", self.name)).build(limits, self.host())
    }
}

/// tc's words behind `aqm`, those after the names of sizes with the unit that tc leaves out.
pub fn with_units(aqm: &str, words: &[&str], sizes: &[&str]) -> String {
    let mut text = aqm.to_string();
    let mut unit = "";
    for word in words {
        text += &format!(" {word}{unit}");
        unit = if sizes.contains(word) { "B" } else { "" };
    }
    text
}

impl Packet {
    fn meta(&self) -> Meta {
        Meta { hosts: (1, 2), ..Meta::new(self.size, self.flow).with_ecn(self.ecn) }
    }
}

fn packet(line: &str) -> Packet {
    let value: serde_json::Value = serde_json::from_str(line).expect("a line is JSON");
    let number = |key: &str| value[key].as_i64().expect("a number");
    let verdict = match value["verdict"].as_str().expect("a verdict") {
        "pass" => Verdict::Pass,
        "mark" => Verdict::Mark,
        "drop_on_arrival" => Verdict::DropOnArrival,
        "drop" => Verdict::Drop,
        other => panic!("{other} is no verdict"),
    };
    let departure = Some(number("departure_ns")).filter(|&nanos| nanos >= 0).map(Duration::from_nanos);
    Packet {
        arrival: Duration::from_nanos(number("arrival_ns")),
        size: number("size") as u32,
        flow: number("flow") as u32,
        ecn: [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][number("ecn") as usize],
        fate: Fate { verdict, departure },
    }
}

/// The folder of the vectors: beside the checkout, or where SOJOURN_SHARED says.
pub fn folder() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    env::var_os("SOJOURN_SHARED").map_or_else(beside, PathBuf::from).join("kernel/vectors")
}
