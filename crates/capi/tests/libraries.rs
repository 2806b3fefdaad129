//! AQMs in shared libraries, in the simulator and in the conformance suite: libsojourn_aqm gives the same results as
//! the built-in AQMs, BLUE in C the same as BLUE in Rust, and a fault names its library.
#![cfg(target_os = "linux")]

use crate::common::{HERE, compile_library, libraries};
use sojourn_aqm::conformance::case::Case;
use sojourn_aqm::registry::{AnyConfig, NamedConfig};
use sojourn_aqm::{DequeueResult, DropReason, Ecn, EnqueueResult, Host, Instant, Limits, Link, Meta, Rate, Rng};
use sojourn_example_aqm::BLUE;
use sojourn_library::foreign::Libraries;
use sojourn_library::name::is_library;
use sojourn_sim::{Simulation, scenario::Scenario};
use std::path::Path;

const SCENARIO: &str = r#"
duration = "7 s"
warmup = "1 s"
seed = 9041

[link]
rate = "7.3 Mbit/s"
limit = "61 packets"

[reverse]
rate = "1.1 Mbit/s"

[[flows]]
kind = "tcp"
count = 5
rtt = "37 ms"
spread = "1 s"
ecn = true

[[flows]]
kind = "cbr"
rate = "600 kbit/s"
size = "413 B"
rtt = "11 ms"
"#;

/// Fingerprint of the scenario under `aqm`, and the library's fault.
fn run(aqm: &str, base: &Path) -> (String, Option<String>) {
    let sets = [("link.aqm".to_string(), aqm.to_string())];
    let scenario = match aqm.starts_with("my_blue") {
        true => Scenario::parse_with(SCENARIO, &sets, base, &[&BLUE]),
        false => Scenario::parse_with(SCENARIO, &sets, base, &Libraries { base }),
    };
    let scenario = scenario.expect("the scenario is good");
    let fingerprint = Simulation::new(&scenario, scenario.seed).finish().summary.fingerprint;
    let fault = scenario.hops().find_map(|(_, link, _)| link.aqm.config.fault());
    (fingerprint, fault)
}

/// A directory with this build's library, and with libraries compiled from the C sources.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let library = libraries().join("libsojourn_capi.so");
    std::fs::copy(library, folder.path().join("libsojourn_aqm.so")).expect("cargo has built it");
    compile_library(folder.path(), &Path::new(HERE).join("../../examples/c/blue.c"), "blue.so", &[]);
    compile_library(folder.path(), &Path::new(HERE).join("tests/faulty.c"), "faulty.so", &[]);
    folder
}

#[test]
fn a_queue_manager_of_ours_gives_the_same_results_as_a_library() {
    let folder = folder();
    for aqm in [
        "droptail",
        "drophead",
        "codel",
        "codel target 7.5ms interval 93ms ecn",
        "codel@hardlimit",
        "codel_dt",
        "pie",
        "pie@linux ecn",
        "pi2 ecn",
        "red ecn",
        "ared",
        "choke",
        "fq_codel ecn limit 47",
        "sfqcodel",
        "fq_pie",
        "sfq",
        "sfq_red",
        "drr",
        "fq(pie ecn) flows 13",
        "dualpi2",
    ] {
        let (built_in, _) = run(aqm, folder.path());
        let (as_library, fault) = run(&format!("./libsojourn_aqm.so {aqm}"), folder.path());
        assert_eq!(fault, None, "{aqm}");
        assert_eq!(as_library, built_in, "{aqm}");
    }
}

/// ACKs of ten downloads queue behind five uploads on a slow reverse path, which request-response connections use in
/// both directions.
const TWO_WAYS: &str = r#"
duration = "9 s"
warmup = "1 s"
seed = 77

[link]
rate = "20 Mbit/s"
aqm = "fq_codel"

[reverse]
rate = "500 kbit/s"
limit = "300 packets"

[[flows]]
kind = "tcp"
count = 10
rtt = "20 ms"
spread = "1 s"
ecn = true

[[flows]]
kind = "tcp"
direction = "reverse"
count = 5
rtt = "35 ms"
spread = "1 s"

