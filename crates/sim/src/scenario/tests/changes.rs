//! `[[changes]]`: entries and schedules give the same scenario; errors and their places.

use super::*;

/// Reads [`SMALL`] with `entries` of changes.
fn changed(entries: &str) -> Result<Scenario, Error> {
    parse(&format!("{SMALL}{entries}"))
}

#[test]
fn entries_are_the_long_form_of_schedules() {
    let entries = changed(
        "[[changes]]\nat = \"3.7 s\"\nlink.rate = \"7mbit\"\nlink.delay = \"31ms\"\n\
         [[changes]]\nat = \"3700 ms\"\nreverse.rate = \"0 bit/s\"\n\
         [[changes]]\nat = \"6 s\"\nlink.rate = \"1.5 Mbit/s\"\nreverse.rate = \"2 Mbit/s\"\n",
    );
    let sets = [
        ("link.rate", "10 Mbit/s@0s,7 Mbit/s@3.7s,1.5 Mbit/s@6s"),
        ("link.delay", "0 s@0s,31 ms@3.7s"),
        // It has changes of its own, so it does not inherit those of the forward direction.
        ("reverse.rate", "10 Mbit/s@0s,0 bit/s@3.7s,2 Mbit/s@6s"),
    ];
    let (entries, schedules) = (entries.unwrap(), parse_with(SMALL, &sets).unwrap());
    assert_eq!(entries, schedules);
    assert_eq!(entries.canonical(), schedules.canonical());
    assert_eq!(parse(&entries.canonical()).unwrap(), entries);

    // A reverse direction without changes inherits those of the forward one, as with a schedule.
    let inherited = changed("[[changes]]\nat = \"3 s\"\nlink.rate = \"7 Mbit/s\"\n").unwrap();
    assert_eq!(inherited.reverse.service, inherited.link.service);
    assert!(matches!(&inherited.link.service, Service::Steps(steps) if steps.rate.changes()));
}

#[test]
fn entries_go_between_the_steps_that_are_there() {
    let sets = [("link.rate", "10mbit@0s,5mbit@4s"), ("link.change", "latch")];
    let text = format!(
        "{SMALL}[[changes]]\nat = \"2 s\"\nlink.rate = \"3mbit\"\n[[changes]]\nat = \"9 s\"\nlink.rate = \"1mbit\"\n"
    );
    let scenario = parse_with(&text, &sets).unwrap();
    let Service::Steps(steps) = &scenario.link.service else { panic!("steps") };
    assert_eq!(steps.rate.to_string(), "10 Mbit/s@0 s,3 Mbit/s@2 s,5 Mbit/s@4 s,1 Mbit/s@9 s");
    assert_eq!(steps.change, RateChange::Latch);
}

#[test]
fn links_are_meant_by_their_names() {
    let text = format!(
        "{SMALL}[[links]]\nname = \"up stairs\"\nrate = \"4 Mbit/s\"\n[[changes]]\nat = \"1 s\"\n\
         links.\"up stairs\".delay = \"9 ms\"\nlinks.\"up stairs\".reverse.rate = \"2 Mbit/s\"\n"
    );
    let scenario = parse(&text).unwrap();
    let (second, back) = (&scenario.links[0].link, &scenario.links[0].reverse);
    assert_eq!(
        (second.delays.to_string(), back.delays.to_string()),
        ("0 s@0 s,9 ms@1 s".into(), "0 s@0 s,9 ms@1 s".into())
    );
    let Service::Steps(steps) = &back.service else { panic!("steps") };
    assert_eq!(steps.rate.to_string(), "4 Mbit/s@0 s,2 Mbit/s@1 s");
    assert!(matches!(second.service, Service::Rate(_)));
}

#[test]
fn overrides_reach_an_entry() {
    let text = format!("{SMALL}[[changes]]\nat = \"1 s\"\nlink.rate = \"2 Mbit/s\"\n");
    let scenario = parse_with(&text, &[("changes.0.at", "2.5 s"), ("changes.0.link.rate", "4 Mbit/s")]).unwrap();
    let Service::Steps(steps) = &scenario.link.service else { panic!("steps") };
    assert_eq!(steps.rate.to_string(), "10 Mbit/s@0 s,4 Mbit/s@2.5 s");
}

