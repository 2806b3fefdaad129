//! Records for the page on real stacks: `exhibit WORLDS RECORDS` runs the worlds that the example `real_stacks` of
//! `sojourn-net` has written, with CUBIC, quiche's default, and BBR2, and 20 seeds.

use sojourn_net::{Net, process};
use sojourn_net_quiche::{Pacing, Transfer, transfer};
use std::error::Error;
use std::path::PathBuf;

sojourn_net::process_clock!();

fn main() -> Result<(), Box<dyn Error>> {
    let folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [worlds, records] = folders.as_slice() else { return Err("usage: exhibit WORLDS RECORDS".into()) };
    std::fs::create_dir_all(records)?;
    for file in std::fs::read_dir(worlds)? {
        let file = file?.path();
        let text = std::fs::read_to_string(&file)?;
        let cell = file.file_stem().unwrap_or_default().to_string_lossy();
        for (name, cc) in [("CUBIC", "cubic"), ("BBR2", "bbr2")] {
            for seed in 1..=20 {
                let name = format!("quiche 0.30.0, {name}.{cell}");
                let net = Net::parse(&text, seed)?.named(&name);
                let endless = Transfer { group: "stack", bytes: u64::MAX, cc, pacing: Pacing::Release };
                let report = process::run(net, |net| transfer(net, endless))??;
                std::fs::write(records.join(format!("{name}-{seed}.json")), report.record().to_string())?;
            }
        }
    }
    Ok(())
}
