//! quiche 0.30.0 on the process clock of `sojourn-net`: 10 MB beside TCP CUBIC.
//! `sojourn-net-quiche droptail 7 bbr2 unpaced` runs its BBR behind tail drop with the seed 7 and ignores departure
//! times; all words are optional.

use sojourn_net::{Instant, Net, Report, expect, process};
use sojourn_net_quiche::{Pacing, Transfer, transfer};

sojourn_net::process_clock!();

const WORLD: &str = include_str!("../world.toml");
const BYTES: u64 = 10_000_000;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |index: usize, default| words.get(index).map_or(default, String::as_str);
    let (aqm, seed, cc, is_paced) = (word(0, "fq_codel"), word(1, "1"), word(2, "cubic"), word(3, "paced") == "paced");
    let world = WORLD.replace("fq_codel", aqm);
    let net = Net::parse(&world, seed.parse().expect("the seed is a number")).expect("the world is valid").named(aqm);
    let pacing = if is_paced { Pacing::Departure } else { Pacing::Ignored };
    let report = process::run(net, |net| transfer(net, Transfer { group: "transfer", bytes: BYTES, cc, pacing }));
    let report = report.expect("the process clock follows").expect("the transfer succeeds");
    let (bursts, gap) = gaps(&report);
    let number = |sentence| report.judge(sentence).expect("the sentence is valid").sides[0].2[0];
    println!(
        "{aqm}, seed {seed}, {cc}: {} datagrams, decisions {}, run {}; {:.1} ms, loss {:.2} %, p99 of the delay {:.1} ms; \
         {bursts} % of the packets in bursts, median gap {gap} us",
        report.datagrams(),
        report.decisions(),
        report.fingerprint(),
        number("p50(completion, transfer) >= 0 s"),
        number("loss(transfer) >= 0 %"),
        number("p99(delay, transfer) >= 0 ms"),
    );
    let within = if cc == "bbr2" && is_paced { "35 s" } else { "12 s" };
    expect!(report, &format!("max(completion, transfer) <= {within} and loss(transfer) <= 6 %"));
    expect!(report, "p99(delay, transfer) <= 80 ms");
    if cc == "bbr2" && is_paced {
        assert_eq!(bursts, 0, "departure times spread the packets");
    }
}

/// Per cent of the source's big datagrams that leave together with the one before, and the median of the other gaps in
/// microseconds.
fn gaps(report: &Report) -> (usize, u64) {
    let big = report.log().iter().filter(|decision| decision.bytes > 1_000);
    let times: Vec<Instant> = big.map(|decision| decision.at).collect();
    let mut gaps: Vec<u64> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_nanos() as u64 / 1_000).collect();
    gaps.sort_unstable();
    let bursts = gaps.iter().filter(|gap| **gap == 0).count();
    (bursts * 100 / gaps.len(), gaps[(gaps.len() + bursts) / 2])
}