[[flows]]
kind = "request"
count = 3
request = "3 kB"
size = "40 kB"
gap = "50 ms"
"#;

/// Fingerprint of `TWO_WAYS` with `aqm` on the reverse path.
fn run_two_ways(aqm: &str, base: &Path) -> String {
    let sets = [("reverse.aqm".to_string(), aqm.to_string())];
    let scenario = Scenario::parse_with(TWO_WAYS, &sets, base, &Libraries { base }).expect("the scenario is good");
    let summary = Simulation::new(&scenario, scenario.seed).finish().summary;
    let fault = scenario.hops().find_map(|(_, _, reverse)| reverse.aqm.config.fault());
    assert_eq!(fault, None, "{aqm}");
    summary.fingerprint
}

#[test]
fn a_library_sees_the_tcp_headers_that_the_ack_filter_needs() {
    let folder = folder();
    let unfiltered = run_two_ways("cake", folder.path());
    for aqm in ["cake ack-filter", "cake ack-filter-aggressive", "cake@linux-6.1 ack-filter diffserv4"] {
        let built_in = run_two_ways(aqm, folder.path());
        assert_ne!(built_in, unfiltered, "{aqm} filters");
        assert_eq!(run_two_ways(&format!("./libsojourn_aqm.so {aqm}"), folder.path()), built_in, "{aqm}");
    }
}

#[test]
fn blue_in_c_is_blue_in_rust() {
    let folder = folder();
    for text in ["", " increment 0.051 decrement 0.0013", " freeze_time 12.5ms ecn"] {
        let (fingerprint, fault) = run(&format!("./blue.so{text}"), folder.path());
        assert_eq!(fault, None);
        assert_eq!(fingerprint, run(&format!("my_blue{text}"), folder.path()).0, "{text}");
    }
}

#[test]
fn libraries_keep_to_the_rules_of_the_suite() {
    let folder = folder();
    let mut random = Rng::from_state(77);
    for number in 0..200 {
        let bytes: Vec<u8> = (0..700).map(|_| random.next_u64() as u8).collect();
        let original = Case::from_bytes(&bytes);
        let effects = original.config.effects();
        // Not supported for a host in C.
        if matches!(original.config, AnyConfig::ExcludingCe(_)) || effects.duplicates || effects.damages {
            continue;
        }
        for (text, most) in [
            (format!("./libsojourn_aqm.so {}", original.aqm), original.config.max_backlog(original.limits)),
            ("./blue.so increment 0.3 ecn".to_string(), original.limits),
        ] {
            let named =
                NamedConfig::parse_with(&text, &Libraries { base: folder.path() }).expect("it was configured before");
            let case = Case { config: named.config, aqm: text, ..original.clone() };
            let done = case.run_within(most);
            assert_eq!(case.config.fault(), None, "case {number}: {case}");
            assert_eq!(done.err(), None, "case {number}: {case}");
        }
    }
}

/// The fault recorded for `fault` of tests/faulty.c after six packets, the last two of which exceed the limit.
fn found(fault: &str, base: &Path) -> String {
    let own = Libraries { base };
    let named = NamedConfig::parse_with(&format!("./faulty.so {fault}"), &own).expect("faults come later");
    let host = Host { link: Link::new(Rate::from_bps(8_000_000), 1500), rng: Rng::from_state(3) };
    let mut queue = named.config.build::<u64>(Limits::packets(4), host);
    let (mut offered, mut back) = (Vec::new(), Vec::new());
    let at = |us: u64| Instant::from_nanos(1000 * us);
    for number in 0..6 {
        let ecn = if number % 2 == 0 { Ecn::NotEct } else { Ecn::Ect0 };
        offered.push(number);
        let meta = Meta::new(1200 + number as u32, 5).with_ecn(ecn);
        queue.enqueue(at(number), meta, number, &mut |_, packet, _: DropReason| back.push(packet));
    }
    for step in 0..8 {
        if let DequeueResult::Packet(_, packet) = queue.dequeue(at(100 + step), &mut |_, packet, _| back.push(packet)) {
            back.push(packet);
        }
        let ecn = Ecn::Ect0;
        if step < 2 {
            offered.push(10 + step);
            queue.enqueue(at(100 + step), Meta::new(77, 6).with_ecn(ecn), 10 + step, &mut |_, p, _| back.push(p));
        }
    }
    let waits = queue.backlog().packets as usize;
    drop(queue);
    back.sort_unstable();
    back.dedup();
    assert_eq!(back.len() + waits, offered.len(), "{fault}: the host has every packet once, whatever the library does");
    named.config.fault().unwrap_or_default()
}

