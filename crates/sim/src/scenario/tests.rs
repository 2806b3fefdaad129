//! Reading scenario files: errors, defaults and the canonical form.

mod cells;
mod changes;
mod graph;
mod hosts;
mod links;
mod wlan;

use super::*;
use proptest::prelude::*;
use std::fs;

const EXAMPLE: &str = r#"
name = "four flows through CoDel"
duration = "100 s"
warmup = "10 s"
seed = 7

[link]
rate = "10 Mbit/s"
delay = "5 ms"
overhead = "7 B"
aqm = "codel target 7.5ms"
limit = ["1000 packets", "1 MB", "0.5 s"]

[reverse]
rate = "2 Mbit/s"
aqm = { name = "pie", ecn = true }

[[flows]]
kind = "tcp"
count = 4
spread = "1 s"
stop = "50 s"
access_rate = "1 Gbit/s"
rtt = "40 ms"
cc = "newreno"
initial_window = 10
receive_window = "4 MB"

[[flows]]
kind = "poisson"
direction = "reverse"
rate = "1.5 Mbit/s"
ecn = "ect0"

[probes]
packets = true
queue = "10 ms"
"#;

const SMALL: &str = r#"
duration = "10 s"
[link]
rate = "10 Mbit/s"
[[flows]]
kind = "tcp"
"#;

fn parse(text: &str) -> Result<Scenario, Error> {
    Scenario::parse(text, &[], Path::new("/"))
}

fn parse_with(text: &str, sets: &[(&str, &str)]) -> Result<Scenario, Error> {
    let sets: Vec<_> = sets.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
    Scenario::parse(text, &sets, Path::new("/"))
}

fn error_with(sets: &[(&str, &str)]) -> String {
    parse_with(SMALL, sets).expect_err("refused").to_string()
}

#[test]
fn every_key_arrives() {
    let scenario = parse(EXAMPLE).unwrap();
    assert_eq!((scenario.name.as_str(), scenario.seed), ("four flows through CoDel", 7));
    let warmup = Warmup::Fixed(Duration::from_secs(10));
    assert_eq!((scenario.duration, scenario.warmup), (Duration::from_secs(100), warmup));
    let link = &scenario.link;
    assert_eq!(link.service.nominal_rate(1500).as_bps(), 10_000_000);
    assert_eq!((link.delay, link.framing.overhead, link.mtu), (Duration::from_millis(5), 7, 1500));
    assert_eq!(
        (link.aqm.text.as_str(), link.limits.to_string()),
        ("codel target 7.5ms", "1000 packets + 1000000 B + 500 ms".into())
    );
    let reverse = &scenario.reverse;
    assert_eq!((reverse.delay, reverse.framing.overhead, reverse.aqm.text.as_str()), (link.delay, 7, "pie ecn"));
    let [tcp, udp] = &scenario.flows[..] else { panic!("two groups") };
    assert_eq!((tcp.count, tcp.direction, tcp.spread), (4, Direction::Forward, Duration::from_secs(1)));
    // (40 - 5 - 5) / 2
    assert_eq!((tcp.access_delay, tcp.stop), (Duration::from_millis(15), Some(Duration::from_secs(50))));
    let Traffic::Tcp(FileSpec { tcp: spec, .. }) = &tcp.traffic else { panic!("tcp") };
    assert_eq!((spec.cc.text.as_str(), spec.stack.as_str(), spec.mss), ("newreno", "linux-6.1", 1448));
    assert_eq!((spec.initial_window, spec.receive_window), (Some(10), Some(4_000_000)));
    assert!(spec.sack && spec.delayed_ack && !spec.ecn);
    let Traffic::Poisson(spec) = &udp.traffic else { panic!("poisson") };
    assert_eq!((spec.rate.as_bps(), spec.size, spec.ecn), (1_500_000, 1500, sojourn_aqm::Ecn::Ect0));
    assert_eq!(udp.direction, Direction::Reverse);
    let paths = |data: u16, acks: u16| Paths { data: [data].into(), acks: [acks].into() };
    assert_eq!((&tcp.paths, &udp.paths), (&paths(0, 1), &paths(1, 0)));
    let expected = Probes { packets: true, queue: Some(Duration::from_millis(10)), ..Probes::default() };
    assert_eq!(scenario.probes, expected);
}

