//! The functions in C, called as a kernel calls them, beside the library itself.
#![allow(unsafe_code)]

use crate::border::*;
use core::ffi::c_void;
use sojourn_aqm::headers::IP4_BYTES;
use sojourn_aqm::named::NamedConfig;
use sojourn_aqm::registry::ALGORITHMS;
use sojourn_aqm::{DequeueResult, Duration, Ecn, EnqueueResult, Host, Instant, Limits, Link, Meta, Rate, Rng, TcpView};
use std::ptr;

/// The kernel: packets and drops.
#[derive(Default)]
struct Machine {
    /// Header of each packet, by handle.
    heads: Vec<Vec<u8>>,
    dropped: Vec<(usize, u32, u32)>,
}

#[unsafe(no_mangle)]
extern "C" fn sojourn_qdisc_dropped(user: *mut c_void, handle: usize, ecn: u32, reason: u32) {
    // SAFETY: the tests pass a machine.
    unsafe { &mut *user.cast::<Machine>() }.dropped.push((handle, ecn, reason));
}

#[unsafe(no_mangle)]
extern "C" fn sojourn_qdisc_head(user: *mut c_void, handle: usize, bytes: *mut u8, room: usize) -> usize {
    // SAFETY: as above; the border passes a buffer of that length.
    let (machine, bytes) = unsafe { (&*user.cast::<Machine>(), std::slice::from_raw_parts_mut(bytes, room)) };
    let Some(head) = machine.heads.get(handle) else { return 0 };
    let len = head.len().min(room);
    bytes[..len].copy_from_slice(&head[..len]);
    len
}

const RATE: u64 = 11_300_000;

fn create(text: &str, limit: &str, now: u64) -> Result<*mut crate::queue::Queue, String> {
    created(&CSetup { rate: RATE, delay: 0, seed: 7, now, mtu: 1514 }, text, limit)
}

fn created(setup: &CSetup, text: &str, limit: &str) -> Result<*mut crate::queue::Queue, String> {
    let mut why = [0xff; 300];
    // SAFETY: the pointers are of these slices.
    let queue = unsafe {
        let (text, limit) = (text.as_bytes(), limit.as_bytes());
        sojourn_qdisc_create(setup, text.as_ptr(), text.len(), limit.as_ptr(), limit.len(), why.as_mut_ptr(), why.len())
    };
    if queue.is_null() { Err(shown(&why)) } else { Ok(queue) }
}

fn change(queue: *mut crate::queue::Queue, machine: &mut Machine, text: &str, limit: &str) -> Result<(), String> {
    let mut setup = CSetup { rate: 0, delay: 0, seed: 0, now: 0, mtu: 0 };
    // SAFETY: a queue of `create`.
    unsafe { sojourn_qdisc_setup(queue, &mut setup) };
    let new = created(&setup, text, limit)?;
    let mut why = [0xff; 300];
    // SAFETY: as above, and the pointers are of these variables.
    let done = unsafe {
        let done = sojourn_qdisc_change(queue, 9, ptr::from_mut(machine).cast(), new, why.as_mut_ptr(), why.len());
        sojourn_qdisc_free(new);
        done
    };
    if done { Ok(()) } else { Err(shown(&why)) }
}

fn shown(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).expect("it ends with a zero");
    String::from_utf8(bytes[..end].to_vec()).expect("text")
}

/// Arrival `n` of a random load of about 1.3 times the link's rate.
fn arrival(rng: &mut Rng) -> (Duration, Meta) {
    let len = 60 + rng.below(1455) as u32;
    let gap = Duration::from_nanos((len as u64 * 8_000_000_000 / RATE * (50 + rng.below(54)) / 100) as i64);
    let flow = rng.below(5) as u32;
    let meta = Meta { hosts: (flow % 2, flow), dscp: (rng.below(64)) as u8, ..Meta::new(len, flow) };
    (gap, meta.with_ecn(Ecn::ALL[rng.below(3) as usize]))
}

/// Every discipline through the border gives the verdicts, marks, drops and departures of the library, which reserves
/// nothing.
#[test]
fn verdicts_are_those_of_the_library() {
    for limit in ["123packets", "40kB", "20ms"] {
        verdicts_are_equal(limit);
    }
}

