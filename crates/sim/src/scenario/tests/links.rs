//! Keys of links: reading, canonical form and errors.

use super::*;
use sojourn_aqm::Rate;

/// Reads [`SMALL`] with `keys` instead of `link.rate`.
fn link(keys: &[(&str, &str)]) -> Result<Scenario, Error> {
    let mut text = SMALL.to_string();
    if !keys.iter().any(|(key, _)| *key == "rate") && keys.iter().any(|(key, _)| service::first_keys().contains(key)) {
        text = text.replace("rate = \"10 Mbit/s\"", "");
    }
    let sets: Vec<(String, String)> =
        keys.iter().map(|(key, value)| (format!("link.{key}"), value.to_string())).collect();
    Scenario::parse(&text, &sets, Path::new("/"))
}

#[test]
fn kinds_are_read_and_come_back() {
    let mbit = |n: u64| Rate::from_bps(n * 1_000_000);
    let steps = link(&[("rate", "100mbit@0s,10mbit@50s")]).unwrap();
    let Service::Steps(spec) = &steps.link.service else { panic!("steps") };
    assert_eq!((spec.change, spec.rate.to_string().as_str()), (RateChange::Fluid, "100 Mbit/s@0 s,10 Mbit/s@50 s"));
    assert_eq!((spec.rate.first(), steps.reverse.service == steps.link.service), (mbit(100), true));

    let late = link(&[("rate", "0bit@0s,5mbit@1s,9mbit@2s")]).unwrap();
    assert_eq!(late.link.service.nominal_rate(1500), mbit(5), "the first above zero");

    let bucket = link(&[("bucket", "10 Mbit/s"), ("burst", "10 MB"), ("peak", "50 Mbit/s")]).unwrap();
    let expected = BucketService { bucket: mbit(10), burst: 10_000_000, peak: mbit(50), overdraft: false };
    assert_eq!(bucket.link.service, Service::Bucket(expected));

    let cox = link(&[("cox", "12 Mbit/s"), ("sigma", "300")]).unwrap();
    let Service::Cox(spec) = &cox.link.service else { panic!("cox") };
    assert_eq!((spec.sigma, spec.tick, spec.outage), (300, Duration::from_millis(20), Duration::from_secs(1)));

    let ticking = link(&[("rate", "10 Mbit/s"), ("tick", "4 ms")]).unwrap();
    let ticks = [&cox, &ticking].map(|scenario| (scenario.link.tick, scenario.reverse.tick));
    assert_eq!(ticks, [(None, None), (Some(Duration::from_millis(4)), None)], "a Cox link's tick is its own");

    let poisson =
        link(&[("poisson", "3 Mbit/s"), ("framing", "docsis"), ("below", "1514 B"), ("loss", "0.25")]).unwrap();
    assert_eq!(poisson.link.loss, Some(LossSpec::Random(0.25)));
    for (text, loss) in [("1%", 0.01), ("\"2.5 %\"", 0.025), ("1.0", 1.0), ("100%", 1.0), ("0", 0.0)] {
        assert_eq!(link(&[("loss", text)]).unwrap().link.loss, Some(LossSpec::Random(loss)), "{text}");
    }
    let of_queue = (poisson.reverse.below, poisson.reverse.loss, poisson.reverse.framing);
    assert_eq!(of_queue, (None, None, poisson.link.framing), "framing is inherited, a buffer and losses are not");

    for scenario in [steps, late, bucket, cox, ticking, poisson] {
        assert_eq!(parse(&scenario.canonical()).unwrap(), scenario);
    }
}

#[test]
fn framings_and_what_overrides_them() {
    let framing = |keys: &[(&str, &str)]| link(keys).unwrap().link.framing;
    let numbers = |f: Framing| (f.layer, f.overhead, f.mpu, f.adjusted);
    assert_eq!(numbers(framing(&[])), (CellFraming::Plain, 0, 0, true));
    assert_eq!(numbers(framing(&[("framing", "pppoe-ptm")])), (CellFraming::Ptm, 30, 0, true));
    assert_eq!(numbers(framing(&[("framing", "pppoe-ptm"), ("overhead", "34 B")])), (CellFraming::Ptm, 34, 0, true));
    assert_eq!(numbers(framing(&[("framing", "docsis"), ("account", "ip")])), (CellFraming::Plain, 18, 64, false));
    assert_eq!(numbers(framing(&[("overhead", "-14 B")])), (CellFraming::Plain, -14, 0, true));
    let own = parse_with(SMALL, &[("link.framing", "docsis"), ("reverse.framing", "atm")]).unwrap();
    assert_eq!(
        numbers(own.reverse.framing),
        (CellFraming::Atm, 0, 0, true),
        "the overhead of another framing is not inherited"
    );
    assert_eq!(parse(&own.canonical()).unwrap(), own);
}

