//! Runs longer than TCP's clocks count in 32 bits.

use crate::common::{run, whole};
use sojourn_aqm::Duration;
use sojourn_tcp::stack::{NAMES, Stack};

/// Departures and drops of ten CUBIC flows behind CoDel from `start` on: times since then, sojourn times, and fates.
fn flows_from(stack: &str, start: Duration) -> [Vec<u64>; 3] {
    let ns = start.as_nanos() as u64;
    let output = run(&format!(
        "duration = \"{} ns\"\nwarmup = \"0 s\"\nseed = 5\n\
         [link]\nrate = \"3.7 Mbit/s\"\ndelay = \"21 ms\"\naqm = \"codel\"\nlimit = \"30 packets\"\n\
         [[flows]]\nkind = \"tcp\"\nstack = \"{stack}\"\ncc = \"newreno\"\ncount = 10\nstart = \"{ns} ns\"\n\
         [probes]\npackets = true",
        ns + 9_000_000_000
    ));
    let column = |name| whole(&output, "packets", name);
    let since = column("time_ns").into_iter().map(|at| at - ns).collect();
    [since, column("sojourn_ns"), column("fate")]
}

#[test]
fn timestamps_and_timers_pass_2_to_the_32_ticks() {
    for (stack, _) in NAMES {
        let tick = Stack::find(stack).expect("it is registered").tick;
        let wrap = tick * (1 << 32);
        let start = wrap - Duration::from_secs(4);
        // The same phase within each level of a timer wheel.
        let before = start - tick * (3 << 30);
        let [late, early] = [start, before].map(|start| flows_from(stack, start));
        assert!(late[0].len() > 2_000, "{stack}: {} packets", late[0].len());
        assert!(late[2].iter().any(|&fate| fate != 0), "{stack} loses packets");
        let parts =
            late.iter().zip(&early).find_map(|(late, early)| (0..late.len()).find(|&i| late.get(i) != early.get(i)));
        let at = parts.map(|i| (late[0][i], early[0][i]));
        assert_eq!((at, late[0].len()), (None, early[0].len()), "{stack}: the nanosecond at which the runs part");
    }
}
