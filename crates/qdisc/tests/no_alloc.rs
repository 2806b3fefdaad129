//! Memory of queues in a kernel: all at the creation, none with a packet, and a refused request is no panic.
//!
//! Runs without the test harness, whose second thread may allocate during the count.
#![allow(unsafe_code)]

use sojourn_aqm::conformance::case::disciplines;
use sojourn_aqm::{DequeueResult, DropReason, Duration, Ecn, EnqueueResult, Instant, Link, Meta, Rate, Rng, TcpView};
use sojourn_qdisc::queue::{Handle, Kernel, Queue, Setup};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The system's memory, counted; blocks of a page or more are refused beyond a budget.
struct Memory;

/// Requests and releases.
static CALLS: AtomicU64 = AtomicU64::new(0);
static REQUESTS: AtomicU64 = AtomicU64::new(0);
/// Bytes of the large blocks.
static LARGE: AtomicU64 = AtomicU64::new(0);
static BUDGET: AtomicU64 = AtomicU64::new(u64::MAX);

// SAFETY: the system's, which is not asked for what is refused.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Relaxed);
        REQUESTS.fetch_add(1, Relaxed);
        if layout.size() >= PAGE {
            if LARGE.load(Relaxed) + layout.size() as u64 > BUDGET.load(Relaxed) {
                return std::ptr::null_mut();
            }
            LARGE.fetch_add(layout.size() as u64, Relaxed);
        }
        // SAFETY: by the trait's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        CALLS.fetch_add(1, Relaxed);
        if layout.size() >= PAGE {
            LARGE.fetch_sub(layout.size() as u64, Relaxed);
        }
        // SAFETY: by the trait's contract.
        unsafe { System.dealloc(at, layout) };
    }
}

#[global_allocator]
static MEMORY: Memory = Memory;

/// The kernel: counts drops, and knows the header of each packet by its handle.
#[derive(Default)]
struct Machine {
    dropped: u64,
    /// Packets before this handle were freed.
    oldest: Handle,
}

impl Kernel for Machine {
    fn dropped(&mut self, packet: Handle, _: &Meta, _: DropReason) {
        assert!(packet >= self.oldest, "a freed packet is dropped");
        self.dropped += 1;
    }

    fn head(&self, packet: Handle, bytes: &mut [u8]) -> usize {
        let number = packet as u32;
        let view = TcpView { seq: 1, ack: 1000 * number + 1, flags: TcpView::ACK, ..TcpView::default() };
        let mut head = [0; TcpView::IP_BYTES];
        let len = view.write_ip(&Meta::new(40, 1), &mut head).min(bytes.len());
        bytes[..len].copy_from_slice(&head[..len]);
        len
    }
}

/// Arrivals at a queue.
#[derive(Clone, Copy, Debug)]
struct Load {
    flows: u64,
    len: fn(&mut Rng) -> u32,
    segments: u16,
    /// Arrivals per departure, and packets that arrive before the first departure.
    overload: usize,
    burst: usize,
}

const LOADS: [Load; 6] = [
    // One flow at twice the rate.
    Load { flows: 1, len: |_| 1500, segments: 1, overload: 2, burst: 0 },
    Load { flows: 1000, len: |_| 1500, segments: 1, overload: 2, burst: 0 },
    // Flows without end, more than any hash table has.
    Load { flows: u64::MAX, len: |rng| 60 + rng.below(1455) as u32, segments: 1, overload: 3, burst: 1500 },
    // Small packets, and smaller ones than transports send, all at once; CHOKe finds many of a flow.
    Load { flows: 2, len: |rng| 1 + rng.below(60) as u32, segments: 1, overload: 2, burst: 3000 },
    // Acknowledgments of one flow.
    Load { flows: 1, len: |_| 40, segments: 1, overload: 3, burst: 500 },
    Load { flows: 20, len: |rng| 3000 + rng.below(60_000) as u32, segments: 30, overload: 2, burst: 0 },
];

