//! Table that compares quinn's congestion controls behind CoDel with those of `quic-rfc9002`: `cargo run --release -p
//! sojourn-sim --features quinn --example quinn`.

use sojourn_sim::scenario::Scenario;
use sojourn_sim::{Output, Simulation};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    println!("| control | flows | goodput, Mbit/s | median sojourn time, ms | drops | quinn : ours |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for cc in ["newreno", "cubic"] {
        for stacks in [["quinn", "quinn"], ["quic-rfc9002", "quic-rfc9002"], ["quinn", "quic-rfc9002"]] {
            let outputs = (1..=SEEDS).map(|seed| run(cc, stacks, seed)).collect::<Result<Vec<_>, _>>()?;
            let of = |measure: fn(&Output) -> f64| interval(&outputs.iter().map(measure).collect::<Vec<_>>());
            let shares = if stacks[0] == stacks[1] {
                String::new()
            } else {
                of(|output| goodput(output, 0) / goodput(output, 1))
            };
            println!(
                "| `{cc}` | {} and {} | {} | {} | {} | {shares} |",
                stacks[0],
                stacks[1],
                of(|output| goodput(output, 0) + goodput(output, 1)),
                of(|output| output.summary.links.forward.sojourn_ms.p50.unwrap_or(f64::NAN)),
                of(|output| output.summary.links.forward.dropped as f64),
            );
        }
    }
    Ok(())
}

fn run(cc: &str, stacks: [&str; 2], seed: u64) -> Result<Output, Box<dyn Error>> {
    let flow = |stack| {
        format!("[[flows]]\nkind = \"tcp\"\nstack = \"{stack}\"\ncc = \"{cc}\"\nrtt = \"40 ms\"\nspread = \"1 s\"\n")
    };
    let link = "duration = \"60 s\"\nwarmup = \"20 s\"\n[link]\nrate = \"20 Mbit/s\"\naqm = \"codel\"\n";
    let scenario = Scenario::parse(&(link.to_string() + &flow(stacks[0]) + &flow(stacks[1])), &[], Path::new("."))?;
    Ok(Simulation::new(&scenario, seed).finish())
}

fn goodput(output: &Output, group: usize) -> f64 {
    output.summary.groups[group].payload.goodput_bps / 1e6
}

/// Mean and half width of the 95 % confidence interval of ten values.
fn interval(values: &[f64]) -> String {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    format!("{mean:.2} ± {:.2}", T_95 * (variance / count).sqrt())
}

const SEEDS: u64 = 10;

/// Student's t for nine degrees of freedom.
const T_95: f64 = 2.262;
