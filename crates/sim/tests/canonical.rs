//! The canonical form of a scenario parses to the same scenario and is reproduced from it, for every kind of quantity
//! in any notation.

use proptest::prelude::*;
use proptest::sample::select;
use sojourn_aqm::params::{Param, Value};
use sojourn_aqm::registry::ALGORITHMS;
use sojourn_sim::scenario::{AqmSpec, Scenario};
use std::path::Path;

/// Digits as people and programs write them: few or many, with or without a fraction.
fn digits(most: f64) -> impl Strategy<Value = String> {
    (0.0..1.0, 0usize..19, any::<bool>()).prop_map(move |(u, places, is_short)| {
        let value = most * u * u * u;
        if is_short { format!("{value}") } else { format!("{value:.places$}") }
    })
}

fn quantity(most: f64, units: &'static [&'static str]) -> impl Strategy<Value = String> {
    (digits(most), select(units), select(vec!["", " ", "  "]))
        .prop_map(|(digits, unit, gap)| format!("{digits}{gap}{unit}"))
}

fn time() -> impl Strategy<Value = String> {
    quantity(2_000.0, &["ns", "us", "ms", "s", "usecs", "min"])
}

fn rate() -> impl Strategy<Value = String> {
    quantity(3_000.0, &["bit/s", "kbit/s", "Mbit/s", "mbit", "Gbps", "gbit", "kbit"])
}

fn size() -> impl Strategy<Value = String> {
    quantity(70_000.0, &["B", "kB", "KiB", "MB", "k"])
}

/// A probability as a TOML value: number, text or percentage, of any order of magnitude.
fn probability() -> impl Strategy<Value = String> {
    (0.0..1.0_f64, 0i32..14, 0usize..4).prop_map(|(u, smaller, form)| {
        let p = u * 10_f64.powi(-smaller);
        match form {
            0 => format!("{p:?}"),
            1 => format!("\"{p:e}\""),
            2 => format!("\"{:e} %\"", 100.0 * p),
            _ => format!("\"{}%\"", 100.0 * p),
        }
    })
}

fn limit() -> impl Strategy<Value = String> {
    prop_oneof![
        (1u32..5_000, size(), time()).prop_map(|(n, size, time)| format!("[\"{n} packets\", \"{size}\", \"{time}\"]")),
        (1u32..5_000).prop_map(|n| format!("\"{n}p\"")),
        size().prop_map(|size| format!("\"{size}\"")),
        time().prop_map(|time| format!("\"{time}\"")),
    ]
}

fn link() -> impl Strategy<Value = String> {
    let service = prop_oneof![
        rate().prop_map(|rate| format!("rate = \"{rate}\"")),
        (rate(), rate(), time()).prop_map(|(a, b, at)| format!("rate = \"{a}@0s,{b}@{at}\"")),
        (rate(), size(), rate())
            .prop_map(|(rate, burst, peak)| format!("bucket = \"{rate}\"\nburst = \"{burst}\"\npeak = \"{peak}\"")),
        rate().prop_map(|rate| format!("poisson = \"{rate}\"")),
        (rate(), time()).prop_map(|(rate, tick)| format!("cox = \"{rate}\"\ntick = \"{tick}\"")),
    ];
    let delay = prop_oneof![
        time().prop_map(|delay| format!("\"{delay}\"")),
        (time(), time(), time()).prop_map(|(a, b, at)| format!("\"{a}@0s,{b}@{at}\"")),
    ];
    let loss = prop_oneof![
        probability(),
        (probability(), probability(), probability(), time()).prop_map(|(p, r, bad, step)| {
            let number = |text: &str| text.trim_matches(['"', '%', ' ']).parse::<f64>().expect("a number").min(1.0);
            let [p, r, bad] = [p, r, bad].map(|text| number(&text));
            format!("{{ p = {p:?}, r = {r:?}, bad = {bad:?}, step = \"{step}\" }}")
        }),
    ];
    let below = prop_oneof![
        size().prop_map(|size| format!("\"{size}\"")),
        (1u32..90, 1u32..90).prop_map(|(most, wake)| format!("\"{most} packets wake {wake} packets\"")),
        size().prop_map(|size| format!("\"bql max {size}\"")),
    ];
    (service, delay, proptest::option::of(loss), proptest::option::of(below), limit(), size(), any::<bool>()).prop_map(
        |(service, delay, loss, below, limit, overhead, reorder)| {
            let loss = loss.map_or_else(String::new, |loss| format!("loss = {loss}\n"));
            let below = below.map_or_else(String::new, |below| format!("below = {below}\n"));
            format!("{service}\ndelay = {delay}\nreorder = {reorder}\n{loss}{below}limit = {limit}\noverhead = \"{overhead}\"\n")
        },
    )
}