/// Offers 4,000 packets, numbered from `first` on, then empties the queue, waits and fills it again.
fn run(queue: &mut Queue, machine: &mut Machine, load: Load, start: Instant, first: Handle) -> Instant {
    let mut rng = Rng::from_state(first as u64 + 5);
    let mut now = start;
    for n in 0..PACKETS {
        let flow = rng.below(load.flows) as u32;
        let len = (load.len)(&mut rng);
        let meta = Meta {
            hosts: (flow % 9, flow % 4),
            dscp: rng.below(64) as u8,
            segments: load.segments,
            ..Meta::new(len, flow)
        };
        let meta = meta.with_ecn(Ecn::ALL[rng.below(4) as usize]);
        queue.enqueue(now, meta, first + n, machine);
        if n >= load.burst && n % load.overload == 0 {
            now += Rate::from_bps(RATE).time_for(u64::from(len));
            take(queue, machine, &mut now);
        }
        if n % 500 == 0 {
            queue.settle(now);
            queue.state(now, &mut Nowhere);
            assert!(queue.spelling().starts_with("limit "));
        }
        // All packets leave, then none arrives for a while.
        if n % 3_500 == 3_499 {
            while take(queue, machine, &mut now) {}
            now += Duration::from_secs(3);
            take(queue, machine, &mut now);
        }
    }
    now
}

/// The text of a dump.
struct Nowhere;

impl std::fmt::Write for Nowhere {
    fn write_str(&mut self, _: &str) -> std::fmt::Result {
        Ok(())
    }
}

/// Requests a packet, at the time before which none may leave. Returns whether one left.
fn take(queue: &mut Queue, machine: &mut Machine, now: &mut Instant) -> bool {
    for _ in 0..100 {
        match queue.dequeue(*now, machine) {
            DequeueResult::Packet(_, packet) => {
                assert!(packet >= machine.oldest, "a freed packet leaves");
                return true;
            }
            DequeueResult::NotBefore(at) => *now = at,
            DequeueResult::Empty => return false,
        }
    }
    false
}

fn setup() -> Setup {
    Setup { link: Link::new(Rate::from_bps(RATE), 1514), seed: 7, now: Instant::from_nanos(77) }
}

/// Every discipline that a kernel can have.
fn texts() -> Vec<String> {
    let more = [
        "cake bandwidth 9mbit autorate-ingress",
        "cake bandwidth 9mbit ack_filter aggressive ingress diffserv8",
        "cake ack_filter filter isolation flowblind",
        "cake_mq queues 3 bandwidth 20mbit",
        "codel exclude_ce",
        "pie exclude_ce ecn",
        "fq_codel exclude_ce flows 3 ecn",
        "fq_codel hash perfect flows 5",
        "fq_codel hash perfect flows 5 overflow longest",
        "fq_codel depth 9 limit 77",
        "fq_codel memory_limit 30kB",
        "sfq perturb_period 1s",
        "sfq_red@linux perturb_period 1s exclude_ce",
        "sfqcodel flows 2",
        "drr isolation host-pair hash host-sum",
        "fq(sfb) flows 9",
        "fq(choke) depth 5",
        "fq(codel@act) flows 9",
        "dualpi2@linux min_qlen_step 5",
        "choke max 30 min 10 burst 15",
        "netem delay 9ms 8ms rate 20mbit reorder 30% gap 3",
        "netem delay 900ms 800ms limit 3000",
        "netem delay 9ms { fq_pie }",
        "tbf rate 3mbit burst 9kB limit 30kB",
        "prio { band 1 { sfq }; band 2 { codel_dt } }",
        "pfifo_fast limit 12",
    ];
    let known = disciplines().into_iter().chain(more.map(String::from));
    known.filter(|text| !matches!(Queue::create(text, "", setup()), Err(why) if why.contains("kernel's own"))).collect()
}

fn main() {
    let texts = texts();
    assert!(texts.len() > 140, "{}", texts.len());
    for text in &texts {
        let dropped: u64 = LIMITS.iter().map(|limit| no_packet_needs_memory(text, limit)).sum();
        assert!(dropped > 5_000, "{text} is overloaded: {dropped}");
        a_refused_request_is_a_refusal(text);
        a_change_requests_nothing(text);
    }
    a_limit_is_refused_with_its_memory();
    println!("{} disciplines request no memory with a packet: ok", texts.len());
}

/// Under every load, from the first packet on and after a reset. Returns the number of drops.
fn no_packet_needs_memory(text: &str, limit: &str) -> u64 {
    let mut dropped = 0;
    for load in LOADS {
        let mut queue = match Queue::create(text, limit, setup()) {
            Ok(queue) => queue,
            // tbf's inner queue, and thresholds that do not fit a small limit.
            Err(why) => {
                assert!(!limit.is_empty() && !why.contains("memory"), "{text}, {limit}: {why}");
                return dropped;
            }
        };
        let mut machine = Machine::default();
        let before = CALLS.load(Relaxed);
        let now = run(&mut queue, &mut machine, load, setup().now, 0);
        assert_eq!(CALLS.load(Relaxed) - before, 0, "{text}, limit {limit}, {load:?}");
        dropped += machine.dropped;
        if limit.is_empty() {
            queue.reset(now);
            let before = CALLS.load(Relaxed);
            machine.oldest = PACKETS;
            run(&mut queue, &mut machine, load, now, PACKETS);
            assert_eq!(CALLS.load(Relaxed) - before, 0, "{text}, {load:?}, after a reset");
        }
    }
    dropped
}

