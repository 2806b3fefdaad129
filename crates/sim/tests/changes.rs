//! Values of links that change while a run goes on.

mod common;

use common::{run, scenario};
use sojourn_sim::Simulation;

/// A dumbbell with `link` keys and whatever comes `after`.
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
        let rest = format!("aqm = \"codel\"\nchange = \"{change}\"");
        let schedule = format!("{rest}\nrate = \"9.7mbit@0s,1.3mbit@2.11s,21mbit@4.9s\"\ndelay = \"3ms@0s,17ms@4.9s\"");
        let entries = "[[changes]]\nat = \"2.11 s\"\nlink.rate = \"1.3 Mbit/s\"\n\
                       [[changes]]\nat = \"4.9 s\"\nlink.rate = \"21 Mbit/s\"\nlink.delay = \"17 ms\"\n";
        let start = format!("{rest}\nrate = \"9.7 Mbit/s\"\ndelay = \"3 ms\"");
        let (short, long) = (dumbbell(&schedule, ""), dumbbell(&start, entries));
        for seed in [3, 40_961] {
            let of = |text: &str| Simulation::new(&scenario(text), seed).finish().summary.fingerprint;
            assert_eq!(of(&short), of(&long), "{change}");
            // Where `change` means nothing without changes, it is refused: the run without them is another scenario.
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