#[test]
fn delays_in_steps_are_lent_too() {
    let scenario = parse_with(SMALL, &[("link.delay", "20ms@0s,60ms@10s"), ("flows.0.rtt", "100 ms")]).unwrap();
    assert_eq!((scenario.link.delay, scenario.reverse.delay), (Duration::from_millis(20), Duration::from_millis(20)));
    assert_eq!(scenario.reverse.delays.to_string(), "20 ms@0 s,60 ms@10 s");
    assert_eq!(scenario.flows[0].access_delay, Duration::from_millis(30), "the round trip at the start");
    assert_eq!(parse(&scenario.canonical()).unwrap(), scenario);
}

#[test]
fn a_trace_of_delays_is_the_schedule_that_it_has() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rtt.trace"), "20 ms@0s\n60 ms@10s # later\n").unwrap();
    let traced = SMALL.replace("[[flows]]", "delay_trace = \"rtt.trace\"\n[[flows]]");
    let read = |text: &str| Scenario::parse(text, &[], folder.path());
    let steps = SMALL.replace("[[flows]]", "delay = \"20ms@0s,60ms@10s\"\n[[flows]]");
    assert_eq!(read(&traced).unwrap(), parse(&steps).unwrap(), "also in the reverse direction");
    assert_eq!(read(&traced).unwrap().canonical(), parse(&steps).unwrap().canonical());
    let own = read(&format!("{steps}[reverse]\ndelay_trace = \"rtt.trace\"\n")).unwrap();
    assert_eq!(own.reverse.delays.to_string(), "20 ms@0 s,60 ms@10 s");
    let path = folder.path().canonicalize().unwrap().join("x.trace");
    for (text, error) in [
        (steps.replace("[[flows]]", "delay_trace = \"rtt.trace\"\n[[flows]]"),
         "link.delay_trace: there is also a delay; leave one of them out".to_string()),
        (traced.replace("rtt.trace", "x.trace"),
         format!("link.delay_trace: {}: No such file or directory (os error 2)", path.display())),
        (format!("{traced}[[changes]]\nat = \"1 s\"\nlink.delay = \"9 ms\"\n"),
         "changes[0].link.delay: the delay follows a trace; write the change into its file, or the steps into delay".into()),
        (format!("{traced}[[changes]]\nat = \"1 s\"\nreverse.delay = \"9 ms\"\n"),
         "changes[0].reverse.delay: the delay follows a trace; write the change into its file, or the steps into delay".into()),
    ] {
        assert_eq!(read(&text).unwrap_err().to_string(), error);
    }
}