/// With every budget a queue is created or refused in one line; and a queue that exists is reset.
fn a_refused_request_is_a_refusal(text: &str) {
    let (mut refused, mut kept, mut extra) = (0, 0, 0);
    let mut queue = Queue::create(text, "3000", setup()).expect(text);
    let mut machine = Machine::default();
    let (mut now, mut first) = (setup().now, 0);
    loop {
        BUDGET.store(LARGE.load(Relaxed) + extra, Relaxed);
        let second = Queue::create(text, "3000", setup()).map(|_| ());
        let before = CALLS.load(Relaxed);
        queue.reset(now);
        let calls = CALLS.load(Relaxed) - before;
        BUDGET.store(u64::MAX, Relaxed);
        first += PACKETS;
        machine.oldest = first;
        let before = CALLS.load(Relaxed);
        now = run(&mut queue, &mut machine, LOADS[2], now, first);
        assert_eq!(CALLS.load(Relaxed) - before, 0, "{text}, {extra} B free, {calls} requests in the reset");
        let Err(why) = second else { break };
        assert!(why.contains("not enough memory") && !why.contains('\n'), "{text}, {extra} B free: {why}");
        refused += 1;
        kept += u32::from(extra == 0);
        extra += 1 + extra / 2;
        extra = extra.max(PAGE as u64);
    }
    assert!(refused > 0 && kept == 1, "{text} needs a page");
}

/// While the kernel holds the queue's lock, a change requests nothing, nor do packets after it.
fn a_change_requests_nothing(text: &str) {
    for (old, new) in [("50", "2000"), ("2000", "50"), ("30kB", "300kB"), ("500", "500")] {
        let (Ok(mut queue), Ok(mut next)) = (Queue::create(text, old, setup()), Queue::create(text, new, setup()))
        else {
            continue;
        };
        let mut machine = Machine::default();
        let now = run(&mut queue, &mut machine, LOADS[1], setup().now, 0);
        let before = REQUESTS.load(Relaxed);
        if queue.change(&mut next, now, &mut machine).is_err() {
            return;
        }
        assert_eq!(REQUESTS.load(Relaxed) - before, 0, "{text}, {old} to {new}");
        drop(next);
        let before = CALLS.load(Relaxed);
        run(&mut queue, &mut machine, LOADS[2], now, PACKETS);
        assert_eq!(CALLS.load(Relaxed) - before, 0, "{text}, {old} to {new}");
    }
}

fn a_limit_is_refused_with_its_memory() {
    for (text, limit, why) in [
        ("codel", "1000000000", "codel: its limit needs"),
        ("codel", "1e15B", "limit: "),
        ("pie", "1000000000B", "pie: its limit needs"),
        ("fq_codel limit 1000000000 memory_limit 1GB", "4000000000", "fq_codel: its limit needs"),
        ("prio { band 1 { cake } }", "4000000000packets", "prio: its limit needs"),
        ("pi2", "1000s", "pi2: its limit needs"),
        ("fq(sfb) hash perfect", "", "fq: hash perfect makes a queue manager for each new flow"),
    ] {
        let before = LARGE.load(Relaxed);
        let reason = Queue::create(text, limit, setup()).err().unwrap_or_else(|| panic!("{text}, {limit}"));
        assert!(reason.starts_with(why) && !reason.contains('\n'), "{text}, {limit}: {reason}");
        assert_eq!(LARGE.load(Relaxed), before, "{text}: nothing stays reserved");
    }
    let mut queue = Queue::create("droptail", "2800B", setup()).unwrap();
    let admitted = |queue: &mut Queue, len| {
        let mut machine = Machine::default();
        (0..9999)
            .take_while(|&n| queue.enqueue(setup().now, Meta::new(len, 0), n, &mut machine) == EnqueueResult::Queued)
            .count()
    };
    assert_eq!(admitted(&mut queue, 28), 100, "bytes are the limit of packets that transports send");
    queue.reset(setup().now);
    assert_eq!(admitted(&mut queue, 14), 100, "smaller ones count as these");
}

const LIMITS: [&str; 6] = ["", "1", "2000", "100kB", "20ms", "300packets+50kB"];
const RATE: u64 = 11_300_000;
const PACKETS: usize = 4_000;
const PAGE: usize = 4096;
