//! Records for the page on real stacks: `exhibit WORLDS RECORDS` runs the worlds that the example `real_stacks` of
//! `sojourn-net` has written, with Reno and CUBIC and 20 seeds.

use sojourn_net::Net;
use sojourn_net_smoltcp::{CongestionControl, Host, Transfer};
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [worlds, records] = folders.as_slice() else { return Err("usage: exhibit WORLDS RECORDS".into()) };
    std::fs::create_dir_all(records)?;
    for file in std::fs::read_dir(worlds)? {
        let file = file?.path();
        let text = std::fs::read_to_string(&file)?.replace("name = \"stack\"", "name = \"stack\"\nlayer = \"ip\"");
        let cell = file.file_stem().unwrap_or_default().to_string_lossy();
        for (name, control) in [("Reno", CongestionControl::Reno), ("CUBIC", CongestionControl::Cubic)] {
            for seed in 1..=20 {
                let mut net = Net::parse(&text, seed)?.named(&format!("smoltcp 0.14.0, {name}.{cell}"));
                let [source, sink] = Host::pair(Transfer { bytes: 1 << 30, buffer: 1 << 19, control, seed });
                net.attach("stack", source, sink)?;
                let report = net.run()?;
                let record = format!("smoltcp 0.14.0, {name}.{cell}-{seed}.json");
                std::fs::write(records.join(record), report.record().to_string())?;
            }
        }
    }
    Ok(())
}
