use super::*;
use crate::scenario::Scenario;
use crate::simulation::Simulation;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

/// A call beside TCP: the scenario as far as sentences read it.
fn call() -> Value {
    json!({
        "link": { "rate": "10 Mbit/s", "delay": "5 ms", "aqm": { "name": "codel" } },
        "reverse": { "rate": "10 Mbit/s", "delay": "7 ms", "aqm": { "name": "droptail" } },
        "flows": [
            { "kind": "tcp", "direction": "forward", "access_delay": "4 ms" },
            { "kind": "endpoint", "direction": "forward", "name": "call", "tags": ["rtp", "rtcp"], "access_delay": "0 s" },
            { "kind": "tcp", "direction": "reverse", "access_delay": "0 s" },
        ],
    })
}

fn summary() -> Value {
    let direction = |sent: u64, p99: f64, loss: f64| {
        json!({
            "sent": sent, "received": sent - 10, "lost": 10, "marked": 9, "duplicates": 0, "reordered": 0,
            "bytes": 100 * sent, "loss_rate": loss,
            "delay_ms": { "mean": p99 / 2.0, "p50": p99 / 2.0, "p99": p99, "max": null },
        })
    };
    let tagged = |sent, p99, loss| {
        let mut all = direction(sent, p99, loss);
        all["tags"] = json!({ "rtp": direction(sent / 2, p99 + 1.0, 2.0 * loss) });
        all
    };
    let times = json!({ "mean": null, "p95": null });
    json!({
        "goodput_bps": 8e6, "delivered_bps": 8e6, "jain": null,
        "links": {
            "forward": { "utilisation": 0.5, "packets": 10, "drop_rate": 0.01, "mark_rate": 0.0,
                         "sojourn_ms": { "mean": 3.0, "max": 9.0 } },
            "reverse": { "utilisation": 0.25, "packets": 4, "drop_rate": 0.0, "mark_rate": 0.0,
                         "sojourn_ms": { "mean": null, "max": null } },
        },
        "hops": [],
        "groups": [
            { "kind": "tcp", "direction": "forward", "goodput_bps": 6e6, "completion_ms": times, "delay_ms": null },
            { "kind": "endpoint", "direction": "forward", "goodput_bps": 2e6, "completion_ms": times,
              "endpoint": {
                "name": "call", "source": tagged(100, 40.0, 0.1), "sink": tagged(50, 20.0, 0.2),
                "notes": { "source.cwnd": { "count": 3, "mean": 12.0, "min": 4.0, "max": 20.0, "last": 7.0 } },
              } },
            { "kind": "tcp", "direction": "reverse", "goodput_bps": 3e6, "completion_ms": times, "loss_rate": 0.03 },
        ],
        "flows": [
            { "group": 0, "direction": "forward", "goodput_bps": 4e6 },
            { "group": 0, "direction": "forward", "goodput_bps": 2e6 },
        ],
    })
}

fn words() -> Vocabulary {
    let manager = Manager { spelling: "codel".into(), scenario: call(), parameters: Default::default() };
    Vocabulary::new("--where", vec![manager], true)
}

fn evidence() -> Evidence {
    let bin = |link, lower_ms: u64, count| SojournBin {
        link,
        lower_ns: lower_ms * 1_000_000,
        upper_ns: (lower_ms + 2) * 1_000_000,
        count,
    };
    Evidence::new(call(), summary(), vec![bin(0, 0, 50), bin(0, 2, 49), bin(0, 8, 1), bin(1, 30, 5)])
}

fn value(text: &str) -> (f64, &'static str) {
    let expression = Expression::parse(text, &words()).unwrap_or_else(|error| panic!("{text}: {error}"));
    (expression.value(&[evidence()]), expression.unit())
}

fn refusal(text: &str) -> String {
    Expression::parse(text, &words()).expect_err(text).to_string()
}

#[test]
fn numbers_of_links_groups_and_keys() {
    for (text, number, unit) in [
        ("utilisation", 50.0, "%"),
        ("utilisation(reverse)", 25.0, "%"),
        ("goodput", 8.0, "Mbit/s"),
        ("goodput(flows.0)", 6.0, "Mbit/s"),
        ("min(goodput)", 2.0, "Mbit/s"),
        ("mean(goodput, flows.0)", 3.0, "Mbit/s"),
        ("p50(sojourn)", 1.0, "ms"),
        ("p99(sojourn)", 3.0, "ms"),
        ("p99.9(sojourn)", 9.0, "ms"),
        ("p50(sojourn, reverse)", 31.0, "ms"),
        ("peak(sojourn)", 9.0, "ms"),
        ("target", 5.0, "ms"),
        ("link.rate", 10.0, "Mbit/s"),
        ("flows.0.rtt", 20.0, "ms"),
        ("flows.2.rtt", 12.0, "ms"),
        ("2 * (5 ms) - 4 ms", 6.0, "ms"),
        ("p99(sojourn) / target", 0.6, ""),
        ("lost(flows.2)", 3.0, "%"),
        ("loss(flows.2)", 3.0, "%"),
    ] {
        let found = value(text);
        assert!((found.0 - number).abs() < 1e-9 && found.1 == unit, "{text}: {found:?}");
    }
}

