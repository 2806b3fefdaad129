//! Memory use of a run, by a counting allocator.
//!
//! Without the test harness, because its other thread may allocate while this one counts.

use sojourn_aqm::{Duration, Instant};
use sojourn_sim::parquet::{ParquetFolder, ROWS};
use sojourn_sim::scenario::Scenario;
use sojourn_sim::{MemoryEstimate, Simulation};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::path::Path;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Maximum bytes per flow with a window of up to 64 segments, including everything in flight: packet records and
/// headers, queue entries, and the sender's state per segment. It is the difference of two runs, whose histograms have
/// different numbers of pages: 93 bytes per flow.
const PER_FLOW: u64 = 18_300;
/// Maximum bytes per flow with almost nothing in flight: both endpoints, route and timers.
const PER_ENDS: u64 = 3_000;
/// The same for Reno on an older stack.
const PER_RENO: u64 = 2_250;

fn main() {
    a_flow_takes_little();
    connections_that_come_and_go_ask_for_no_memory();
    what_is_recorded_does_not_pile_up();
    flow_numbers_that_are_not_dense_take_little();
    a_need_is_told_from_above();
    empty_queues_are_in_the_need();
    a_growth_is_told_before_it();
    a_queue_of_a_large_graph_takes_little();
    println!("memory of a run: ok");
}

/// Maximum bytes per queue that few packets pass: its link, events and counters.
const PER_QUEUE: u64 = 20_000;

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, &[], Path::new("/")).unwrap()
}

/// Bytes allocated since `region` began and not freed.
fn held(region: &Region<'_, System>) -> u64 {
    let change = region.change();
    (change.bytes_allocated - change.bytes_deallocated) as u64
}

/// Bytes held at the end of a run.
fn held_at_the_end(scenario: &Scenario) -> u64 {
    let region = Region::new(ALLOCATOR);
    let mut run = Simulation::new(scenario, 1);
    while !run.advance(u64::MAX) {}
    held(&region)
}

/// Flows with 20 segments of bandwidth-delay product and 20 packets of queue for each.
fn flows(count: u32) -> Scenario {
    scenario(&format!(
        "duration = \"10 s\"\n[link]\nrate = \"{} kbit/s\"\naqm = \"codel\"\nlimit = \"{} packets\"\n[[flows]]\n\
         kind = \"tcp\"\ncount = {count}\nrtt = \"100 ms\"\nspread = \"1 s\"",
        2_400 * count,
        20 * count
    ))
}

/// Flows that have just started, with their SYNs in flight.
fn flows_that_begin(count: u32) -> Scenario {
    flows_that_begin_as(count, "linux-6.1", "cubic")
}

/// The same with the smallest sender state.
fn flows_of_reno_that_begin(count: u32) -> Scenario {
    flows_that_begin_as(count, "linux-2.6.29", "reno")
}

fn flows_that_begin_as(count: u32, stack: &str, cc: &str) -> Scenario {
    scenario(&format!(
        "duration = \"1 s\"\nwarmup = \"0 s\"\n[link]\nrate = \"1 Gbit/s\"\naqm = \"codel\"\nlimit = \"10 packets\"\n\
         [[flows]]\nkind = \"tcp\"\nstack = \"{stack}\"\ncc = \"{cc}\"\ncount = {count}\nrtt = \"100 ms\"\n\
         start = \"990 ms\""
    ))
}

/// Bytes per additional flow of a run.
fn each(flows: fn(u32) -> Scenario) -> u64 {
    let [few, many] = [100, 500].map(|count| held_at_the_end(&flows(count)));
    (many - few) / 400
}

fn a_flow_takes_little() {
    let (begins, reno, each) = (each(flows_that_begin), each(flows_of_reno_that_begin), each(flows));
    println!("a flow: {begins} B when it begins ({reno} B of Reno), {each} B with 40 segments under way");
    assert!(begins <= PER_ENDS && reno <= PER_RENO, "{begins} B, {reno} B");
    assert!(each <= PER_FLOW, "{each} B");
}

