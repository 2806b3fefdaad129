//! The attribute for tests, seeds, and the files of a run.

use crate::common::{Paced, Silent, pulled};
use sojourn_net::{DecisionLog, Duration, Net, expect, seeds};
use std::panic::catch_unwind;

#[sojourn_net::test(worlds = ["tests/worlds/dsl.toml", "tests/worlds/slow-uplink.toml"], seeds = 3)]
fn paced(mut net: Net) {
    let (source, sink) = net.pair("call").expect("it is there");
    assert!(net.name_of(source) == "call.source" && net.name_of(sink) == "call.sink");
    net.attach("call", Paced::new(937, Duration::from_micros(4_003)), Silent).expect("it is there");
    expect!(net.run().expect("no fault"), "loss(call) <= 0 % and p99(delay, call) < 40 ms");
}

fn run(seed: u64) -> sojourn_net::Report {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/worlds/dsl.toml");
    let mut net = Net::load(path, seed).expect("it is valid");
    net.attach("call", Paced::new(731, Duration::from_micros(3_137)), Silent).expect("it is there");
    net.run().expect("no fault")
}

#[test]
fn all_seeds_that_fail_are_reported() {
    let failed = catch_unwind(|| {
        seeds(11..=16, |seed| {
            let report = run(seed);
            expect!(report, "p99(delay, call) < 30 ms");
            let lossy = "duration = \"2 s\"\nlink = { rate = \"9 Mbit/s\", loss = \"7%\" }\n\
                         flows = [{ kind = \"endpoint\", name = \"call\" }]";
            let mut net = Net::parse(lossy, seed).expect("it is valid");
            net.attach("call", Paced::new(731, Duration::from_micros(3_137)), Silent).expect("it is there");
            expect!(net.run().expect("no fault"), "loss(call) < 50 %");
            assert!(seed % 3 != 0, "seed {seed} is divisible");
        });
    });
    let text = failed.expect_err("two seeds fail").downcast::<String>().expect("a text");
    assert!(text.starts_with("2 of 6 seeds failed: 12, 15\nseed 12 is divisible"), "{text}");
    assert!(text.contains("p99(delay, call) < 30 ms: the same with all 6 seeds; "), "{text}");
    assert!(text.contains("loss(call) < 50 %: minimum "), "{text}");
}

#[test]
fn records_and_logs_are_complete() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = run(7);
    let log = report.write(folder.path()).expect("it is writable");
    assert_eq!(log.file_name().and_then(|name| name.to_str()), Some("dsl-7.decisions"));
    let record = std::fs::read_to_string(folder.path().join("dsl-7.json")).expect("it is there");
    let record: serde_json::Value = serde_json::from_str(&record).expect("JSON");
    assert_eq!((record["format"].as_u64(), record["seed"].as_u64()), (Some(1), Some(7)));
    assert_eq!(record["decisions"], report.decisions());
    assert_eq!(record["summary"]["groups"][0]["endpoint"]["source"]["sent"].as_u64(), Some(report.datagrams()));
    let read = DecisionLog::load(&log).expect("it is readable");
    assert_eq!(read.datagrams.len() as u64, report.datagrams());
    let text = std::fs::read_to_string(&log).expect("it is readable");
    assert_eq!(text.lines().nth(2), Some("0 call.source 10.0.0.1:49152 10.0.0.2:443 731 - -"));
    let again = read.replay().expect("it can be sent");
    assert_eq!((again.fingerprint(), again.decisions()), (report.fingerprint(), report.decisions()));
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 2, "no unfinished file");
}

#[test]
fn wrong_logs_are_refused_with_their_line() {
    let text = {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::read_to_string(run(1).write(folder.path()).expect("it is writable")).expect("it is readable")
    };
    let lines: Vec<&str> = text.lines().collect();
    let with = |number: usize, line: &str| {
        let mut lines = lines.clone();
        lines[number - 1] = line;
        lines.join("\n")
    };
    for (number, line, problem) in [
        (1, "sojourn-decisions 2", "not the first line of a decision log, \"sojourn-decisions 1\""),
        (2, "{}", "no seed"),
        (2, "{\"seed\": 1}", "no scenario"),
        (3, "0 call.source 10.0.0.1:49152 10.0.0.2:443 731 -", "6 words; a datagram has 7"),
        (3, "x call.source 10.0.0.1:49152 10.0.0.2:443 731 - -", "\"x\" is not a whole number"),
        (3, "0 call.source 10.0.0.1 10.0.0.2:443 731 - -", "\"10.0.0.1\" is not an address"),
        (3, "0 call.source 10.0.0.1:49152 10.0.0.2:443 99999 - -", "99999 B; a packet has at most 65535 B"),
        (3, "0 call.source 10.0.0.1:49152 10.0.0.2:443 731 ect2 -", "\"ect2\" is not an ECN field"),
        (5, "0 call.source 10.0.0.1:49152 10.0.0.2:443 731 - -", "0 ns is before the line above"),
    ] {
        let error = DecisionLog::parse(&with(number, line), "x.decisions").expect_err(problem);
        let expected = format!("x.decisions:{number}: {problem}; give a file that a net wrote, FILE.decisions");
        assert_eq!(error.to_string(), expected);
    }
    let error = DecisionLog::parse(&with(3, "0 cal.source 10.0.0.1:49152 10.0.0.2:443 731 - -"), "x")
        .and_then(|log| log.replay())
        .expect_err("no such end");
    assert_eq!(
        error.to_string(),
        "line 3: the world has no end \"cal.source\"; give a file that a net wrote, FILE.decisions"
    );
}

#[test]
fn a_program_that_is_pulled_writes_the_log_of_one_that_is_called() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/worlds/slow-uplink.toml");
    let load = || Net::load(path, 3).expect("it is valid");
    let mut called = load();
    called.attach("call", Paced::new(1_333, Duration::from_micros(2_900)), Silent).expect("it is there");
    let net = load();
    let ends: Vec<_> = net.ends().collect();
    let paced: Box<dyn sojourn_net::Endpoint> = Box::new(Paced::new(1_333, Duration::from_micros(2_900)));
    let pulled = pulled(net, [(ends[0], paced), (ends[1], Box::new(Silent) as _)].into()).expect("no fault");
    let called = called.run().expect("no fault");
    assert_eq!(pulled.log(), called.log());
    assert!(pulled.datagrams() > 600);
}
