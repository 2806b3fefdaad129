//! Linux 6.1's flow queueing, packet by packet: the recorded vectors of the real kernel against our profiles.
//!
//! The vectors are not part of this repository. Where they are absent the test says so and passes.

use sojourn_aqm::{Dequeued, DropReason, Ecn, Enqueued, Host, Instant, Limits, Link, Meta, Rate, Rng, registry};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The kernel's hash is seeded from the run; its few flows in 1024 queues do not collide in these vectors, which is
/// what `perfect` stands for.
#[test]
fn fq_codel_agrees_with_the_kernel_on_every_packet() {
    agree("fq_codel", "fq_codel@linux hash perfect");
}

/// Every packet of the vectors `KIND.*` and `KIND_ecn.*` fares here as in the kernel.
fn agree(kind: &str, aqm: &str) {
    let folder = vectors();
    let names = vector_names(&folder, kind);
    if names.is_empty() {
        println!("skipped: no {kind} vectors in {}; set SOJOURN_SHARED to the folder above kernel/", folder.display());
        return;
    }
    let mut packets = 0;
    for name in &names {
        let vector = Vector::load(&folder, name, kind);
        let fates = vector.replay(aqm);
        packets += fates.len();
        let differing: Vec<_> = (0..fates.len()).filter(|&i| fates[i] != vector.packets[i].fate).collect();
        if let Some(&i) = differing.first() {
            let packet = &vector.packets[i];
            panic!("{name}: {} of {} differ; first {i}: {packet:?}, here {:?}", differing.len(), fates.len(), fates[i]);
        }
    }
    println!("{packets} packets of {} vectors agree", names.len());
}

/// What became of a packet: the word for it, and when its transmission began (-1: never).
type Fate = (String, i64);

#[derive(Debug)]
struct Packet {
    arrival: Instant,
    size: u32,
    flow: u32,
    ect: bool,
    fate: Fate,
}

struct Vector {
    /// tc's words behind the qdisc's name.
    params: String,
    rate: Rate,
    origin: Instant,
    packets: Vec<Packet>,
}

impl Vector {
    fn load(folder: &Path, name: &str, kind: &str) -> Self {
        let meta = fs::read_to_string(folder.join(format!("{name}.meta.json"))).expect("a vector has a meta file");
        let meta: serde_json::Value = serde_json::from_str(&meta).expect("the meta file is JSON");
        let qdisc = meta["qdisc"].as_str().expect("qdisc is a string");
        let params = qdisc.strip_prefix(kind).expect("the vector is of this kind");
        let origin = Instant::from_nanos(meta["t0_mono_ns"].as_u64().expect("t0_mono_ns"));
        let mut lines = String::new();
        let file = fs::File::open(folder.join(format!("{name}.jsonl.gz"))).expect("the vector is readable");
        flate2::read::GzDecoder::new(file).read_to_string(&mut lines).expect("the vector is gzipped text");
        Self {
            // tc takes a quantum without a unit.
            params: params.replace("quantum 1514", "quantum 1514B"),
            rate: Rate::from_bps(meta["rate_bps"].as_u64().expect("rate_bps")),
            origin,
            packets: lines.lines().map(|line| packet(line, origin)).collect(),
        }
    }

    /// Plays the arrivals into a queue above a link. At one instant the kernel serves the arrival first; when the
    /// link becomes free it asks the queue even if that is empty, which takes idle flows from the schedule.
    fn replay(&self, aqm: &str) -> Vec<Fate> {
        // 1500 bytes of IP behind 14 of Ethernet.
        let link = Link { rate: self.rate, mtu: 1514 };
        let config = registry::parse(&format!("{aqm} {}", self.params)).expect("tc's words are understood");
        let mut queue = config.build::<usize>(Limits::default(), Host { link, rng: Rng::from_state(1) });
        let mut fates = vec![("drop".to_string(), -1); self.packets.len()];
        let mut free = self.origin;
        let mut next = 0;
        let mut asked = true;
        loop {
            let arrival = self.packets.get(next).map(|packet| packet.arrival);
            if (queue.backlog().packets > 0 || !asked) && arrival.is_none_or(|at| free < at) {
                asked = true;
                if let Dequeued::Packet(meta, i) = queue.dequeue(free, &mut |_, _, _| {}) {
                    let marked = self.packets[i].ect && meta.ecn == Ecn::Ce;
                    fates[i] = (if marked { "mark" } else { "pass" }.to_string(), (free - self.origin).as_nanos());
                    free += self.rate.time_for(meta.len as u64);
                    asked = false;
                }
                continue;
            }
            let Some(at) = arrival else { return fates };
            let packet = &self.packets[next];
            let ecn = if packet.ect { Ecn::Ect0 } else { Ecn::NotEct };
            match queue.enqueue(at, Meta::new(packet.size, packet.flow).with_ecn(ecn), next, &mut |_, _, _| {}) {
                Enqueued::Dropped(DropReason::Limit) => fates[next] = ("drop_on_arrival".to_string(), -1),
                _ => free = free.max(at),
            }
            next += 1;
        }
    }
}

fn packet(line: &str, origin: Instant) -> Packet {
    let value: serde_json::Value = serde_json::from_str(line).expect("a line is JSON");
    let nanos = |key: &str| value[key].as_i64().expect("a time in ns");
    Packet {
        arrival: Instant::from_nanos(origin.as_nanos() + nanos("arrival_ns") as u64),
        size: value["size"].as_u64().expect("size") as u32,
        flow: value["flow"].as_u64().expect("flow") as u32,
        ect: value["ecn"].as_u64() != Some(0),
        fate: (value["verdict"].as_str().expect("verdict").to_string(), nanos("departure_ns")),
    }
}

fn vector_names(folder: &Path, kind: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".jsonl.gz").map(str::to_string))
        .filter(|name| name.starts_with(kind))
        .collect();
    names.sort();
    names
}

/// The folder of the vectors: beside the checkout, or where SOJOURN_SHARED says.
fn vectors() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    std::env::var_os("SOJOURN_SHARED").map_or_else(beside, PathBuf::from).join("kernel/vectors")
}