#[test]
fn numbers_of_endpoints() {
    for (text, number, unit) in [
        ("p99(delay, call)", 40.0, "ms"),
        ("p99(delay, call.source)", 40.0, "ms"),
        ("p99(delay, call.rtp)", 41.0, "ms"),
        ("p99(delay, call.sink)", 20.0, "ms"),
        ("p99(delay, call.sink.rtp)", 21.0, "ms"),
        ("mean(delay, flows.1.sink)", 10.0, "ms"),
        ("delay(call)", 20.0, "ms"),
        ("loss(call)", 10.0, "%"),
        ("lost(call.rtp)", 20.0, "%"),
        ("loss(call.sink)", 20.0, "%"),
        ("marks(call)", 10.0, "%"),
        ("marks(call.sink)", 22.5, "%"),
        ("share(call)", 25.0, "%"),
        ("share(flows.1)", 25.0, "%"),
        ("share(flows.2)", 100.0, "%"),
        ("goodput(call)", 2.0, "Mbit/s"),
        ("note(call.source.cwnd)", 12.0, ""),
        ("max(note, call.source.cwnd)", 20.0, ""),
        ("min(note, call.source.cwnd) + 1", 5.0, ""),
    ] {
        let found = value(text);
        assert!((found.0 - number).abs() < 1e-9 && found.1 == unit, "{text}: {found:?}");
    }
    for missing in
        ["max(delay, call)", "note(call.sink.srtt)", "loss(call.sink.rtcp)", "p95(completion, call)", "jain(call)"]
    {
        assert!(value(missing).0.is_nan(), "{missing}");
    }
}

#[test]
fn a_group_is_found_by_its_name() {
    let mut scenario = call();
    let mut summary = summary();
    scenario["flows"].as_array_mut().unwrap().remove(0);
    summary["groups"].as_array_mut().unwrap().remove(0);
    let run = [Evidence::new(scenario, summary, Vec::new())];
    let of = |text| Expression::parse(text, &words()).unwrap().value(&run);
    assert_eq!(of("goodput(call)"), 2.0);
    assert_eq!(of("goodput(flows.1)"), 3.0);
}

#[test]
fn refusals_name_the_place_and_the_remedy() {
    for (text, expected) in [
        ("goodput > 1 Mbit/s", "is a condition; write a number, e.g. \"p99(sojourn)\""),
        ("goodput +", "\"goodput +\" is not a number; write e.g. \"p99(sojourn)\""),
        ("p99(delay, flows.0)", "only endpoints have quantiles of delays; write delay(flows.0)"),
        ("p99(delay, caal)", "\"caal\" is unknown; did you mean \"call\"?"),
        ("p99(delay, call.rpt)", "tag \"rpt\" is unknown; did you mean \"rtp\"?"),
        ("p99(delay, call.sink.rtp.x)", "write call, call.rtp or call.sink.rtp"),
        ("p99(delay)", "needs a flow group; name one, e.g. flows.0"),
        ("p42(delay, call)", "delays support only mean, p10"),
        ("goodput(call.rtp)", "call.rtp has no effect there; write call"),
        ("share(flows.9)", "no flows.9; number the groups from 0"),
        ("marks(flows.0)", "flows.0 has no effect there; leave it out"),
        ("note(call.cwnd)", "names no note of an endpoint; write e.g. note(call.source.cwnd)"),
        ("note(flows.0.source.cwnd)", "names no note of an endpoint"),
        ("p99(note, call.source.cwnd)", "notes support only min, mean, max, not p99"),
        ("foo.bar", "\"foo.bar\" is not a number"),
    ] {
        let found = refusal(text);
        assert!(found.starts_with("--where: ") && found.contains(expected), "{text}: {found}");
    }
}