fn verdicts_are_equal(limit: &str) {
    let mut compared = 0;
    // Created late: periods count from there, except for Linux's ticks, which the library counts from its clock's origin.
    for (text, created) in
        ALGORITHMS.iter().flat_map(|algorithm| algorithm.spellings()).zip([0, 5_000_000_777].iter().cycle())
    {
        let is_linux = text.contains("@linux") || ["sfb", "cake"].iter().any(|name| text.starts_with(name));
        let created = if is_linux { 0 } else { *created };
        let queue = match create(&text, limit, created) {
            Ok(queue) => queue,
            Err(reason) => {
                assert!(reason.contains("use the kernel's own"), "{text}: {reason}");
                continue;
            }
        };
        let named = NamedConfig::parse(&text).unwrap();
        let host = Host { link: Link::new(Rate::from_bps(RATE), 1514), rng: Rng::from_state(7) };
        let mut library = named.config.build::<usize>(Limits::parse(limit).unwrap(), host);
        let (mut machine, mut dropped) = (Machine::default(), Vec::new());
        let (mut rng, mut now, mut departs) = (Rng::from_state(11), Instant::ZERO, Instant::ZERO);
        for handle in 0..4_000 {
            let (gap, meta) = arrival(&mut rng);
            now += gap;
            let user: *mut c_void = ptr::from_mut(&mut machine).cast();
            let mut sink = |meta: Meta, handle, reason| dropped.push((handle, meta.ecn as u32, reason as u32));
            while departs <= now {
                let mut out = CDeparture { handle: 0, at: 0, ecn: 0 };
                // SAFETY: a queue of `create`.
                let kind = unsafe { sojourn_qdisc_dequeue(queue, created + departs.as_nanos(), user, &mut out) };
                match library.dequeue(departs, &mut sink) {
                    DequeueResult::Empty => assert_eq!(kind, EMPTY, "{text}"),
                    DequeueResult::NotBefore(at) => {
                        assert_eq!((kind, out.at), (NOT_BEFORE, created + at.as_nanos()), "{text}");
                    }
                    DequeueResult::Packet(meta, handle) => {
                        assert_eq!((kind, out.handle, out.ecn), (PACKET, handle, meta.ecn as u32), "{text}");
                        departs += Duration::from_nanos((meta.len as u64 * 8_000_000_000 / RATE) as i64);
                        continue;
                    }
                }
                departs = now + Duration::from_nanos(1);
            }
            let packet = CPacket {
                handle,
                len: meta.len,
                flow: meta.flow,
                hosts: [meta.hosts.0, meta.hosts.1],
                class: 0,
                segments: 1,
                tos: meta.dscp << 2 | meta.ecn as u8,
            };
            // SAFETY: as above.
            let verdict = unsafe { sojourn_qdisc_enqueue(queue, created + now.as_nanos(), user, &packet) };
            let expected = match library.enqueue(now, meta, handle, &mut sink) {
                EnqueueResult::Queued => 0,
                EnqueueResult::Marked => 1,
                EnqueueResult::Dropped(reason) => 2 + reason as u32,
            };
            assert_eq!(verdict, expected, "{text}, packet {handle}");
        }
        assert_eq!(machine.dropped, dropped, "{text}");
        // Without classes, packets of htb wait in a queue of a thousand.
        assert!(!dropped.is_empty() || text.starts_with("htb"), "{text} is overloaded, {limit}");
        compared += 1;
        // SAFETY: freed once.
        unsafe { sojourn_qdisc_free(queue) };
    }
    assert!(compared > 60, "{compared} disciplines");
}

