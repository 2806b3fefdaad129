//! Runs a scenario file from Rust and prints its summary as JSON: `cargo run --release --example run -- FILE [SEED]`.

use sojourn_sim::{Simulation, scenario::Scenario};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(file) = args.next() else {
        eprintln!("usage: run FILE [SEED]");
        return ExitCode::from(2);
    };
    match run(Path::new(&file), args.next()) {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{file}: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(file: &Path, seed: Option<String>) -> Result<String, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(file)?;
    let scenario = Scenario::parse(&text, &[], file.parent().unwrap_or(Path::new(".")))?;
    let seed = seed.map_or(Ok(scenario.seed), |text| text.parse())?;
    let output = Simulation::new(&scenario, seed).finish();
    Ok(serde_json::to_string_pretty(&output.summary)?)
}