#[test]
fn tables_of_distributions_come_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let write = |name: &str, text: &str| std::fs::write(path.join(name), text).unwrap();
    write("bell.dist", "-8192 0 8192\n");
    write("my bell", "# one\n-1 2\n");
    write("normal", "9\n");
    write("bad", "1\n2 x\n");
    let text = |words: &str| SMALL.replace("[[flows]]", &format!("aqm = \"{words}\"\n[[flows]]"));
    let read = |words: &str| Scenario::parse(&text(words), &[], folder.path());
    let entries = |scenario: &Scenario| -> Vec<Vec<i16>> {
        scenario.link.aqm.config.tables().iter().map(|table| table.entries().to_vec()).collect()
    };
    for (words, found) in [
        ("netem delay 20ms 5ms distribution bell.dist", vec![vec![-8192, 0, 8192]]),
        ("netem delay 20ms 5ms distribution ./bell", vec![vec![-8192, 0, 8192]]),
        (
            "netem delay 20ms 5ms distribution my%20bell slot distribution bell 9ms 2ms",
            vec![vec![-1, 2], vec![-8192, 0, 8192]],
        ),
        ("netem delay 20ms 5ms distribution normal", vec![]),
        ("netem delay 20ms 5ms distribution ./normal", vec![vec![9]]),
        (
            "htb default 10 { class 10 rate 1mbit { netem delay 20ms 5ms distribution bell } }",
            vec![vec![-8192, 0, 8192]],
        ),
    ] {
        let scenario = read(words).unwrap();
        assert_eq!(entries(&scenario), found, "{words}");
        // The canonical form has full paths.
        assert_eq!(Scenario::parse(&scenario.canonical(), &[], Path::new("/")).unwrap(), scenario, "{words}");
    }
    let sets = [("link.aqm.distribution".to_string(), "my bell".to_string())];
    let set = Scenario::parse(&text("netem delay 20ms 5ms distribution bell"), &sets, folder.path()).unwrap();
    assert_eq!(entries(&set), [[-1, 2]]);
    let words = "not one of uniform, normal, pareto, paretonormal, and";
    for (name, error) in [
        ("bel", format!("{}: No such file or directory (os error 2)", path.join("bel").display())),
        ("bad", format!("{}: line 2: \"x\" is not a whole number from -32768 to 32767", path.join("bad").display())),
        (".", format!("{} is not a regular file", path.display())),
    ] {
        let refused = read(&format!("netem delay 20ms 5ms distribution {name}")).unwrap_err().to_string();
        assert_eq!(refused, format!("link.aqm: distribution: {name:?} is {words} {error}"));
    }
    // A changed file gives another table.
    let before = read("netem delay 20ms 5ms distribution bell").unwrap();
    write("bell.dist", "-8192 1 8192\n");
    assert_ne!(read("netem delay 20ms 5ms distribution bell").unwrap(), before);
    let changed = format!(
        "{}[[changes]]\nat = \"1 s\"\nlink.aqm = \"netem delay 1ms 1ms distribution my%20bell\"\n",
        text("codel")
    );
    let scenario = Scenario::parse(&changed, &[], folder.path()).unwrap();
    assert_eq!(scenario.link.changes[0].aqm.as_ref().unwrap().config.tables()[0].entries(), [-1, 2]);
}