fn flow() -> impl Strategy<Value = String> {
    let traffic = prop_oneof![
        (size(), rate()).prop_map(|(size, rate)| format!("kind = \"tcp\"\nsize = \"{size}\"\nmax_pacing_rate = \"{rate}\"\n")),
        (rate(), size()).prop_map(|(rate, size)| format!("kind = \"cbr\"\nrate = \"{rate}\"\nsize = \"{size}\"\n")),
        (rate(), time(), time()).prop_map(|(rate, on, off)| format!("kind = \"voice\"\nrate = \"{rate}\"\non = \"{on}\"\noff = \"{off}\"\n")),
        (rate(), rate(), time()).prop_map(|(a, b, segment)| {
            format!("kind = \"video\"\nladder = [\"{a}\", \"{b}\"]\nsegment = \"{segment}\"\n")
        }),
        (size(), size()).prop_map(|(least, most)| {
            format!("kind = \"browser\"\nobjects = 3\nsize = {{ uniform = [\"{least}\", \"{most}\"] }}\ndocument = \"{least}\"\n")
        }),
        (rate(), time()).prop_map(|(rate, late)| {
            format!("kind = \"media\"\ncontrol = \"nada\"\nmax_rate = \"{rate}\"\nlate = \"{late}\"\n")
        }),
    ];
    (
        traffic,
        time(),
        time(),
        select(vec!["", "dscp = \"af41\"\n", "dscp = 46\n", "class = \"1:1f\"\n", "class = \"10\"\n"]),
    )
        .prop_map(|(traffic, start, access, more)| {
            format!("{traffic}start = \"{start}\"\naccess_delay = \"{access}\"\n{more}")
        })
}

fn network() -> impl Strategy<Value = String> {
    let cell = (digits(60.0), digits(9.0), rate(), limit()).prop_map(|(snr, fading, rate, limit)| {
        format!(
            "[wlan]\nhtb_rate = \"{rate}\"\n[[wlan.stations]]\nsnr = \"{snr} dB\"\nfading = \"{fading} dB\"\n[link]\nlimit = {limit}\n"
        )
    });
    prop_oneof![
        3 => link().prop_map(|link| format!("[link]\n{link}")),
        1 => (link(), link()).prop_map(|(link, second)| format!("[link]\n{link}[[links]]\nname = \"next\"\n{second}")),
        1 => cell,
    ]
}

/// A value of a parameter's kind, possibly out of range.
fn drawn(param: &Param, u: f64, [time, rate, size]: [&String; 3]) -> String {
    let between = |least: f64, most: f64| least + u * u * u * (most - least);
    match param.range {
        (Value::Time(_), _) => time.clone(),
        (Value::Rate(_), _) => rate.clone(),
        (Value::Bytes(_), _) => size.clone(),
        (Value::Number(least), Value::Number(most)) => format!("{:?}", between(least, most)),
        (Value::Count(least), Value::Count(most)) => format!("{}", between(least as f64, most as f64) as u64),
        (Value::Flag(_), _) => format!("{}", u < 0.5),
        (least, _) => param.choices.first().map_or_else(|| least.to_string(), |word| word.to_string()),
    }
}

