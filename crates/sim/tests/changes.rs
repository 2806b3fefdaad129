//! Link properties that change during a run.

use crate::common::{run, scenario};
use sojourn_sim::Simulation;

/// A dumbbell with the link keys `link`, followed by `after`.
fn dumbbell(link: &str, after: &str) -> String {
    format!(
        "duration = \"7.3 s\"\n[link]\n{link}\n[reverse]\nrate = \"13 Mbit/s\"\n\
         [[flows]]\nkind = \"tcp\"\ncount = 3\nrtt = \"37 ms\"\nspread = \"0.4 s\"\n\
         [[flows]]\nkind = \"poisson\"\nrate = \"0.7 Mbit/s\"\n{after}"
    )
}

#[test]
fn entries_and_schedules_have_equal_fingerprints() {
    for change in ["fluid", "latch", "opportunity"] {
        let fixed = format!("aqm = \"codel\"\nchange = \"{change}\"");
        let schedule =
            format!("{fixed}\nrate = \"9.7mbit@0s,1.3mbit@2.11s,21mbit@4.9s\"\ndelay = \"3ms@0s,17ms@4.9s\"");
        let entries = "[[changes]]\nat = \"2.11 s\"\nlink.rate = \"1.3 Mbit/s\"\n\
                       [[changes]]\nat = \"4.9 s\"\nlink.rate = \"21 Mbit/s\"\nlink.delay = \"17 ms\"\n";
        let start = format!("{fixed}\nrate = \"9.7 Mbit/s\"\ndelay = \"3 ms\"");
        let (short, long) = (dumbbell(&schedule, ""), dumbbell(&start, entries));
        for seed in [3, 40_961] {
            let of = |text: &str| Simulation::new(&scenario(text), seed).finish().summary.fingerprint;
            assert_eq!(of(&short), of(&long), "{change}");
            // `change` without changes is rejected, so the run without it is another scenario.
            let without = dumbbell(&start.replace(&format!("\nchange = \"{change}\""), ""), "");
            assert_ne!(of(&without), of(&long), "{change}");
        }
    }
}

#[test]
fn a_change_behind_the_end_changes_nothing() {
    let start = "rate = \"9.7 Mbit/s\"";
    let late = "[[changes]]\nat = \"7.4 s\"\nlink.rate = \"1 Mbit/s\"\n";
    let [before, after] = ["", late].map(|changes| run(&dumbbell(start, changes)).summary);
    assert_eq!(before.goodput_bps, after.goodput_bps);
}

/// Summary of a link with a full queue at 3.3 s, when `entry` changes it.
fn forward(aqm: &str, entry: &str) -> sojourn_sim::Summary {
    let entry = format!("[[changes]]\nat = \"3.3 s\"\n{entry}\n");
    run(&dumbbell(&format!("rate = \"4.1 Mbit/s\"\naqm = \"{aqm}\"\nlimit = \"170 packets\""), &entry)).summary
}

#[test]
fn another_queue_manager_drops_what_waits() {
    for (aqm, other) in [
        ("droptail", "codel"),
        ("fq(droptail)", "sfq"),
        ("tbf rate 3mbit burst 4kB limit 200kB", "droptail"),
        ("droptail", "tbf rate 3mbit burst 4kB limit 200kB"),
        ("police rate 9mbit burst 90kB", "fq_codel"),
        ("prio", "dualpi2"),
        ("pfifo_fast", "red@linux"),
    ] {
        let link = forward(aqm, &format!("link.aqm = \"{other}\"")).links.forward.clone();
        let replaced = link.dropped_by["replaced"];
        assert!(replaced > 20 && replaced <= 170, "{aqm} to {other}: {replaced}");
        assert_eq!(link.dropped, link.dropped_by.values().sum::<u64>());
        // Packets that arrived were sent, were dropped, or are still queued.
        let waiting = link.arrived - link.packets - link.dropped;
        assert!(waiting <= 400, "{aqm} to {other}: {waiting}");
    }
}

#[test]
fn the_same_manager_keeps_what_waits() {
    let keys = |aqm: &str, entry: &str| forward(aqm, entry).links.forward.dropped_by.clone();
    let raised = keys("codel target 400ms interval 2s", "link.aqm = \"codel\"");
    assert!(!raised.contains_key("replaced") && raised["late"] > 20, "{raised:?}");
    let unchanged = forward("codel", "link.aqm = \"codel\"");
    let never = run(&dumbbell("rate = \"4.1 Mbit/s\"\naqm = \"codel\"\nlimit = \"170 packets\"", "")).summary;
    assert_eq!(unchanged.fingerprint, never.fingerprint, "a change to what there is changes nothing");
    let less = keys("codel target 5s interval 9s", "link.limit = \"31 packets\"");
    assert!(less["limit"] > 100, "{less:?}");
}

#[test]
fn nothing_depends_on_how_the_run_is_cut() {
    let entries = "[[changes]]\nat = \"2.7 s\"\nreverse.aqm = \"fq_codel\"\nlink.aqm = \"pie\"\n\
                   [[changes]]\nat = \"4 s\"\nlink.limit = \"9 packets\"\nlink.loss = \"3%\"\nreverse.limit = \"9 packets\"\n";
    let text = dumbbell("rate = \"4.1 Mbit/s\"\naqm = \"codel\"", entries);
    let scenario = scenario(&text);
    let whole = Simulation::new(&scenario, 77).finish().summary;
    let mut run = Simulation::new(&scenario, 77);
    let mut until = sojourn_aqm::Instant::ZERO;
    while !run.advance_until(until) {
        until += sojourn_aqm::Duration::from_micros(37_113);
    }
    assert_eq!(run.finish().summary.fingerprint, whole.fingerprint);
    let mut run = Simulation::new(&scenario, 77);
    while !run.advance(41) {}
    assert_eq!(run.finish().summary.fingerprint, whole.fingerprint);
    let link = &whole.links.forward;
    // 3 % of the packets sent in 3.3 of 7.3 s.
    let share = link.lost as f64 / link.packets as f64;
    assert!((0.005..0.02).contains(&share), "{share}");
}

#[test]
fn a_change_while_nothing_is_pending_still_comes() {
    // Without tokens for days no event occurs until the bucket's rate changes.
    let text = "duration = \"9 s\"\n[link]\nrate = \"7 Mbit/s\"\naqm = \"tbf rate 8bit burst 1514B limit 90kB\"\n\
                [[flows]]\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\nstop = \"0.5 s\"\n\
                [[changes]]\nat = \"4.9 s\"\nlink.aqm = \"tbf rate 3mbit burst 1514B limit 90kB\"\n";
    let scenario = scenario(text);
    let mut run = Simulation::new(&scenario, 1);
    let mut until = sojourn_aqm::Instant::ZERO;
    while !run.advance_until(until) {
        until += sojourn_aqm::Duration::from_millis(430);
    }
    let summary = run.finish().summary;
    let link = &summary.links.forward;
    assert_eq!((link.arrived, link.packets + link.dropped), (link.arrived, link.arrived));
    assert!(link.sojourn_ms.max.unwrap() > 4_400.0, "{:?}", link.sojourn_ms);
    assert_eq!(Simulation::new(&scenario, 1).finish().summary.fingerprint, summary.fingerprint);
}