/// A machine that has been up for three years: no update is due before the creation, and one queue that is idle as long
/// has nothing to catch up with.
#[test]
fn a_queue_made_late_does_not_run_the_updates_since_the_boot() {
    let up = 100_000_000_000_000_000;
    for text in [
        "pi2",
        "pie",
        "pie@linux",
        "pi",
        "rem",
        "dualpi2",
        "ared@linux target 5ms",
        "fq_pie@linux",
        "prio { band 1 { pi2 } }",
    ] {
        let (queue, mut machine) = (create(text, "", up).unwrap(), Machine::default());
        let user: *mut c_void = ptr::from_mut(&mut machine).cast();
        let packet = CPacket { handle: 0, len: 1500, flow: 1, hosts: [0, 0], class: 0, segments: 1, tos: 0 };
        let mut out = CDeparture { handle: 9, at: 0, ecn: 0 };
        // SAFETY: a queue of `create`. At 1 us an update, three years of updates would take hours.
        unsafe {
            assert_eq!(sojourn_qdisc_enqueue(queue, up + 1, user, &packet), 0, "{text}");
            assert_eq!(sojourn_qdisc_dequeue(queue, up + 2, user, &mut out), PACKET, "{text}");
            if text.starts_with("pi") || text == "dualpi2" {
                assert_eq!(
                    sojourn_qdisc_dequeue(queue, 2 * up, user, &mut out),
                    EMPTY,
                    "{text}, after three idle years"
                );
            }
            sojourn_qdisc_reset(queue, 2 * up);
            assert_eq!(sojourn_qdisc_dequeue(queue, 2 * up + 1, user, &mut out), EMPTY, "{text}");
            sojourn_qdisc_free(queue);
        }
    }
}