#[test]
fn what_a_library_does_wrong_is_found_out() {
    let folder = folder();
    assert_eq!(found("", folder.path()), "", "without a fault it is a queue");
    for (fault, expected) in [
        ("twice", "dequeue returns a packet for the second time, at 0.000101 s"),
        ("keeps", "dequeue reports empty but keeps 1 packets, at 0.0001"),
        ("keeps at the end", ""),
        ("errs", "enqueue: error -5, at 0 s"),
        ("says 7", "enqueue returns the invalid code 7, at 0 s"),
        ("says dropped", "enqueue reports a drop but returns no packet, at 0 s"),
        ("says queued", "enqueue dropped the packet but reports it as queued, at 0.000004 s"),
        ("says marked", "enqueue reports a mark on a packet that arrived as NotEct, at 0 s"),
        ("reason 9", "dropped a packet for the unknown reason 9, at 0.000004 s"),
        ("marks", "dequeue returns a packet with ECN field 3; it had 0 (NotEct), at 0.0001 s"),
        ("changes ecn", "dequeue returns a packet with ECN field 1; it had 0 (NotEct), at 0.0001 s"),
        ("in the past", "dequeue reports not before 100000 ns, which is not later than now, at 0.0001 s"),
        ("wrong handle", "dequeue returns a packet that it does not hold (a wrong `handle`), at 0.0001 s"),
        (
            "wrong length",
            "dequeue returns a packet of 1201 B, flow 5, enqueued at 0 ns; it arrived with 1200 B, flow 5",
        ),
        ("wrong backlog", "backlog reports 3 packets, 2401 B; the queue holds 2 packets, 2401 B, at 0.000001 s"),
        ("wrong statistics", "statistics report arrived_bytes 11; expected 7369, at 0.000101 s"),
        ("both ways", "dequeue returns a packet for the second time, at 0.0001 s"),
    ] {
        let message = found(fault, folder.path());
        let place = folder.path().canonicalize().expect("it is there").join("faulty.so");
        let expected = if expected.is_empty() { String::new() } else { format!("{}: {expected}", place.display()) };
        assert!(message.starts_with(&expected) && message.is_empty() == expected.is_empty(), "{fault}: {message}");
    }
}

#[test]
fn what_waits_at_the_end_comes_back_as_freed() {
    let folder = folder();
    for (fault, expected) in [
        ("", None),
        ("keeps at the end", Some("free keeps 1 packets; it must return every queued packet, at 0.000000003 s")),
        ("frees as late", Some("free returns a packet of 900 B with reason 2; expected SOJOURN_FREED")),
    ] {
        let named = NamedConfig::parse_with(&format!("faulty.so {fault}"), &Libraries { base: folder.path() });
        let config = named.expect("faults come later").config;
        let host = Host { link: Link::new(Rate::from_bps(8_000_000), 1500), rng: Rng::from_state(3) };
        let mut queue = config.build::<()>(Limits::packets(4), host);
        for n in 1..4 {
            let answer = queue.enqueue(Instant::from_nanos(n), Meta::new(900, 5), (), &mut |_, (), _: DropReason| {});
            assert_eq!(answer, EnqueueResult::Queued);
        }
        drop(queue);
        let message = config.fault();
        assert_eq!(message.is_some(), expected.is_some(), "{message:?}");
        assert!(
            expected.is_none_or(|expected| message.as_ref().is_some_and(|message| message.contains(expected))),
            "{message:?}"
        );
    }
}

