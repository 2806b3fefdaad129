//! Sends the same traffic through registered algorithms and BLUE: `cargo run --release -p sojourn-example-aqm`.

use sojourn_example_aqm::BLUE;
use sojourn_sim::{Simulation, scenario::Scenario};
use std::error::Error;
use std::path::Path;

const SCENARIO: &str = r#"
duration = "20 s"
warmup = "5 s"

[link]
rate = "10 Mbit/s"
limit = "100 packets"

[[flows]]
kind = "tcp"
stack = "linux-2.6.29"
cc = "reno"
count = 8
rtt = "40 ms"
spread = "1 s"
"#;

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:<24} {:>12} {:>16} {:>12}", "aqm", "utilisation", "mean sojourn", "drops");
    for aqm in ["droptail", "codel", "my_blue", "my_blue increment 0.05", "fq(my_blue)"] {
        let sets = [("link.aqm".to_string(), aqm.to_string())];
        let scenario = Scenario::parse_with(SCENARIO, &sets, Path::new("."), &[&BLUE])?;
        let summary = Simulation::new(&scenario, scenario.seed).finish().summary;
        let link = &summary.links.forward;
        let mean = link.sojourn_ms.mean.unwrap_or(f64::NAN);
        println!("{aqm:<24} {:>12.3} {mean:>13.2} ms {:>12}", link.utilisation, link.dropped);
    }
    Ok(())
}