/// PackMime connections over an idle link reuse the memory of ended ones.
fn connections_that_come_and_go_ask_for_no_memory() {
    let text = "duration = \"90 s\"\n[link]\nrate = \"100 Mbit/s\"\naqm = \"codel\"\n[[flows]]\nkind = \"packmime\"\n\
                connections_per_second = 80\nrtt = \"10 ms\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"";
    let mut run = Simulation::new(&scenario(text), 1);
    run.advance_until(Instant::ZERO + Duration::from_secs(30));
    let (before, region) = (run.links()[0].sent, Region::new(ALLOCATOR));
    run.advance_until(Instant::ZERO + Duration::from_secs(60));
    let (packets, change) = (run.links()[0].sent - before, region.change());
    let allocations = change.allocations + change.reallocations;
    println!("web traffic: {allocations} allocations in {packets} packets");
    assert!(packets > 10_000 && 50 * allocations as u64 <= packets, "{allocations} in {packets} packets");
}

fn what_is_recorded_does_not_pile_up() {
    let text = |seconds: u32| {
        scenario(&format!(
            "duration = \"{seconds} s\"\n[link]\nrate = \"200 Mbit/s\"\naqm = \"codel\"\n[[flows]]\nkind = \"tcp\"\n\
             rtt = \"20 ms\"\n[probes]\npackets = true\nheaders = true\nqueue = \"100 us\""
        ))
    };
    let peak = |seconds| {
        let (scenario, folder) = (text(seconds), tempfile::tempdir().unwrap());
        let region = Region::new(ALLOCATOR);
        let mut run = Simulation::new(&scenario, 1);
        let mut files = ParquetFolder::new(folder.path());
        let mut peak = 0;
        while !run.advance(4096) {
            run.take_rows(ROWS).into_iter().for_each(|table| files.write(table).unwrap());
            peak = peak.max(held(&region));
        }
        peak
    };
    let [short, long] = [10, 40].map(peak);
    println!("with every packet recorded: {short} B after 10 s, {long} B after 40 s");
    // A row of `packets` takes 39 bytes, one of `headers` 96, and vectors double.
    let most = 2 * ROWS as u64 * (39 + 96 + 25);
    assert!(long < most && long < short + short / 4, "{short} B, {long} B, at most {most} B");
    let need = MemoryEstimate::of(&text(40));
    assert!(need.recorded > 4 * long, "it would have been {} B", need.recorded);
}

/// Tunnels have flow numbers near the maximum of `u32`, which must not index a list.
fn flow_numbers_that_are_not_dense_take_little() {
    let scenario = scenario(
        "duration = \"3 s\"\n[link]\nrate = \"5 Mbit/s\"\nlimit = \"7 packets\"\n[[flows]]\nkind = \"tcp\"\ncount = 3\n\
         middlebox = \"tunnel\"\n[probes]\ndrops = true\npackets = true\nheaders = true\nsenders = true\ntransfers = true\n\
         queue = \"10 ms\"\nflows = \"10 ms\"\nstate = \"10 ms\"\nutilisation = \"10 ms\"",
    );
    let region = Region::new(ALLOCATOR);
    let output = Simulation::new(&scenario, 1).finish();
    let allocated = region.change().bytes_allocated as u64;
    let drops = output.tables.iter().find(|table| table.name == "drops").expect("they were recorded");
    println!("a tunnel with every probe: {allocated} B allocated, {} drops", drops.columns[0].1.len());
    assert!(drops.columns[0].1.len() > 5, "{} drops", drops.columns[0].1.len());
    assert!(allocated < MemoryEstimate::of(&scenario).run + MemoryEstimate::of(&scenario).recorded, "{allocated} B");
}

fn a_need_is_told_from_above() {
    let one = "duration = \"20 s\"\n[link]\nrate = \"1 Gbit/s\"\nlimit = \"20000 packets\"\n[[flows]]\nkind = \"tcp\"\n\
               rtt = \"100 ms\"\ncount = 4";
    for scenario in [flows(500), scenario(one)] {
        let (held, need) = (held_at_the_end(&scenario), MemoryEstimate::of(&scenario).run);
        println!("{held} B held, {need} B told");
        assert!(held <= need && need <= 8 * held, "{held} B held, {need} B told");
    }
}