#[test]
fn what_cannot_be_loaded_or_made_is_refused_in_one_line() {
    let folder = folder();
    let place = folder.path();
    std::fs::write(place.join("text.so"), "no library").expect("the folder is ours");
    let empty = place.join("empty.c");
    std::fs::write(&empty, "int nothing;\n").expect("the folder is ours");
    compile_library(place, &empty, "empty.so", &[]);
    let other = place.join("other.c");
    let code = "#include <sojourn_aqm.h>\nconst sojourn_discipline sojourn_library = { SIZE, ABI, ORDER };\n";
    std::fs::write(&other, code).expect("the folder is ours");
    compile_library(place, &other, "old.so", &["SIZE=sizeof(sojourn_discipline)", "ABI=9", "ORDER=0"]);
    compile_library(place, &other, "short.so", &["SIZE=24", "ABI=1", "ORDER=0"]);
    compile_library(place, &other, "hollow.so", &["SIZE=sizeof(sojourn_discipline)", "ABI=1", "ORDER=0"]);
    for (text, expected) in [
        ("./none.so", "./none.so: no such file in"),
        ("/none/blue.so", "/none/blue.so: no such file; give the path of a shared library"),
        ("text.so", "text.so: cannot be loaded: "),
        ("empty.so", "empty.so: does not export `sojourn_library`; see sojourn_aqm.h"),
        ("old.so", "old.so: is built for version 9 of sojourn_aqm.h; rebuild it with this one, version 1"),
        ("short.so", "short.so: sojourn_library.size is 24; set it to sizeof(sojourn_discipline)"),
        ("hollow.so", "hollow.so: sojourn_library.create is null; it is needed"),
        ("blue.so increment", "blue.so: increment lacks its value; write e.g. increment 0.02"),
        ("blue.so incerment 3", "blue.so: \"incerment 3\" is no parameter; one of freeze_time (in ms), increment"),
        ("libsojourn_aqm.so", "libsojourn_aqm.so: an AQM needs a name, e.g. \"codel\""),
        ("libsojourn_aqm.so codel target 5", "libsojourn_aqm.so: target: \"5\" has no unit; write e.g. \"5 ms\""),
        ("faulty.so nothing", "faulty.so: create returns no queue and no error"),
        ("faulty.so refuses", "faulty.so: error -2"),
        ("fq(blue.so)", "blue.so holds packets itself; write e.g. \"fq(codel)\""),
        ("blue.so(codel)", "blue.so takes no AQM in brackets"),
        ("blue.so@fast", "unknown profile \"fast\""),
        ("blue.so:red", "blue.so has no queue manager \"red\", only \"blue\"; write blue.so:blue, or blue.so"),
    ] {
        let message = NamedConfig::parse_with(text, &Libraries { base: place }).expect_err(text).to_string();
        assert!(message.contains(expected) && !message.contains('\n'), "{text}: {message}");
    }
}

#[test]
fn names_of_libraries_and_others() {
    for (name, expected) in [
        ("blue.so", true),
        ("./a/blue.so.1.2", true),
        ("libx-y.so", true),
        ("codel", false),
        (".so", false),
        ("x.so.", false),
        ("x.solid", false),
        ("a.so/codel", false),
        ("my.py:So", false),
        ("./blue.so:blue", true),
        ("blue.so.1:my_blue", true),
        ("blue.so:", false),
        ("blue.so:a:b", false),
        ("a:blue.so", false),
    ] {
        assert_eq!(is_library(name), expected, "{name}");
    }
}

#[test]
fn a_blank_in_a_path_is_written_as_in_an_address() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let inner = folder.path().join("a (b)@c,ü");
    std::fs::create_dir(&inner).expect("the folder is ours");
    compile_library(&inner, &Path::new(HERE).join("../../examples/c/blue.c"), "blue.so", &[]);
    let named = NamedConfig::parse_with("a%20%28b%29%40c%2Cü/blue.so ecn", &Libraries { base: folder.path() });
    let text = named.expect("it is found").spelling();
    assert!(text.ends_with("a%20%28b%29%40c%2Cü/blue.so ecn"), "{text}");
    assert_eq!(
        NamedConfig::parse_with(&text, &Libraries { base: Path::new("/") }).expect("it is found").spelling(),
        text
    );
}