#[test]
fn refusals() {
    let bucket = |more: &[(&'static str, &'static str)]| {
        [("bucket", "10 Mbit/s")].iter().chain(more).copied().collect::<Vec<_>>()
    };
    for (keys, error) in [
        (
            vec![("rate", "1mbit@0s,2mbit@9s,3mbit@5s")],
            "link.rate: the step at 5 s comes after the one at 9 s; put them in order",
        ),
        (vec![("rate", "1mbit@0s,2mbit@9s,3mbit@9s")], "link.rate: two steps are at 9 s; keep one of them"),
        (vec![("rate", "1mbit@5s")], "link.rate: the first step is at 5 s; begin with one at 0 s"),
        (
            vec![("rate", "1mbit@0s,-2mbit@9s")],
            r#"link.rate: step "-2mbit@9s": "-2mbit" is negative; write e.g. "10 Mbit/s""#,
        ),
        (vec![("rate", "0bit@0s,0bit@1s")], "link.rate: is 0 bit/s all the time; write at least one step above zero"),
        (
            vec![("rate", "1mbit@0s,999bit@9s"), ("change", "latch")],
            r#"link.rate: 999 bit/s at 9 s is below 1 kbit/s, too slow for change = "latch": a packet would block the link for minutes; write a higher rate or change = "fluid""#,
        ),
        (
            vec![("rate", "1mbit@0s,2mbit@9s"), ("change", "latched")],
            r#"link.change: unknown rate change "latched"; did you mean "latch"?"#,
        ),
        (vec![("change", "latch")], "link.change: not a key of a link with constant rate; leave it out"),
        (vec![("rate", "1mbit@0s"), ("burst", "1 MB")], "link.burst: not a key of a link with rate; leave it out"),
        (vec![("rate", "1mbit"), ("poisson", "1mbit")], "link: rate and poisson exclude each other; keep one"),
        (bucket(&[]), r#"link.burst: missing; write e.g. burst = "100 kB""#),
        (bucket(&[("burst", "9 kB")]), r#"link.peak: missing; write e.g. peak = "50 Mbit/s""#),
        (
            bucket(&[("burst", "9 kB"), ("peak", "9 Mbit/s")]),
            "link.peak: 9 Mbit/s is below bucket (10 Mbit/s); write at least that",
        ),
        (
            bucket(&[("burst", "1500 B"), ("peak", "50 Mbit/s"), ("framing", "ethernet-wire")]),
            "link.burst: 1500 B is below a full packet with its framing (1538 B), which would never be sent; write at least that, or overdraft = true",
        ),
        (
            bucket(&[("burst", "2 GB"), ("peak", "50 Mbit/s")]),
            "link.burst: 2000000000 B is out of range; from 1 B to 1000000000 B",
        ),
        (vec![("cox", "0 Mbit/s")], r#"link.cox: "0 Mbit/s" is not above zero; write e.g. "10 Mbit/s""#),
        (vec![("cox", "1 Mbit/s"), ("tick", "9 us")], "link.tick: 9 us is below 10 us; write a longer one"),
        (vec![("delay", "5ms@0s,9ms")], r#"link.delay: step "9ms" has no time; write e.g. "20 ms@0s,60 ms@50s""#),
        (
            vec![("loss", "1.5")],
            "link.loss: 1.5 is out of range; a probability lies between 0 and 1, write e.g. 0.01 for 1 %",
        ),
        (
            vec![("loss", "-0.1")],
            "link.loss: -0.1 is out of range; a probability lies between 0 and 1, write e.g. 0.01 for 1 %",
        ),
        (
            vec![("loss", "[1]")],
            "link.loss: expected a probability such as 0.01, or a table such as { p = 0.002, r = 0.2 }, found a list",
        ),
        (vec![("loss", "1")], "link.loss: 1 is ambiguous, 1 % or 100 %; write 1% or 1.0"),
        (vec![("loss", r#""1""#)], "link.loss: 1 is ambiguous, 1 % or 100 %; write 1% or 1.0"),
        (vec![("loss", "one")], r#"link.loss: "one" is not a probability; write e.g. 1% or 0.01"#),
        (
            vec![("loss", "101 %")],
            "link.loss: 1.01 is out of range; a probability lies between 0 and 1, write e.g. 0.01 for 1 %",
        ),
        (vec![("loss", r#"{"p": 0.1}"#)], "link.loss: r is missing; write e.g. { p = 0.002, r = 0.2 }"),
        (
            vec![("loss", r#"{"p": 0.1, "r": 2}"#)],
            "link.loss: r: 2 is out of range; a probability lies between 0 and 1, write e.g. 0.01 for 1 %",
        ),
        (
            vec![("loss", r#"{"p": 0.1, "every": 1}"#)],
            r#"link.loss: unknown key "every"; expected one of p, r, bad, good, step"#,
        ),
        (
            vec![("loss", r#"{"p": 0, "r": 0}"#)],
            "link.loss: p and r are both 0, so the state never changes; write a plain probability",
        ),
        (
            vec![("loss", r#"{"p": 0.1, "r": 1, "step": "0 ms"}"#)],
            r#"link.loss: step: "0 ms" is not above zero; write e.g. "5 ms""#,
        ),
        (
            vec![("below", "0 packets")],
            r#"link.below: "0 packets" leaves no room for a packet; write at least 1, or leave the key out"#,
        ),
        (vec![("tick", "0 ms")], r#"link.tick: "0 ms" is not above zero; write e.g. "5 ms""#),
        (vec![("tick", "1")], r#"link.tick: expected a text with a unit such as "5 ms", found a number"#),
        (vec![("framing", "atn")], r#"link.framing: unknown framing "atn"; did you mean "atm"?"#),
        (vec![("mpu", "64")], r#"link.mpu: expected a text with a unit such as "1500 B", found a number"#),
        (vec![("account", "wire")], r#"link.account: unknown account "wire"; expected one of adjusted, ip"#),
    ] {
        assert_eq!(link(&keys).map(|_| ()).unwrap_err().to_string(), error, "{keys:?}");
    }
}

proptest! {
    #[test]
    fn no_value_of_a_links_key_panics(
        kind in prop::sample::select(vec!["rate", "bucket", "poisson", "cox"]),
        key in prop::sample::select(link::KEYS.iter().chain(service::KINDS.iter().copied().flatten()).map(|k| k.name).collect::<Vec<_>>()),
        value in "([0-9]{0,3}(\\.[0-9])?(mbit|kbit|bit|ms|s|B|kB|packets)?(@[0-9.]{1,4}m?s)?,?){1,3}|wake [0-9]{1,3}( B)?|\\{\"[pr]\": [0-9.]{1,3}, \"r\": 0.[0-9]\\}|\\PC{0,12}",
    ) {
        let keys = [(kind, "5 Mbit/s"), ("burst", "9 kB"), ("peak", "9 Mbit/s"), (key, value.as_str())];
        let used = if kind == "bucket" { keys.to_vec() } else { vec![keys[0], keys[3]] };
        if let Ok(scenario) = link(&used) {
            prop_assert_eq!(&parse(&scenario.canonical()).unwrap(), &scenario);
        }
    }
}
