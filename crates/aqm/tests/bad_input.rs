//! Bad input is rejected with an error that names the fault: every parameter of every algorithm outside its range,
//! combinations that no range can exclude, and unknown names.

use sojourn_aqm::params::{ConfigError, Param, Value};
use sojourn_aqm::registry::{ALGORITHMS, QueueLayout, parse};
use sojourn_aqm::{Duration, Limits};

#[test]
fn refusals_can_be_told_apart_without_their_texts() {
    let refusal = |text: &str| parse(text).expect_err(text);
    assert!(matches!(refusal("codle"), ConfigError::Unknown(_)));
    assert!(matches!(
        refusal("codel target 11s"),
        ConfigError::OutOfRange { name: "target", value: Value::Time(value), .. } if value == Duration::from_secs(11)
    ));
    assert!(matches!(refusal("codel target 5"), ConfigError::Unit { name: "target", .. }));
    assert!(matches!(refusal("codel target"), ConfigError::MissingValue { param, .. } if param == "target"));
    assert!(matches!(refusal("fq(codel"), ConfigError::UnclosedBracket(_)));
    assert!(matches!(refusal("codel target 100ms"), ConfigError::InvalidCombination(_)));
    assert!(matches!(refusal("codel@mahimahi ecn"), ConfigError::UnsupportedByVersion { name: "ecn", .. }));
}