#[test]
fn refusals_are_one_line_that_names_the_remedy() {
    for (text, limit, why) in [
        ("coddle", "", r#"unknown AQM "coddle""#),
        ("codel target 5", "", r#"target: "5" has no unit"#),
        ("codel", "many", "limit: "),
        ("netem duplicate 1%", "", "use the kernel's own netem"),
        ("sch_fq", "", "use the kernel's own fq"),
        ("tbf rate 1mbit burst 100B { codel }", "", "100 B"),
    ] {
        let reason = create(text, limit, 0).expect_err(text);
        assert!(reason.contains(why) && !reason.contains('\n'), "{text}: {reason}");
    }
    let long = format!("codel {}", "é".repeat(400));
    assert!(create(&long, "", 0).expect_err("unknown").len() < 300, "the reason is cut to the room for it");
}

#[test]
fn a_change_keeps_the_packets_and_refuses_another_discipline() {
    let (queue, mut machine) = (create("codel target 7ms", "50packets", 3).unwrap(), Machine::default());
    let user: *mut c_void = ptr::from_mut(&mut machine).cast();
    for handle in 0..50 {
        let packet = CPacket { handle, len: 1500, flow: 1, hosts: [0, 0], class: 0, segments: 1, tos: 2 };
        // SAFETY: a queue of `create`.
        assert_eq!(unsafe { sojourn_qdisc_enqueue(queue, 5, user, &packet) }, 0);
    }
    assert_eq!(spelling(queue), "limit 50packets codel target 7ms");
    change(queue, &mut machine, "codel target 9ms ecn", "20packets").unwrap();
    assert_eq!(machine.dropped.iter().map(|drop| drop.0).collect::<Vec<_>>(), (0..30).collect::<Vec<_>>());
    assert_eq!(spelling(queue), "limit 20packets codel target 9ms ecn");
    let reason = change(queue, &mut machine, "pie", "20packets").expect_err("another discipline");
    assert_eq!(reason, "this queue has codel; replace it instead of changing it to pie");
    assert_eq!(spelling(queue), "limit 20packets codel target 9ms ecn", "nothing has changed");
    change(queue, &mut machine, "codel target 9ms ecn", "15+30kB").expect_err("a sum needs units");
    change(queue, &mut machine, "codel target 9ms ecn", "20").unwrap();
    assert_eq!(spelling(queue), "limit 20packets codel target 9ms ecn", "as tc counts");
    let mut text = [0xff; 400];
    // SAFETY: as above.
    unsafe { sojourn_qdisc_state(queue, 10, text.as_mut_ptr(), text.len()) };
    assert!(shown(&text).starts_with("arrived 50 departed 0 marked 0 dropped-limit 30 count 0"), "{}", shown(&text));
    for room in [0, 1, 9] {
        text = [0xff; 400];
        // SAFETY: as above.
        unsafe { sojourn_qdisc_state(queue, 10, text.as_mut_ptr(), room) };
        assert!(text[room..].iter().all(|&byte| byte == 0xff), "{room} bytes");
        assert!(room == 0 || shown(&text) == "arrived "[..room - 1], "{}", shown(&text));
    }
    // SAFETY: freed once.
    unsafe { sojourn_qdisc_free(queue) };
}

fn spelling(queue: *const crate::queue::Queue) -> String {
    let mut text = [0xff; 200];
    // SAFETY: a queue of `create`.
    unsafe { sojourn_qdisc_spelling(queue, text.as_mut_ptr(), text.len()) };
    shown(&text)
}

/// Timers of the kernel's own disciplines; PIE's updates count from the creation.
#[test]
fn timers_are_those_of_the_kernel() {
    for (text, expected) in [
        ("pie@linux", Some((500, 15))),
        ("pie@linux tupdate 30ms", Some((500, 30))),
        ("fq_pie@linux", Some((500, 15))),
        ("pie", None),
        ("codel@linux", None),
        ("red@linux min 12500B max 37500B", None),
        ("ared@linux min 12500B max 37500B", Some((500, 500))),
        ("sfq@linux", None),
    ] {
        let queue = create(text, "", 1_000).unwrap();
        let (mut first, mut period) = (0, 0);
        // SAFETY: a queue of `create`.
        let has = unsafe { sojourn_qdisc_ticks(queue, &mut first, &mut period) };
        assert_eq!(has.then_some((first / 1_000_000, period / 1_000_000)), expected, "{text}");
        let creation = if text.starts_with("pie@") { "created 1us" } else { "" };
        assert!(spelling(queue).contains(creation), "{}", spelling(queue));
        // SAFETY: freed once.
        unsafe { sojourn_qdisc_free(queue) };
    }
}

/// CAKE's ACK filter reads the headers of the kernel's packets.
#[test]
fn an_ack_filter_reads_headers() {
    let (queue, mut machine) = (create("cake ack_filter filter", "", 0).unwrap(), Machine::default());
    for handle in 0..6_usize {
        let meta = Meta::new(40, 1);
        let view = TcpView { seq: 1, ack: 1000 * handle as u32 + 1, flags: TcpView::ACK, ..TcpView::default() };
        let mut bytes = [0; TcpView::IP_BYTES];
        let len = view.write_ip(&meta, &mut bytes);
        assert!(len > IP4_BYTES);
        machine.heads.push(bytes[..len].to_vec());
        let packet = CPacket { handle, len: 40, flow: 1, hosts: [1, 2], class: 0, segments: 1, tos: 0 };
        // SAFETY: a queue of `create`.
        unsafe { sojourn_qdisc_enqueue(queue, 5, ptr::from_mut(&mut machine).cast(), &packet) };
    }
    assert!(machine.dropped.len() >= 3, "older acknowledgments are dropped: {:?}", machine.dropped);
    // SAFETY: freed once.
    unsafe { sojourn_qdisc_free(queue) };
}

/// The header of the Linux side declares these structs and functions; the C compiler compares the layouts.
#[test]
fn the_header_declares_the_border() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packages/kernel/sojourn_kernel/qdisc");
    let Ok(header) = std::fs::read_to_string(format!("{folder}/sojourn_qdisc.h")) else { return };
    let border = include_str!("border.rs");
    let exported = border.split("pub unsafe extern \"C\" fn ").skip(1).map(|rest| rest.split('(').next().unwrap());
    for name in exported.chain(["sojourn_qdisc_dropped", "sojourn_qdisc_head"]) {
        assert!(header.contains(&format!("{name}(")), "{name} is not declared");
    }
    macro_rules! layout {
        ($($rust:ident = $c:literal { $($field:ident),* })*) => {
            [$(
                format!("_Static_assert(sizeof(struct {}) == {}, \"\");\n", $c, size_of::<$rust>()),
                $( format!(
                    "_Static_assert(offsetof(struct {}, {}) == {}, \"\");\n",
                    $c, stringify!($field), std::mem::offset_of!($rust, $field)
                ), )*
            )*].concat()
        };
    }
    let asserted = layout! {
        CSetup = "sojourn_setup" { rate, delay, seed, now, mtu }
        CPacket = "sojourn_packet" { handle, len, flow, hosts, class, segments, tos }
        CDeparture = "sojourn_departure" { handle, at, ecn }
    };
    let source = format!("#include <stddef.h>\n#include \"sojourn_qdisc.h\"\n{asserted}");
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-fsyntax-only", "-Wall", "-Werror", "-x", "c", "-I", folder, "-"]);
    let mut running = compiler.stdin(std::process::Stdio::piped()).spawn().expect("a C compiler");
    std::io::Write::write_all(&mut running.stdin.take().unwrap(), source.as_bytes()).unwrap();
    assert!(running.wait().unwrap().success(), "{source}");
}
