//! C programs linked with this build's library, also under valgrind if it is installed.
#![cfg(target_os = "linux")]

use crate::common::{HERE, command, compile, succeeds, valgrind};
use sojourn_aqm::registry::parse;
use sojourn_aqm::{DequeueResult, Ecn, Host, Instant, Limits, Link, Meta, Qdisc, Rate, Rng};
use std::path::{Path, PathBuf};

/// A program compiled in its own directory.
struct Program {
    folder: tempfile::TempDir,
    path: PathBuf,
}

impl Program {
    fn of(source: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = compile(folder.path(), &Path::new(HERE).join(source));
        Self { folder, path }
    }

    fn run(&self, arguments: &[&str]) -> String {
        succeeds(command(self.folder.path(), &self.path).args(arguments))
    }

    /// Runs the program under valgrind, which must report no error.
    fn run_watched(&self, arguments: &[&str]) {
        let Some(valgrind) = valgrind() else { return };
        let options =
            ["-q", "--error-exitcode=99", "--leak-check=full", "--show-leak-kinds=definite,indirect,possible"];
        let mut watched = command(self.folder.path(), valgrind);
        let output = watched.args(options).arg(&self.path).args(arguments).output().expect("it was found");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The output of examples/c/overload.c, computed with the qdisc itself.
fn overload(aqm: &str) -> String {
    let link = Link::new(Rate::from_bps(10_000_000), 1500);
    let host = Host { link, rng: Rng::stream(7, "queue", 0) };
    let mut queue: Box<dyn Qdisc<u32>> = parse(aqm).expect("it is registered").build(Limits::packets(500), host);
    let (mut now, mut arrival, mut free_at) = (0, 0, 0);
    let (mut number, mut sent, mut marked, mut longest) = (0, 0, 0, 0);
    let mut lost = [0; 4];
    while now < 2_000_000_000 {
        now = u64::min(arrival, free_at);
        let at = Instant::from_nanos(now);
        let mut lose = |_: Meta, _: u32, reason: sojourn_aqm::DropReason| lost[reason as usize] += 1;
        if now == arrival {
            queue.enqueue(at, Meta::new(1496, number % 3).with_ecn(Ecn::Ect0), number, &mut lose);
            number += 1;
            arrival += 797_867;
            continue;
        }
        match queue.dequeue(at, &mut lose) {
            DequeueResult::Packet(meta, _) => {
                longest = longest.max((at - meta.enqueued).as_nanos());
                marked += u32::from(meta.ecn == Ecn::Ce);
                sent += 1;
                free_at = now + 1496 * 800;
            }
            DequeueResult::Empty => free_at = arrival + 1,
            DequeueResult::NotBefore(at) => free_at = at.as_nanos(),
        }
    }
    let mut text = format!("sent {sent}, marked {marked}, longest wait {:.3} ms\n", longest as f64 / 1e6);
    for (name, n) in ["limit", "early", "late", "hard-limit"].into_iter().zip(lost).filter(|&(_, n)| n > 0) {
        text += &format!("dropped ({name}) {n}\n");
    }
    match queue.backlog().packets {
        0 => text,
        n => text + &format!("dropped (freed) {n}\n"),
    }
}

#[test]
fn the_example_prints_what_the_queue_itself_does_and_leaks_nothing() {
    let source = "../../examples/c/overload.c";
    let code = std::fs::read_to_string(Path::new(HERE).join(source)).expect("it is there");
    assert!(code.lines().count() <= 60);
    let program = Program::of(source);
    for aqm in ["codel", "codel target 7.5ms ecn", "fq_codel limit 47", "pie", "red ecn", "codel@hardlimit", "dualpi2"]
    {
        assert_eq!(program.run(&[aqm]), overload(aqm), "{aqm}");
    }
    program.run_watched(&["fq(pie ecn) limit 90"]);
}

#[test]
fn calls_that_cannot_be_are_refused_by_number_and_text() {
    let program = Program::of("tests/misuse.c");
    program.run(&[]);
    program.run_watched(&[]);
}
