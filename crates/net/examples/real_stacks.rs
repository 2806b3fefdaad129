//! Records of what transport stacks do behind queues in use, for `docs/real_stacks.py`: `real_stacks run FOLDER [SEEDS]`
//! runs quinn without cryptography and Linux 6.1's TCP, alone and beside a Linux CUBIC flow. `real_stacks worlds FOLDER`
//! writes the same worlds with the endpoint group `stack` in the stack's place, for examples of other stacks.

use sojourn_net::Net;
use std::error::Error;
use std::path::Path;

/// Stacks by name: the keys of their flows, with their own default of ECN.
const STACKS: [(&str, &str); 5] = [
    ("quinn-proto 0.11.19, CUBIC", "kind = \"tcp\"\nstack = \"quinn\"\ncc = \"cubic\"\necn = true\n"),
    ("quinn-proto 0.11.19, NewReno", "kind = \"tcp\"\nstack = \"quinn\"\ncc = \"newreno\"\necn = true\n"),
    ("quinn-proto 0.11.19, BBR", "kind = \"tcp\"\nstack = \"quinn\"\ncc = \"bbr\"\necn = true\n"),
    ("Linux 6.1, CUBIC", "kind = \"tcp\"\nstack = \"linux-6.1\"\ncc = \"cubic\"\n"),
    ("Linux 6.1, BBR", "kind = \"tcp\"\nstack = \"linux-6.1\"\ncc = \"bbr\"\n"),
];

/// Queues by name: the keys of the link. Tail drop holds 1.5 times the product of bandwidth and delay.
const QUEUES: [(&str, &str); 4] = [
    ("droptail", "aqm = \"droptail\"\nlimit = \"100 packets\"\n"),
    ("fq_codel", "aqm = \"fq_codel\"\n"),
    ("cake", "aqm = \"cake\"\n"),
    ("dualpi2", "aqm = \"dualpi2\"\n"),
];

/// Loads by name: the flows beside the stack.
const LOADS: [(&str, &str); 2] = [
    ("alone", ""),
    ("beside", "[[flows]]\nkind = \"tcp\"\nstack = \"linux-6.1\"\ncc = \"cubic\"\nrtt = \"40 ms\"\nspread = \"1 s\"\n"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["run", folder] => run(Path::new(folder), 20),
        ["run", folder, seeds] => run(Path::new(folder), seeds.parse()?),
        ["worlds", folder] => write_worlds(Path::new(folder)),
        _ => Err("usage: real_stacks run FOLDER [SEEDS] | real_stacks worlds FOLDER".into()),
    }
}

/// Writes `STACK.QUEUE.LOAD-SEED.json` for every stack, queue, load and seed.
fn run(folder: &Path, seeds: u64) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    for (stack, keys) in STACKS {
        for (cell, text) in worlds(keys) {
            for seed in 1..=seeds {
                let report = Net::parse(&text, seed)?.named(&format!("{stack}.{cell}")).run()?;
                std::fs::write(folder.join(format!("{stack}.{cell}-{seed}.json")), report.record().to_string())?;
            }
        }
        println!("{stack}");
    }
    Ok(())
}

/// Writes `QUEUE.LOAD.toml` for every queue and load.
fn write_worlds(folder: &Path) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    for (cell, text) in worlds("kind = \"endpoint\"\nname = \"stack\"\n") {
        std::fs::write(folder.join(format!("{cell}.toml")), text)?;
    }
    Ok(())
}

/// The world of every queue and load, with the stack's group first.
fn worlds(keys: &str) -> impl Iterator<Item = (String, String)> {
    QUEUES.into_iter().flat_map(move |(queue, link)| {
        LOADS.map(|(load, beside)| {
            let text = format!(
                "duration = \"30 s\"\nwarmup = \"5 s\"\n\n[link]\nrate = \"20 Mbit/s\"\n{link}\n\
                 [[flows]]\n{keys}rtt = \"40 ms\"\nspread = \"1 s\"\n\n{beside}"
            );
            (format!("{queue}.{load}"), text)
        })
    })
}