#[test]
fn defaults_are_written_out() {
    let expected = serde_json::json!({
        "name": "", "duration": "10 s", "warmup": "0 s", "seed": 1,
        "link": {
            "rate": "10 Mbit/s", "delay": "0 s", "reorder": false, "framing": "ethernet", "overhead": "0 B",
            "mpu": "0 B", "account": "adjusted", "mtu": "1500 B", "limit": "1000 packets",
            "aqm": { "name": "droptail", "profile": "plain" },
        },
        "reverse": {
            "rate": "10 Mbit/s", "delay": "0 s", "reorder": false, "framing": "ethernet", "overhead": "0 B",
            "mpu": "0 B", "account": "adjusted", "mtu": "1500 B", "limit": "1000 packets",
            "aqm": { "name": "droptail", "profile": "plain" },
        },
        "flows": [{
            "kind": "tcp", "direction": "forward", "count": 1, "start": "0 s", "spread": "0 s", "access_delay": "0 s",
            "cc": "cubic", "stack": "linux-6.1", "sack": true, "delayed_ack": true, "mss": "1448 B", "ecn": false,
        }],
        "probes": { "packets": false, "transfers": false, "headers": false },
    });
    assert_eq!(parse(SMALL).unwrap().canonical(), expected.to_string());
}

#[test]
fn canonical_form_is_a_fixed_point() {
    for text in [EXAMPLE, SMALL] {
        let scenario = parse(text).unwrap();
        let canonical = scenario.canonical();
        assert_eq!(parse(&canonical).unwrap(), scenario);
        assert_eq!(parse(&canonical).unwrap().canonical(), canonical);
    }
    let largest = parse_with(SMALL, &[("seed", "18446744073709551615")]).unwrap();
    assert_eq!(parse(&largest.canonical()).unwrap().seed, u64::MAX);
}