#[test]
fn every_parameter_outside_its_range_is_refused_by_name() {
    let mut refused = 0;
    for algorithm in ALGORITHMS {
        for param in algorithm.params {
            let (least, most) = (param.range.0.to_string(), param.range.1.to_string());
            for text in outside(param) {
                let error = algorithm.configure("", &[(param.name.to_string(), text.clone())]);
                let error = error.expect_err(&format!("{} {} {text}", algorithm.name, param.name)).to_string();
                let expected = format!("{} = {text} is out of range; from {least} to {most}", param.name);
                assert_eq!(error, expected, "{}", algorithm.name);
                refused += 1;
            }
            for text in unreadable(param) {
                let error = algorithm.configure("", &[(param.name.to_string(), text.to_string())]);
                let error = error.expect_err(&format!("{} {} {text}", algorithm.name, param.name)).to_string();
                // The text, or its unit.
                let quoted = [text, text.split_whitespace().last().unwrap_or("")].map(|part| format!("{part:?}"));
                let named = error.starts_with(&format!("{}: ", param.name));
                assert!(
                    named && quoted.iter().any(|part| error.contains(part)),
                    "{} {text:?}: {error}",
                    algorithm.name
                );
                refused += 1;
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}

/// Values just below the minimum and just above the maximum, as printed.
fn outside(param: &Param) -> Vec<String> {
    let both = |below: Option<Value>, above: Value| below.into_iter().chain([above]).map(|v| v.to_string()).collect();
    let nanosecond = Duration::from_nanos(1);
    match param.range {
        (Value::Time(least), Value::Time(most)) => {
            both((least > Duration::ZERO).then(|| Value::Time(least - nanosecond)), Value::Time(most + nanosecond))
        }
        (Value::Bytes(least), Value::Bytes(most)) => {
            both(least.checked_sub(1).map(Value::Bytes), Value::Bytes(most + 1))
        }
        (Value::Rate(least), Value::Rate(most)) => {
            let below = least.as_bps().checked_sub(1).map(|bps| Value::Rate(sojourn_aqm::Rate::from_bps(bps)));
            both(below, Value::Rate(sojourn_aqm::Rate::from_bps(most.as_bps() + 1)))
        }
        (Value::Count(least), Value::Count(most)) => {
            both(least.checked_sub(1).map(Value::Count), Value::Count(most + 1))
        }
        (Value::Number(least), Value::Number(most)) => {
            let beyond = [least - 1e-9, most + 1e-9, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
            beyond.map(|x| Value::Number(x).to_string()).to_vec()
        }
        _ => vec![],
    }
}

/// Texts that are no value of the parameter.
fn unreadable(param: &Param) -> Vec<&'static str> {
    match param.range.0 {
        Value::Time(_) => vec!["", "5", "5 kg", "-1 ms", "ms"],
        Value::Bytes(_) => vec!["", "5", "5 ms", "-1 B"],
        Value::Rate(_) => vec!["", "5", "5 ms", "-1 Mbit/s"],
        Value::Count(_) => vec!["", "-1", "1.5", "many", "99999999999999999999"],
        Value::Number(_) => vec!["", "much", "5 ms"],
        Value::Flag(_) => vec!["", "maybe", "2"],
        Value::Choice(_) | Value::Distribution(_) => vec!["", "none-of-these"],
        Value::Minor(_) => vec!["", "x", "10000", "-1"],
        Value::Bands(_) => vec!["", "1", "1,2,2,2,1,2,0,0,1,1,1,1,1,1,1,x"],
    }
}

#[test]
fn combinations_that_mean_nothing_are_refused() {
    for (aqm, error) in [
        ("codel target 100ms", "target (100 ms) must be below interval (100 ms); write e.g. target 5ms interval 100ms"),
        ("codel_dt interval 5ms", "target (5 ms) must be below interval (5 ms); write e.g. target 5ms interval 100ms"),
        ("sfqcodel target 1s", "target (1 s) must be below interval (100 ms); write e.g. target 5ms interval 100ms"),
        ("fq(codel target 1s)", "target (1 s) must be below interval (100 ms); write e.g. target 5ms interval 100ms"),
        (
            "fq_codel@linux interval 1ms",
            "target (5 ms) must be below interval (1 ms); write e.g. target 5ms interval 100ms",
        ),
        ("ared min 9kB max 3kB", "min (9000 B) must be below max (3000 B); write e.g. min 12500B max 37500B"),
        ("red@linux min 3kB max 3kB", "min (3000 B) must be below max (3000 B); write e.g. min 12500B max 37500B"),
        ("choke min 80 max 20", "min (80) must be below max (20); write e.g. min 20 max 80"),
        ("red probability 1.01", "probability = 1.01 is out of range; from 0.000001 to 1"),
        ("pie mark_ecnth 1.01", "mark_ecnth = 1.01 is out of range; from 0 to 1"),
        ("fq_codel flows 0", "flows = 0 is out of range; from 1 to 65536"),
        ("sfq flows 1000000000", "flows = 1000000000 is out of range; from 1 to 65536"),
        ("fq_pie limit 0", "limit = 0 is out of range; from 1 to 1000000000"),
        ("dualpi2 exclude_ce", "exclude_ce: the queues of dualpi2 are coupled by their marks; leave it out"),
        (
            "fq(codel ecn exclude_ce)",
            "exclude_ce applies to all flows: write it after the brackets, e.g. \"fq(codel ecn) exclude_ce\"",
        ),
        (
            "htb target 5ms { class 1 rate 1mbit { fq_codel ecn } }",
            "htb has no parameter target; it belongs to fq_codel in the braces: { fq_codel target 5ms }",
        ),
        ("sfq depth 0", "depth = 0 is out of range; from 1 to 1000000000"),
    ] {
        assert_eq!(parse(aqm).expect_err(aqm).to_string(), error, "{aqm}");
    }
    // Turns of these count packets if the quantum is 0.
    let by_packets = ["sfq", "sfq_red", "sfqcodel"];
    for by_flow in ALGORITHMS
        .iter()
        .filter(|algorithm| algorithm.queues == QueueLayout::PerFlow && !by_packets.contains(&algorithm.name))
    {
        let plain = by_flow.spellings().next().expect("it has a plain profile");
        let error = parse(&format!("{plain} quantum 0B")).expect_err(by_flow.name).to_string();
        assert!(error.starts_with("quantum (0 B) must be positive") && error.ends_with("quantum 1514B"), "{error}");
    }
    for limit in ["0 packets", "0 B", "0 ms", "1000 packets + 0 B"] {
        let error = Limits::parse(limit).expect_err(limit).to_string();
        assert!(error.starts_with("a limit of \"0 ") && error.ends_with("leaves no room for a packet"), "{error}");
    }
}

#[test]
fn unknown_names_bring_the_nearest_ones() {
    for (aqm, error) in [
        ("coddel", r#"unknown AQM "coddel"; did you mean "codel"?"#),
        ("codel@atc", r#"unknown profile "atc"; did you mean "act"?"#),
        ("pie@rfc8034", r#"unknown profile "rfc8034"; did you mean "rfc8033"?"#),
        ("fq_codel@kernel", r#"unknown profile "kernel"; expected one of rfc8290, linux, linux-3.10"#),
        ("fq(codle)", r#"unknown AQM "codle"; did you mean "codel"?"#),
        ("fq(codel@linx)", r#"unknown profile "linx"; did you mean "linux"?"#),
        ("codel targt 5ms", r#"unknown parameter "targt"; did you mean "target"?"#),
        ("codel target", "target of codel needs a value"),
        ("fq(fq_codel)", r#"fq_codel queues flows itself; write e.g. "fq(codel)""#),
        ("codel(pie)", r#"codel takes no AQM in brackets; only fq does, e.g. "fq(codel@act)""#),
        ("fq(codel", r#""fq(codel" has an unclosed bracket; write e.g. "fq(codel@act)""#),
        ("", r#"an AQM needs a name, e.g. "codel""#),
    ] {
        assert_eq!(parse(aqm).expect_err(aqm).to_string(), error, "{aqm}");
    }
}
