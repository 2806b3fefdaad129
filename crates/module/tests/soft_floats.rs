//! The soft floats of each C file against the machine's floating-point unit.

use std::path::Path;
use std::process::Command;

/// Number of differences in `rounds` random pairs, and the first of them.
fn differences(folder: &Path, support: &str, rounds: u32) -> (u64, String) {
    let (source, program) = (folder.join("soft_float.c"), folder.join("soft_float"));
    std::fs::write(&source, [support, include_str!("soft_float.c")].concat()).unwrap();
    let mut compiler = Command::new("cc");
    // Contracted products and sums would round once.
    compiler.args(["-std=gnu11", "-O2", "-ffp-contract=off", "-W", "-Wall", "-Werror", "-o"]);
    assert!(compiler.arg(&program).arg(&source).arg("-lm").status().expect("a C compiler").success());
    let output = Command::new(&program).arg(rounds.to_string()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (text.lines().last().and_then(|line| line.parse().ok()).expect("a count"), text)
}

#[test]
fn soft_floats_are_those_of_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let (count, text) = differences(folder.path(), &sojourn_module::support(), 2_000_000);
    assert_eq!(count, 0, "{text}");
}

/// Errors in rounding that few operands show.
#[test]
fn planted_faults_of_rounding_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let support = sojourn_module::support();
    for (right, wrong) in [
        ("quotient | (rest != 0)", "quotient"),
        ("root | (rest != 0)", "root"),
        ("a >> by | (u64)(a << (64 - by) != 0)", "a >> by"),
        ("high | ((middle << 32 | (low & ~0u)) != 0)", "high"),
        ("(rest + (kept & 1) > 1ull << 63)", "(rest >= 1ull << 63)"),
        ("magnitude = shift_sticky(magnitude, (u32)(1 - biased));", "magnitude >>= (u32)(1 - biased) & 63;"),
        ("return a & b & F64_SIGN;", "return a & F64_SIGN;"),
        ("if (biased > 2 * bias)", "if (biased > 2 * bias + 1)"),
    ] {
        assert!(support.contains(right), "{right} is planted in");
        let (count, _) = differences(folder.path(), &support.replace(right, wrong), 200_000);
        assert!(count > 0, "{wrong} was not found");
    }
}