#[test]
fn overrides() {
    let set = |path, value| parse_with(EXAMPLE, &[(path, value)]).unwrap();
    assert_eq!(set("link.rate", "20 Mbit/s").link.service, Service::Rate(sojourn_aqm::Rate::from_bps(20_000_000)));
    assert_eq!(set("flows.0.count", "9").flows[0].count, 9);
    assert_eq!(set("flows[1].size", "200 B").flows[1].traffic.name(), "poisson");
    assert_eq!(set("link.aqm", "pie").link.aqm.text, "pie");
    assert_eq!(set("link.aqm.target", "9 ms").link.aqm.text, "codel target 9ms");
    assert_eq!(set("link.aqm.ecn", "true").link.aqm.text, "codel target 7.5ms ecn");
    assert_eq!(set("reverse.limit", r#"["10 packets", "1 MB"]"#).reverse.limits.to_string(), "10 packets + 1000000 B");
    assert_eq!(set("flows.0.stop", "").flows[0].stop, None);
    assert_eq!(set("flows.1", "").flows.len(), 1);
    let made = parse_with(SMALL, &[("reverse.delay", "3 ms"), ("probes.packets", "true")]).unwrap();
    assert_eq!((made.reverse.delay, made.probes.packets), (Duration::from_millis(3), true));
}

#[test]
fn refusals_name_place_and_mend() {
    for (path, value, error) in [
        ("link.rate", "10", r#"link.rate: expected a text with a unit such as "10 Mbit/s", found a number"#),
        ("link.rate", r#""10""#, r#"link.rate: "10" has no unit; write e.g. "10 Mbit/s""#),
        ("link.rate", "0 Mbit/s", r#"link.rate: "0 Mbit/s" is not above zero; write e.g. "10 Mbit/s""#),
        ("link.rate", "-1 Mbit/s", r#"link.rate: "-1 Mbit/s" is negative; write e.g. "10 Mbit/s""#),
        ("link.rate", "99999 Gbit/s", r#"link.rate: "99999 Gbit/s" is out of range; at most 10000 Gbit/s"#),
        ("link.rate", "", r#"link: rate, bucket, poisson, cox or trace is missing; write e.g. rate = "10 Mbit/s""#),
        ("link.trace", "x.down", "link: rate and trace exclude each other; keep one"),
        ("link.once", "true", "link.once: not a key of a link with constant rate; leave it out"),
        ("link.delay", "5", r#"link.delay: expected a text with a unit such as "5 ms", found a number"#),
        ("link.delay", "-5 ms", r#"link.delay: "-5 ms" is negative; write e.g. "5 ms""#),
        ("link.delay", "99999999 min", r#"link.delay: "99999999 min" is out of range; at most 1000000000 s"#),
        ("link.overhead", "70 kB", "link.overhead: 70000 B is out of range; from 0 B to 65535 B"),
        ("link.mtu", "1 B", "link.mtu: 1 B is out of range; from 68 B to 65535 B"),
        ("link.aqm", "coddle", r#"link.aqm: unknown AQM "coddle"; did you mean "codel"?"#),
        ("reverse.aqm.targt", "5 ms", r#"reverse.aqm: name is missing; write e.g. { name = "codel" }"#),
        (
            "link.limit",
            "1000",
            r#"link.limit: expected a text with a unit such as "1000 packets", or a list of such, found a number"#,
        ),
        ("link.limit", "[]", r#"link.limit: the list is empty; write e.g. "1000 packets""#),
        ("link.limit", "0 packets", r#"link.limit: a limit of "0 packets" leaves no room for a packet"#),
        ("link.rates", "1 Mbit/s", r#"link.rates: unknown key; did you mean "rate"?"#),
        (
            "link.serialisation_delays",
            "1",
            "link.serialisation_delays: unknown key; expected one of delay, delay_trace, reorder, tick, gro, framing, overhead, mpu, account, loss, below, mtu, aqm, limit, rate, change, bucket, burst, peak, overdraft, poisson, cox, sigma, outage, trace, once, wlan_rate",
        ),
        ("link", "10 Mbit/s", "link: expected a table, found a text"),
        ("link", "", r#"link: missing; write e.g. [link] with rate = "10 Mbit/s""#),
        ("reverse", "fast", "reverse: expected a table, found a text"),
        ("flows", "", r#"flows: none given; write e.g. [[flows]] with kind = "tcp""#),
        ("flows", "[]", r#"flows: none given; write e.g. [[flows]] with kind = "tcp""#),
        ("flows", "4", "flows: expected a list of tables, [[flows]], found a number"),
        ("flows.0", "4", "flows[0]: expected a table, found a number"),
        ("flows.0.count", "0", "flows[0].count: 0 is out of range; from 1 to 1000000"),
        ("flows.0.count", "-1", "flows[0].count: -1 is out of range; from 1 to 1000000"),
        ("flows.0.count", "1000001", "flows[0].count: 1000001 is out of range; from 1 to 1000000"),
        ("flows.0.count", "1.5", "flows[0].count: 1.5 is not a whole number"),
        ("flows.0.count", "four", "flows[0].count: expected a whole number, found a text"),
        ("flows.0.rtts", "40 ms", r#"flows[0].rtts: unknown key; did you mean "rtt"?"#),
        ("flows.0.kind", "tpc", r#"flows[0].kind: unknown kind of traffic "tpc"; did you mean "tcp"?"#),
        ("flows.0.kind", "", r#"flows[0].kind: missing; write e.g. kind = "tcp""#),
        ("flows.0.kind", "cbr", r#"flows[0].rate: missing; write e.g. rate = "1 Mbit/s""#),
        ("flows.0.rate", "1 Mbit/s", "flows[0].rate: not a key of tcp flows; leave it out"),
        ("flows.0.cc", "renos", r#"flows[0].cc: unknown congestion control "renos"; did you mean "reno"?"#),
        (
            "flows.0.stack",
            "linux",
            r#"flows[0].stack: unknown TCP stack "linux"; expected one of linux-2.6.29, linux-3.8, linux-3.13, linux-6.1, ns2, quic-rfc9002"#,
        ),
        ("flows.0.pause", "1 s", r#"flows[0].pause: missing, so no transfer would end; write e.g. size = "10 MB""#),
        ("flows.0.size", "0 B", "flows[0].size: 0 B is out of range; from 1 B to 1125899906842624 B"),
        ("flows.0.think", "1 ms", "flows[0].think: not a key of tcp flows; leave it out"),
        ("flows.0.kind", "web", r#"flows[0].interval: missing; write e.g. interval = "200 ms""#),
        (
            "flows.0.kind",
            "packmime",
            "flows[0].connections_per_second: missing; write e.g. connections_per_second = 15",
        ),
        ("flows.0.sack", "yes", "flows[0].sack: expected true or false, found a text"),
        ("flows.0.mss", "0 B", "flows[0].mss: 0 B is out of range; from 1 B to 65483 B"),
        ("flows.0.mss", "1448", r#"flows[0].mss: expected a text with a unit such as "1500 B", found a number"#),
        ("flows.0.stagger", "0 s", r#"flows[0].stagger: "0 s" is not above zero; write e.g. "5 ms""#),
        ("flows.0.stop", "0 s", r#"flows[0].stop: "0 s" is not above zero; write e.g. "5 ms""#),
        ("flows.3.count", "2", "flows.3: flows has length 1; number its entries from 0"),
        ("flows.count", "2", "flows.count: flows is a list; write e.g. flows.0"),
        ("link.rate.x", "2", "link.rate.x: link.rate is a single value and has no keys"),
        ("link..rate", "2", r#"link..rate: is not a key; write e.g. "link.rate" or "flows.0.count""#),
        ("duration", "0 s", r#"duration: "0 s" is not above zero; write e.g. "5 ms""#),
        ("duration", "", r#"duration: missing; write e.g. duration = "100 s""#),
        ("warmup", "10 s", "warmup: 10 s is not below duration (10 s); write a shorter one"),
        ("seed", "-1", "seed: -1 is out of range; from 0 to 18446744073709551615"),
        ("probes.queue", "0 ms", r#"probes.queue: "0 ms" is not above zero; write e.g. "5 ms""#),
        ("probes.queue", "1 ns", "probes.queue: a step of 1 ns gives more than 20000000 rows; write a longer one"),
        ("probes.queue", "true", r#"probes.queue: expected a text with a unit such as "5 ms", found true or false"#),
        ("probes.headers", "true", "probes.headers: needs packets; add packets = true"),
        ("probes.packet", "true", r#"probes.packet: unknown key; did you mean "packets"?"#),
        ("draw.x", "1", r#"draw: must be drawn first; use the output of "sojourn scenario draw""#),
        ("sweep.seed", "[1, 2]", r#"sweep: makes this a study of many runs; run it with "sojourn sweep""#),
        ("durations", "1 s", r#"durations: unknown key; did you mean "duration"?"#),
        ("name", "5", "name: expected a text, found a number"),
    ] {
        assert_eq!(error_with(&[(path, value)]), error, "{path} = {value}");
    }
}

#[test]
fn refusals_that_need_two_keys() {
    for (sets, error) in [
        (
            [("link.delay", "30 ms"), ("flows.0.rtt", "40 ms")],
            r#"flows[0].rtt: 40 ms is below link.delay + reverse.delay; write at least "60 ms""#,
        ),
        ([("flows.0.rtt", "40 ms"), ("flows.0.access_delay", "1 ms")], "flows[0].rtt: excludes access_delay; keep one"),
        (
            [("flows.0.spread", "9 s"), ("flows.0.stop", "5 s")],
            "flows[0].stop: 5 s is not after the last start at 9 s; write a later one",
        ),
        (
            [("links", ROW), ("flows.0.route", r#"["link", "third"]"#)],
            "flows[0].route: no path leads from link to third; the links in their order are link, second, third",
        ),
        (
            [("links", ROW), ("flows.0.route", r#"["second", "link"]"#)],
            "flows[0].route: no path leads from second to link; the links in their order are link, second, third",
        ),
        (
            [("links", ROW), ("flows.0.route", r#"["secnd"]"#)],
            r#"flows[0].route: unknown link "secnd"; did you mean "second"?"#,
        ),
        ([("links", ROW), ("flows.0.route", "[]")], r#"flows[0].route: the list is empty; write e.g. ["link"]"#),
        (
            [("links", ROW), ("links.1.name", "second")],
            r#"links[1].name: "second" is already taken; choose another name"#,
        ),
        ([("links", ROW), ("links.0.name", "")], r#"links[0].name: missing; write e.g. name = "second""#),
        ([("links", ROW), ("links.0.rates", "1")], r#"links[0].rates: unknown key; did you mean "rate"?"#),
        (
            [("links", ROW), ("flows.0", r#"{"kind":"tcp","rtt":"50 ms","route":["second","third"]}"#)],
            r#"flows[0].rtt: 50 ms is below the delays of the links on the route, both ways; write at least "60 ms""#,
        ),
        ([("links", "4"), ("flows.0.count", "2")], "links: expected a list of tables, [[links]], found a number"),
        (
            [("flows.0.route", "link"), ("flows.0.count", "2")],
            r#"flows[0].route: expected a list of names such as ["link"], found a text"#,
        ),
        (
            [("flows.0", r#"{"kind":"web","interval":"1 us","size":"1 kB"}"#), ("duration", "2000 s")],
            "flows: about 2000000000 connections in all; at most 1000000000",
        ),
        (
            [("flows.0", r#"{"kind":"packmime","connections_per_second":1}"#), ("flows.0.count", "1001")],
            "flows[0].count: 1001 clouds of clients; at most 1000, write a higher connections_per_second",
        ),
        (
            [("flows.0", r#"{"kind":"packmime","connections_per_second":1}"#), ("flows.0.protocol", "HTTP/2")],
            r#"flows[0].protocol: unknown version of HTTP "HTTP/2"; did you mean "HTTP/1.0"?"#,
        ),
        (
            [("flows.0.count", "1000000"), ("flows.0.stagger", "1001 s")],
            "flows[0].stagger: 1001 s is out of range; at most 1000 s for 1000000 flows",
        ),
        (
            [("flows.0.count", "1000000"), ("flows.0.rtt_stagger", "1001 s")],
            "flows[0].rtt_stagger: 1001 s is out of range; at most 1000 s for 1000000 flows",
        ),
        (
            [("flows.0", r#"{"kind":"packmime","connections_per_second":1}"#), ("flows.0.rtt_stagger", "2 ms")],
            "flows[0].rtt_stagger: all connections of a group have one round-trip time; write a group for each",
        ),
        ([("flows.0.kind", "cbr"), ("flows.0.cc", "reno")], "flows[0].cc: not a key of cbr flows; leave it out"),
        (
            [("flows.0.count", "1000000"), ("probes.flows", "100 ms")],
            "probes.flows: a step of 100 ms gives more than 20000000 rows; write a longer one",
        ),
        (
            [
                ("flows.0.count", "1000000"),
                ("flows", r#"[{"kind":"tcp","count":600000},{"kind":"tcp","count":600000}]"#),
            ],
            "flows: 1200000 flows in all; at most 1000000",
        ),
        (
            [("flows.0.kind", "cbr"), ("flows.0.rate", "0 bit/s")],
            r#"flows[0].rate: "0 bit/s" is not above zero; write e.g. "10 Mbit/s""#,
        ),
    ] {
        assert_eq!(error_with(&sets), error);
    }
}

const ROW: &str = r#"[{"name":"second","rate":"1 Mbit/s","delay":"10 ms"},
    {"name":"third","rate":"1 Mbit/s","delay":"20 ms","reverse":{"rate":"2 Mbit/s"}}]"#;

#[test]
fn further_links_come_back_from_the_canonical_form() {
    let sets = [("links", ROW), ("flows.0.route", r#"["second", "third"]"#), ("flows.0.rtt", "100 ms")];
    let scenario = parse_with(SMALL, &sets).unwrap();
    let hops: Vec<_> = scenario.hops().map(|(name, link, reverse)| (name, link.delay, reverse.delay)).collect();
    let [none, ten, twenty] = [0, 10, 20].map(Duration::from_millis);
    assert_eq!(hops, [("link", none, none), ("second", ten, ten), ("third", twenty, twenty)]);
    // (100 - 2 (10 + 20)) / 2
    assert_eq!(scenario.flows[0].access_delay, twenty);
    assert_eq!(scenario.flows[0].paths, Paths { data: [2, 4].into(), acks: [5, 3].into() });
    assert_eq!(parse(&scenario.canonical()).unwrap(), scenario);
}

#[test]
fn syntax_errors_have_line_and_column() {
    for (text, place) in [
        ("duration = \"1 s\"\nwarmup = ", "line 2, column 10"),
        ("duration = \"1 s\"\nduration = \"2 s\"", "line 2, column 1"),
        ("[link\n", "line 1, column 6"),
        ("name = \"ä\" x", "line 1, column 12"),
        ("{\"duration\": }", "line 1, column 14"),
        ("{\"duration\":\n\"1 s\"", "line 2, column 5"),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!(error.place, place, "{error}");
        assert!(!error.message.contains('\n') && !error.message.is_empty(), "{error}");
    }
    let deep = format!("{}=1", ["a"; 100_000].join("."));
    assert!(parse(&deep).is_err() && parse(&format!("a={}", "[".repeat(100_000))).is_err());
    assert!(parse(&format!("{{\"a\":{}", "[".repeat(100_000))).is_err());
    assert!(error_with(&[(&["a"; 100_000].join("."), "1")]).contains("is not a key"));
    assert_eq!(parse("duration = 07:32:00").unwrap_err().place, "duration");
    assert_eq!(parse("seed = inf").unwrap_err().place, "duration");
}

#[test]
fn a_trace_brings_its_reverse_path() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    fs::write(folder.join("x.down"), "1\n").unwrap();
    let text = "duration = \"1 s\"\n[link]\ntrace = \"x.down\"\nmtu = \"1504 B\"\n[[flows]]\nkind = \"tcp\"\n";
    let read = || Scenario::parse(text, &[], &folder);

    let alone = read().unwrap();
    assert_eq!(alone.reverse.service, Service::Rate(sojourn_aqm::Rate::from_bps(12_032_000)), "the mean rate");
    fs::write(folder.join("x.up"), "2\n").unwrap();
    let pair = read().unwrap();
    let Service::Trace(up) = &pair.reverse.service else { panic!("a trace") };
    assert_eq!((up.path.as_path(), up.trace.period_ms(), up.once), (folder.join("x.up").as_path(), 2, false));
    assert_eq!(pair.reverse.mtu, 1504);
    assert_eq!(parse(&pair.canonical()).unwrap(), pair, "paths are absolute");

    fs::write(folder.join("x.up"), "2\n1\n").unwrap();
    let path = folder.join("x.up").display().to_string();
    let error = read().unwrap_err().to_string();
    let expected = "line 2: 1 ms after 2 ms; timestamps must not decrease, sort the file";
    assert_eq!(error, format!("reverse.trace: {path}, {expected}"));
    fs::remove_file(folder.join("x.down")).unwrap();
    let error = read().unwrap_err().to_string();
    assert_eq!(
        error,
        format!("link.trace: {}: No such file or directory (os error 2)", folder.join("x.down").display())
    );
}

#[test]
fn the_schema_names_every_key() {
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    let properties = &schema["properties"];
    let serves = ["rate", "bucket", "poisson", "cox", "trace"].map(|first| serde_json::json!({ "required": [first] }));
    assert_eq!(schema["anyOf"][0]["required"], serde_json::json!(["wlan"]));
    assert_eq!(schema["anyOf"][1]["properties"]["link"]["anyOf"], serde_json::json!(serves));
    let stations = &properties["wlan"]["properties"]["stations"]["items"]["properties"];
    assert_eq!(stations["rate"]["default"], "minstrel");
    assert_eq!(properties["link"]["properties"]["delay"]["default"], "0 s");
    let kinds = properties["flows"]["items"]["oneOf"].as_array().unwrap();
    assert_eq!(kinds.len(), traffic::KINDS.len());
    let canonical: Value = serde_json::from_str(&parse(EXAMPLE).unwrap().canonical()).unwrap();
    for name in canonical["flows"][0].as_object().unwrap().keys() {
        assert!(!kinds[0]["properties"][name].is_null(), "{name}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<Vec<u8>>(), path in "[a-z.0-9\\[\\]]{0,20}", value in "\\PC{0,20}") {
        let text = String::from_utf8_lossy(&text);
        let _ = Scenario::parse(&text, &[(path, value)], Path::new("/"));
    }

    #[test]
    fn no_edit_of_a_file_panics(
        edits in prop::collection::vec((0..1000usize, any::<u8>()), 1..8),
        path in "(wlan|link|reverse|flows\\.[0-2]|probes)\\.[a-z]{1,8}",
        value in "[0-9a-z \"./@{}\\[\\]-]{0,12}",
    ) {
        let mut bytes = EXAMPLE.as_bytes().to_vec();
        for (at, byte) in edits {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        if let Ok(scenario) = Scenario::parse(&String::from_utf8_lossy(&bytes), &[], Path::new("/")) {
            prop_assert_eq!(&parse(&scenario.canonical()).unwrap(), &scenario);
        }
        if let Ok(scenario) = parse_with(EXAMPLE, &[(path.as_str(), value.as_str())]) {
            prop_assert_eq!(&parse(&scenario.canonical()).unwrap(), &scenario);
        }
    }
}

#[test]
fn the_case_of_a_name_does_not_matter() {
    let written =
        SMALL.replace("kind = \"tcp\"", "kind = \"TCP\"\ncc = \"BBR\"\nstack = \"Linux-6.1\"\ndirection = \"Forward\"");
    let plain =
        SMALL.replace("kind = \"tcp\"", "kind = \"tcp\"\ncc = \"bbr\"\nstack = \"linux-6.1\"\ndirection = \"forward\"");
    for (written_aqm, aqm) in [
        ("CoDel@ACT target 7.5ms", "codel@act target 7.5ms"),
        ("FQ(PIE ecn) quantum 300B", "fq(pie ecn) quantum 300B"),
        ("FQ limit 300", "fq limit 300"),
        ("TBF rate 3mbit burst 5kB { Fq_CoDel }", "tbf rate 3mbit burst 5kB { fq_codel }"),
    ] {
        let with = |text: &str, aqm: &str| {
            let text = text.replace("[link]", &format!("[link]\naqm = \"{aqm}\""));
            parse(&text).unwrap_or_else(|error| panic!("{text}: {error}")).canonical()
        };
        assert_eq!(with(&written, written_aqm), with(&plain, aqm));
    }
}