/// A line of text may need megabytes: each CAKE has 1024 flows in each of its tins.
fn empty_queues_are_in_the_need() {
    let classes = |inside: &str| -> String {
        (2..600).map(|i| format!("class {i:x} parent 1 rate 8bit ceil 1mbit{inside}; ")).collect()
    };
    for aqm in [
        "droptail".into(),
        "fq_codel flows 65536".into(),
        "cake diffserv8".into(),
        "cake_mq queues 64 besteffort".into(),
        "sfq divisor 65536".into(),
        "prio { band 1 { cake diffserv4 }; band 2 { tbf { fq_codel } }; band 3 { netem { codel } } }".into(),
        format!("htb {{ class 1 rate 1mbit; {} }}", classes("")),
        format!("htb {{ class 1 rate 1mbit; {} }}", classes(" { cake diffserv8 }")),
        format!("htb {{ class 1 rate 1mbit; {} }}", classes(" { fq_codel }")),
    ] {
        let text = format!(
            "duration = \"1 ms\"\n[link]\nrate = \"1 Mbit/s\"\naqm = \"{aqm}\"\n[[flows]]\nkind = \"tcp\"\nstart = \"999 us\""
        );
        let scenario = scenario(&text);
        let region = Region::new(ALLOCATOR);
        let run = Simulation::new(&scenario, 1);
        let (held, need) = (held(&region), MemoryEstimate::of_queues(&scenario));
        drop(run);
        println!("{}: {held} B held, {need} B told", &aqm[..aqm.len().min(30)]);
        assert!(held <= need + 60_000 && need <= 8 * held, "{aqm:.60}: {held} B held, {need} B told");
        assert!(MemoryEstimate::of(&scenario).run >= need);
    }
}

/// Datagrams at 20 Gbit/s over a link of a second: two million are in flight. Any allocation of more than a megabyte in
/// one step must be announced before that step, and must not exceed the announcement plus what a queue or a pipe holds
/// of the same packets.
fn a_growth_is_told_before_it() {
    let text = "duration = \"2 s\"\nwarmup = \"0 s\"\n[link]\nrate = \"20 Gbit/s\"\ndelay = \"1 s\"\n[[flows]]\nkind = \"cbr\"\n\
                rate = \"19 Gbit/s\"";
    let mut run = Simulation::new(&scenario(text), 1);
    let (mut announced, mut largest) = (0, 0);
    loop {
        let (growth, region) = (run.growth(4096), Region::new(ALLOCATOR));
        let done = run.advance(4096);
        let taken = region.change().bytes_allocated as u64;
        assert!(taken < 1 << 20 || taken <= 2 * growth, "{taken} B at once, {growth} B told");
        (announced, largest) = (announced.max(growth), largest.max(taken));
        if done {
            break;
        }
    }
    println!("{announced} B told, {largest} B at once");
    assert!(largest >= 64 << 20, "{largest} B at once");
}

/// A call over every link of a row.
fn a_queue_of_a_large_graph_takes_little() {
    let row = |links: usize| {
        let names: String = (1..links).map(|i| format!("[[links]]\nname = \"l{i}\"\nrate = \"20 Mbit/s\"\n")).collect();
        let route: Vec<String> = (1..links).map(|i| format!("\"l{i}\"")).collect();
        scenario(&format!(
            "duration = \"20 s\"\n[link]\nrate = \"20 Mbit/s\"\n{names}[[flows]]\nkind = \"voice\"\n\
             route = [\"link\", {}]\n",
            route.join(", ")
        ))
    };
    let (few, many) = (row(100), row(400));
    let held = [&few, &many].map(held_at_the_end);
    let each = (held[1] - held[0]) / 600;
    println!("a queue of a row of 400 links: {each} B");
    assert!(each <= PER_QUEUE, "{each} B");
    let need = MemoryEstimate::of_queues(&many) - MemoryEstimate::of_queues(&few);
    assert!(each <= need / 600, "{} B told", need / 600);
}