#[test]
fn refusals_name_the_entry() {
    for (entries, error) in [
        ("[changes]\nat = \"1 s\"", "changes: expected a list of tables, [[changes]], found a table"),
        ("[[changes]]\nlink.rate = \"2 Mbit/s\"", r#"changes[0].at: missing; write e.g. at = "5 s""#),
        (
            "[[changes]]\nat = \"0s\"\nlink.rate = \"2 Mbit/s\"",
            r#"changes[0].at: "0s" is not above zero; write e.g. "5 ms""#,
        ),
        ("[[changes]]\nat = \"1\"\nlink.rate = \"2 Mbit/s\"", r#"changes[0].at: "1" has no unit; write e.g. "5 ms""#),
        ("[[changes]]\nat = \"1 s\"", r#"changes[0]: changes nothing; write e.g. link.rate = "5 Mbit/s""#),
        (
            "[[changes]]\nat = \"1 s\"\nlink.rate = \"2\"",
            r#"changes[0].link.rate: "2" has no unit; write e.g. "10 Mbit/s""#,
        ),
        (
            "[[changes]]\nat = \"1 s\"\nlink.rate = \"2 Mbit/s@3s\"",
            r#"changes[0].link.rate: "Mbit/s@3s" is not a unit of a rate (expected one of bit/s, kbit/s, mbit/s, gbit/s); write e.g. "10 Mbit/s""#,
        ),
        (
            "[[changes]]\nat = \"1 s\"\nlink.rate = 2",
            r#"changes[0].link.rate: expected a text with a unit such as "10 Mbit/s", found a number"#,
        ),
        (
            "[[changes]]\nat = \"1 s\"\nlink.rat = \"2\"",
            r#"changes[0].link.rat: unknown key of a change; did you mean "rate"?"#,
        ),
        ("[[changes]]\nat = \"1 s\"\nlnk.rate = \"2\"", r#"changes[0].lnk: unknown key; did you mean "link"?"#),
        (
            "[[changes]]\nat = \"1 s\"\n\"link.rate\" = \"2 Mbit/s\"",
            "changes[0].link.rate: write it without quotation marks: link.rate = …",
        ),
        (
            "[[changes]]\nat = \"1 s\"\nflows.0.count = 4",
            "changes[0].flows: flows cannot change while they run; write another group with start and stop",
        ),
        (
            "[[changes]]\nat = \"1 s\"\nlinks.second.rate = \"2 Mbit/s\"",
            "changes[0].links.second: unknown link; none is defined",
        ),
        (
            "[[changes]]\nat = \"2 s\"\nlink.rate = \"2 Mbit/s\"\n[[changes]]\nat = \"1 s\"\nlink.delay = \"2 ms\"",
            "changes[1].at: 1 s comes after the change at 2 s; put them in order",
        ),
        (
            "[[changes]]\nat = \"2 s\"\nlink.rate = \"2 Mbit/s\"\n[[changes]]\nat = \"2 s\"\nlink.rate = \"3 Mbit/s\"",
            "changes[1].link.rate: another rate at 2 s exists; keep one of them",
        ),
    ] {
        assert_eq!(changed(entries).unwrap_err().to_string(), error, "{entries}");
    }
    let change = "[[changes]]\nat = \"1 s\"\nlink.rate = \"2 Mbit/s\"\n";
    let bucket = SMALL.replace("rate = \"10 Mbit/s\"", "bucket = \"10 Mbit/s\"\nburst = \"10 kB\"");
    let error = parse(&format!("{bucket}{change}")).unwrap_err().to_string();
    assert_eq!(error, "changes[0].link.rate: there is no rate to change; write one, or leave this out");
    let wrong = SMALL.replace("10 Mbit/s", "10");
    let error = parse(&format!("{wrong}{change}")).unwrap_err().to_string();
    assert_eq!(error, r#"link.rate: "10" has no unit; write e.g. "10 Mbit/s""#, "what is written is judged for itself");
}

#[test]
fn queues_and_losses_come_back_as_entries() {
    let text = format!(
        "{SMALL}[[links]]\nname = \"up stairs\"\nrate = \"4 Mbit/s\"\n\
         [[changes]]\nat = \"1 s\"\nlink.aqm = \"codel target 7ms\"\nlink.limit = [\"70 packets\", \"90 kB\"]\nlink.rate = \"3mbit\"\n\
         [[changes]]\nat = \"2 s\"\nlink.aqm = {{ name = \"codel\", target = \"9 ms\" }}\nreverse.loss = \"2%\"\n\
         links.\"up stairs\".reverse.aqm = \"pie\"\n"
    );
    let scenario = parse(&text).unwrap();
    let changes = &scenario.link.changes;
    let links: Vec<_> =
        changes.iter().map(|c| (c.at.to_string(), c.aqm.as_ref().unwrap().text.clone(), c.keeps)).collect();
    assert_eq!(
        links,
        [("1 s".into(), "codel target 7ms".into(), false), ("2 s".into(), "codel target 9ms".into(), true)]
    );
    assert_eq!(changes[0].limits.unwrap().to_string(), "70 packets + 90000 B");
    assert_eq!(scenario.reverse.changes[0].loss, Some(LossSpec::Random(0.02)));
    assert_eq!(scenario.links[0].reverse.changes.len(), 1);
    assert!(scenario.reverse.changes[0].aqm.is_none(), "queues are not lent");
    assert_eq!(parse(&scenario.canonical()).unwrap(), scenario);
    assert_eq!(parse(&scenario.canonical()).unwrap().canonical(), scenario.canonical());
}

#[test]
fn queues_that_cannot_change_are_refused_by_entry() {
    for (aqm, change, error) in [
        (
            "fq_codel",
            "link.aqm = \"fq_codel flows 64\"",
            "changes[0].link.aqm: fq_codel: flows cannot be changed while it runs; keep its initial value",
        ),
        (
            "sfb",
            "link.limit = \"64 packets\"",
            "changes[0].link.limit: sfb: it cannot be changed while it runs; replace the whole queue manager instead, \
             which drops the queued packets",
        ),
        ("codel", "link.aqm = \"codell\"", r#"changes[0].link.aqm: unknown AQM "codell"; did you mean "codel"?"#),
        ("codel", "link.loss = 1", "changes[0].link.loss: 1 is ambiguous, 1 % or 100 %; write 1% or 1.0"),
        (
            "codel",
            "link.limit = \"0 packets\"",
            r#"changes[0].link.limit: a limit of "0 packets" leaves no room for a packet"#,
        ),
    ] {
        let text = SMALL.replace("[[flows]]", &format!("aqm = \"{aqm}\"\n[[flows]]"));
        let error_of = parse(&format!("{text}[[changes]]\nat = \"1 s\"\n{change}\n")).unwrap_err().to_string();
        assert_eq!(error_of, error);
    }
    let wlan = "duration = \"9 s\"\n[wlan]\n[[wlan.stations]]\n[link]\n[[flows]]\nkind = \"tcp\"\n\
                [[changes]]\nat = \"1 s\"\nlink.aqm = \"codel\"\n";
    let error = parse(wlan).unwrap_err().to_string();
    assert_eq!(error, "changes[0].link.aqm: a wireless LAN cannot change its queues or its loss; leave this out");
}
