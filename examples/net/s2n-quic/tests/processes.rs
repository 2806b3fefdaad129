//! Equal decisions in five processes, each with its own layout of memory and its own keys of TLS.

use std::process::Command;

fn run(seed: u64) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_sojourn-net-s2n-quic")).arg(seed.to_string()).output();
    let output = output.expect("the program was built");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it prints text")
}

#[test]
fn five_processes_make_equal_decisions() {
    let first = run(1);
    assert!(first.starts_with("seed 1: "), "{first}");
    for _ in 1..5 {
        assert_eq!(run(1), first);
    }
}

#[test]
fn budgets_hold_with_every_seed() {
    let runs: Vec<String> = (1..=20).map(run).collect();
    for pair in runs.windows(2) {
        assert_ne!(pair[0].split_once(": ").unwrap().1, pair[1].split_once(": ").unwrap().1);
    }
}
