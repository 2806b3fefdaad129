//! Equal decisions in five processes, each with its own layout of memory and its own keys of TLS, and pacing.

use std::process::Command;

fn run(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_sojourn-net-quiche")).args(words).output();
    let output = output.expect("the program was built");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it prints text")
}

#[test]
fn five_processes_make_equal_decisions() {
    for aqm in ["droptail", "fq_codel"] {
        for cc in ["cubic", "bbr2"] {
            let first = run(&[aqm, "1", cc]);
            assert!(first.starts_with(&format!("{aqm}, seed 1, {cc}: ")), "{first}");
            for _ in 1..5 {
                assert_eq!(run(&[aqm, "1", cc]), first);
            }
        }
    }
}

#[test]
fn seeds_draw_other_packet_numbers() {
    assert_ne!(run(&["fq_codel", "1"]).replace("seed 1", ""), run(&["fq_codel", "2"]).replace("seed 2", ""));
}

#[test]
fn only_bbr_names_departure_times() {
    assert_eq!(run(&["droptail", "1", "cubic", "unpaced"]), run(&["droptail", "1", "cubic"]));
    assert_ne!(run(&["droptail", "1", "bbr2", "unpaced"]), run(&["droptail", "1", "bbr2"]));
}