/// The error in the canonical form of a scenario text; none if the text is rejected or its form is a fixed point.
fn unfixed(text: &str) -> Option<String> {
    let scenario = Scenario::parse(text, &[], Path::new("/")).ok()?;
    let canonical = scenario.canonical();
    let reparsed = match Scenario::parse(&canonical, &[], Path::new("/")) {
        Ok(reparsed) => reparsed,
        Err(error) => return Some(format!("{error}\n{text}\n{canonical}")),
    };
    let twice = reparsed.canonical();
    (reparsed != scenario || twice != canonical).then(|| format!("{text}\n{canonical}\n{twice}"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_quantity_is_written_as_it_is_read(
        (duration, warmup, seed) in (time(), time(), any::<u64>()),
        network in network(),
        flow in flow(),
        change in proptest::option::of((time(), probability(), limit())),
        step in time(),
    ) {
        let change = change.map_or_else(String::new, |(at, loss, limit)| {
            format!("[[changes]]\nat = \"{at}\"\nlink = {{ loss = {loss}, limit = {limit} }}\n")
        });
        let seed = seed >> 1;
        let whole = format!(
            "duration = \"{duration}\"\nwarmup = \"{warmup}\"\nseed = {seed}\n{network}[[flows]]\n{flow}{change}[probes]\nqueue = \"{step}\"\n"
        );
        // Each part also by itself: as a whole the scenario may be rejected because of one part.
        let head = "duration = \"90 s\"\n";
        let plain = "[link]\nrate = \"1 Mbit/s\"\n";
        for text in [
            whole,
            format!("{head}{network}[[flows]]\nkind = \"tcp\"\n"),
            format!("{head}{plain}[[flows]]\n{flow}"),
            format!("{head}{plain}[[flows]]\nkind = \"tcp\"\n{change}"),
            format!("duration = \"{duration}\"\nwarmup = \"{warmup}\"\n{plain}[[flows]]\nkind = \"tcp\"\n[probes]\nqueue = \"{step}\"\n"),
        ] {
            let wrong = unfixed(&text);
            prop_assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
        }
    }

    #[test]
    fn every_loss_is_written_as_it_is_read(loss in probability()) {
        let text = format!("duration = \"1 s\"\n[link]\nrate = \"1 Mbit/s\"\nloss = {loss}\n[[flows]]\nkind = \"tcp\"\n");
        prop_assert!(Scenario::parse(&text, &[], Path::new("/")).is_ok(), "{loss}");
        let wrong = unfixed(&text);
        prop_assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
    }

    #[test]
    fn every_parameter_is_written_as_it_is_read(u in 0.0..1.0, time in time(), rate in rate(), size in size()) {
        for algorithm in ALGORITHMS {
            for param in algorithm.params {
                let table = serde_json::json!({ "name": if algorithm.name == "fq" { "fq(pie)" } else { algorithm.name }, param.name: drawn(param, u, [&time, &rate, &size]) });
                let Ok(aqm) = AqmSpec::read(&table) else { continue };
                let text = serde_json::Value::from(aqm.table()).to_string();
                let reparsed = AqmSpec::read(&serde_json::from_str(&text).expect("it is JSON")).expect(&text);
                prop_assert_eq!(&reparsed, &aqm, "{}", text);
                prop_assert_eq!(serde_json::Value::from(reparsed.table()).to_string(), text);
                prop_assert_eq!(AqmSpec::parse(&aqm.text).expect(&aqm.text), aqm);
            }
        }
    }
}

#[test]
fn what_was_no_fixpoint_is_one() {
    for loss in ["\"1e-9 %\"", "\"3.3e-7 %\"", "1.0000000000000001e-11", "{ p = 1.1e-7, r = 0.30000000000000004 }"] {
        let text =
            format!("duration = \"1 s\"\n[link]\nrate = \"1 Mbit/s\"\nloss = {loss}\n[[flows]]\nkind = \"tcp\"\n");
        assert_eq!(unfixed(&text), None, "{loss}");
    }
}
