//! Equal decisions for RTP and RTCP in five processes, and budgets. DTLS signs with ECDSA, whose signatures have several
//! lengths: two or three datagrams of the handshake differ.

use std::process::{Command, Output};

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_sojourn-net-str0m"))
}

fn output(command: &mut Command) -> Output {
    command.output().expect("the program was built")
}

/// Number of datagrams and hash of the media's decisions, and the whole output.
fn lines(seed: u32) -> (String, String) {
    let output = output(program().arg(seed.to_string()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("it prints text");
    (text.lines().next().expect("it prints lines").to_string(), text)
}

#[test]
fn five_processes_make_equal_decisions_for_media() {
    let (first, _) = lines(1);
    assert!(first.starts_with("seed 1: "), "{first}");
    for _ in 1..5 {
        assert_eq!(lines(1).0, first);
    }
}

#[test]
fn budgets_hold_with_every_seed_and_the_goal_with_nineteen() {
    let runs: Vec<(String, String)> = (1..=20).map(lines).collect();
    for pair in runs.windows(2) {
        assert_ne!(pair[0].0.split_once(": ").unwrap().1, pair[1].0.split_once(": ").unwrap().1);
    }
    let goal = "p99(delay, call.rtp) <= 100 ms: true";
    assert_eq!(runs.iter().filter(|(_, text)| text.contains(goal)).count(), 19);
}

#[test]
fn a_budget_finds_a_standing_queue() {
    // The files of the failure go to the folder of the tests.
    let output = output(program().args(["1", "droptail"]).env("SOJOURN_NET_OUT", env!("CARGO_TARGET_TMPDIR")));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && message.contains("p95(delay, call.rtp) <= 100 ms"), "{message}");
}