#[test]
fn a_shell_knows_its_link() {
    let link =
        |target: &str| json!({ "rate": "5 Mbit/s", "delay": "0 s", "aqm": { "name": "codel", "target": target } });
    let scenario = json!({ "link": link("5 ms"), "reverse": link("9 ms"), "flows": [] });
    let manager = Manager { spelling: "codel".into(), scenario: scenario.clone(), parameters: Default::default() };
    let words = Vocabulary::new("--expect", vec![manager], false);
    let run =
        [Evidence::new(scenario, summary(), vec![SojournBin { link: 1, lower_ns: 0, upper_ns: 2_000_000, count: 1 }])];
    for (text, number) in [("target(up)", 9.0), ("target(down)", 5.0), ("p95(sojourn, up)", 1.0), ("packets(up)", 4.0)]
    {
        assert!((Expression::parse(text, &words).unwrap().value(&run) - number).abs() < 1e-9, "{text}");
    }
    for text in
        ["goodput > 1 Mbit/s", "jain > 0.5", "mos(flows.0) > 3", "min(goodput) > 1 Mbit/s", "sojourn(forward) > 3"]
    {
        assert!(Sentence::parse(text, &words).is_err(), "{text}");
    }
    let error = Sentence::parse("delivered(up) > 1 Mbit/s", &words).unwrap_err().to_string();
    assert!(error.contains("only programs know it; a link knows sojourn, utilisation"), "{error}");
}

#[test]
fn margins() {
    let margin = |text: &str| Sentence::parse(text, &words()).unwrap().margin(&[evidence()]);
    assert_eq!(margin("goodput > 4 Mbit/s"), libm::log(2.0));
    assert_eq!(margin("goodput < 4 Mbit/s"), -libm::log(2.0));
    assert_eq!(margin("not goodput < 4 Mbit/s and drops >= 1 %"), TINY);
    assert_eq!(margin("marks > 0 %"), -TINY);
    assert_eq!(margin("marks < 5 %"), 1.0);
    assert_eq!(margin("1 ms < 2 ms < 8 ms"), libm::log(2.0));
    assert_eq!(margin("mean(sojourn, reverse) < 1 ms"), f64::NEG_INFINITY);
    assert_eq!(margin("mean(sojourn, reverse) < 1 ms or goodput > 4 Mbit/s"), libm::log(2.0));
}

#[test]
fn a_simulated_run_is_evidence() {
    let text = r#"{ "duration": "3 s", "warmup": "1 s", "link": { "rate": "3 Mbit/s", "aqm": "codel target 7ms" },
        "flows": [{ "kind": "tcp", "rtt": "20 ms", "count": 2 }] }"#;
    let scenario = Scenario::parse(text, &[], Path::new(".")).unwrap();
    let mut simulation = Simulation::new(&scenario, 1);
    while !simulation.advance(1 << 20) {}
    let output = simulation.finish();
    let words = Vocabulary::of("expect!", &[&scenario]);
    let run = [Evidence::of(&scenario, &output)];
    let of = |text| Expression::parse(text, &words).unwrap().value(&run);
    assert_eq!(of("target"), 7.0);
    assert_eq!(of("goodput"), output.summary.goodput_bps * 1e-6);
    assert_eq!(of("jain"), output.summary.jain.unwrap());
    let [p99, summarised] = [of("p99(sojourn)"), output.summary.links.forward.sojourn_ms.p99.unwrap()];
    assert!((p99 - summarised).abs() <= 1e-5 * summarised, "{p99} {summarised}");
    let sentence = Sentence::parse("utilisation > 80 % and p50(sojourn) < 5 * target", &words).unwrap();
    assert!(sentence.holds(&run) && sentence.needs_histogram());
}

proptest! {
    #[test]
    fn no_sentence_panics(parts in prop::collection::vec(
        prop::sample::select(vec![
            "goodput", "p99(", "sojourn", "delay", ",", ")", "(", "call", "call.rtp", "call.source.cwnd", "flows.1", "flows.0.rtt",
            "flows.99999999999999999999", ">", "<=", "==", "and", "or", "not", "-", "*", "/", "5 ms", "3 %", "0", "1e308",
            "note(", "share(", "marks(", "target", "reverse", "A", "B", "links.0.rate", "jain", "min(", "99999999999999999999 GB",
        ]), 0..24))
    {
        let text = parts.join(" ");
        if let Ok(sentence) = Sentence::parse(&text, &words()) {
            let _ = sentence.margin(&[evidence()]);
            let _ = sentence.sides(&[evidence(), evidence()]);
        }
        let _ = Expression::parse(&text, &words()).map(|found| found.value(&[evidence()]));
    }

    #[test]
    fn any_evidence_is_judged(summary in ".{0,60}", flows in 0usize..3) {
        let summary: Value = serde_json::from_str(&summary).unwrap_or(Value::Null);
        let scenario = json!({ "flows": vec![json!({}); flows], "links": summary });
        let run = [Evidence::new(scenario, summary, Vec::new())];
        for text in ["p99(sojourn) > 1 ms", "goodput(call) > flows.0.rtt / (1 ms) * (1 Mbit/s)", "target > 1 ms", "share(call) > 1 %"] {
            prop_assert!(!Sentence::parse(text, &words()).unwrap().holds(&run));
        }
    }
}
