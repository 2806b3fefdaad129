//! Disciplines of crates/qdisc as WebAssembly, translated and compiled, beside the library itself: every verdict, mark,
//! drop, time and text of the state is equal.
//!
//! They are compiled for `wasm32-unknown-unknown`: `make module-check`.

use sojourn_aqm::{DequeueResult, DropReason, Ecn, EnqueueResult, Instant, Link, Meta, Rate, Rng};
use sojourn_qdisc::queue::{Handle, Kernel, Queue, Setup};
use std::fmt::Write;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const RATE: u64 = 11_300_000;
const ARRIVALS: usize = 20_000;

/// Results as the driver prints them.
#[derive(Default)]
struct Record {
    calls: String,
    results: String,
}

impl Kernel for Record {
    fn dropped(&mut self, packet: Handle, meta: &Meta, reason: DropReason) {
        let _ = writeln!(self.results, "x {packet} {} {}", meta.ecn as u32, reason as u32);
    }

    fn head(&self, _: Handle, _: &mut [u8]) -> usize {
        0
    }
}

/// The library's queue and a record of its calls.
struct Native {
    queue: Queue,
    record: Record,
}

impl Native {
    fn new(text: &str, limit: &str, created: u64) -> Self {
        let link = Link::new(Rate::from_bps(RATE), 1514);
        let setup = Setup { link, seed: 7, now: Instant::from_nanos(created) };
        Self { queue: Queue::create(text, limit, setup).expect(text), record: Record::default() }
    }

    fn enqueue(&mut self, now: u64, handle: usize, meta: Meta) {
        let tos = meta.dscp << 2 | meta.ecn as u8;
        let (len, flow, hosts) = (meta.len, meta.flow, meta.hosts);
        let _ = writeln!(self.record.calls, "e {now} {handle} {len} {flow} {} {} {tos}", hosts.0, hosts.1);
        let verdict = match self.queue.enqueue(Instant::from_nanos(now), meta, handle, &mut self.record) {
            EnqueueResult::Queued => 0,
            EnqueueResult::Marked => 1,
            EnqueueResult::Dropped(reason) => 2 + reason as u32,
        };
        let _ = writeln!(self.record.results, "e {verdict}");
    }

    /// Bytes of the packet that leaves.
    fn dequeue(&mut self, now: u64) -> Option<u32> {
        let _ = writeln!(self.record.calls, "d {now}");
        let result = self.queue.dequeue(Instant::from_nanos(now), &mut self.record);
        let (kind, handle, ecn, at) = match &result {
            DequeueResult::Empty => (0, 0, 0, 0),
            DequeueResult::Packet(meta, handle) => (1, *handle, meta.ecn as u32, 0),
            DequeueResult::NotBefore(at) => (2, 0, 0, at.as_nanos()),
        };
        let _ = writeln!(self.record.results, "d {kind} {handle} {ecn} {at}");
        if let DequeueResult::Packet(meta, _) = result { Some(meta.len) } else { None }
    }

    fn state(&mut self, now: u64) {
        let _ = writeln!(self.record.calls, "s {now}");
        let mut text = String::new();
        self.queue.state(Instant::from_nanos(now), &mut text);
        let _ = writeln!(self.record.results, "s {text}\ns {}", self.queue.spelling());
    }

    fn change(&mut self, now: u64, text: &str, limit: &str) {
        let _ = writeln!(self.record.calls, "c {now} {limit} {text}");
        let mut new = Queue::create(text, limit, self.queue.setup()).expect(text);
        let done = self.queue.change(&mut new, Instant::from_nanos(now), &mut self.record);
        let (done, why) = (done.is_ok(), done.err().unwrap_or_default());
        let _ = writeln!(self.record.results, "c {} {why}", u32::from(done));
    }

    /// Random sizes, gaps and ECN fields of about 1.3 times the link's rate.
    fn load(&mut self, created: u64) -> u64 {
        let mut rng = Rng::from_state(11);
        let (mut now, mut departs) = (created, created);
        for handle in 1..=ARRIVALS {
            let len = 60 + rng.below(1455) as u32;
            now += u64::from(len) * 8_000_000_000 / RATE * (50 + rng.below(54)) / 100;
            while departs <= now {
                match self.dequeue(departs) {
                    Some(len) => departs += u64::from(len) * 8_000_000_000 / RATE,
                    None => departs = now + 1,
                }
            }
            let flow = rng.below(5) as u32;
            let meta = Meta { hosts: (flow % 2, flow), dscp: rng.below(64) as u8, ..Meta::new(len, flow) };
            self.enqueue(now, handle, meta.with_ecn(Ecn::ALL[rng.below(3) as usize]));
            if handle % 1_000 == 0 {
                self.state(now);
            }
        }
        now
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The disciplines `names` as WebAssembly.
fn wasm(names: &[&str]) -> Vec<u8> {
    let only: String = names.iter().map(|name| format!(" --cfg sojourn_only=\"{name}\"")).collect();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wasm");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["rustc", "--locked", "--offline", "--quiet", "--profile", "kernel", "--package", "sojourn-qdisc"]);
    cargo.args(["--target", "wasm32-unknown-unknown", "--crate-type", "cdylib", "--features", "freestanding"]);
    cargo.args(["--", "-C", "link-arg=-zstack-size=65536", "-C", "strip=symbols"]);
    cargo.current_dir(root()).env("CARGO_TARGET_DIR", &target).env("CARGO_PROFILE_KERNEL_OPT_LEVEL", "s");
    cargo.env("RUSTFLAGS", format!("--cfg sojourn_only{only}"));
    assert!(cargo.status().expect("cargo").success(), "crates/qdisc for wasm32-unknown-unknown");
    std::fs::read(target.join("wasm32-unknown-unknown/kernel/sojourn_qdisc.wasm")).unwrap()
}

/// The driver of these disciplines.
fn driver(folder: &Path, names: &[&str]) -> PathBuf {
    let code = sojourn_module::translate(&wasm(names)).expect("a translation");
    std::fs::write(folder.join("discipline.c"), code).unwrap();
    let kernel = root().join("packages/kernel/sojourn_kernel");
    let program = folder.join("driver");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-O2", "-W", "-Wall", "-Werror", "-DSOJOURN_TRANSLATED", "-I"]).arg(folder);
    compiler.arg("-I").arg(kernel.join("module")).arg("-I").arg(kernel.join("qdisc")).arg("-o").arg(&program);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver.c");
    assert!(compiler.arg(source).status().expect("a C compiler").success());
    program
}

fn drive(program: &Path, args: [&str; 3], calls: &str) -> String {
    let mut command = Command::new(program);
    let mut running = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = running.stdin.take().unwrap();
    let calls = calls.to_string();
    let writing = std::thread::spawn(move || input.write_all(calls.as_bytes()).unwrap());
    let output = running.wait_with_output().unwrap();
    writing.join().unwrap();
    assert!(output.status.success(), "{args:?}: {}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

fn compare(program: &Path, text: &str, changed: &str) {
    let created = 5_000_000_777;
    let mut native = Native::new(text, "123packets", created);
    let now = native.load(created);
    native.change(now, changed, "2000packets");
    native.state(now);
    for handle in 1..2_000 {
        native.enqueue(now + handle, ARRIVALS + handle as usize, Meta::new(1_500, handle as u32 % 7));
    }
    native.state(now + 3_000);
    native.change(now + 4_000, changed, "10packets");
    native.state(now + 5_000);
    let results = drive(program, [text, "123packets", &created.to_string()], &native.record.calls);
    let expected = &native.record.results;
    assert!(expected.contains("\nx ") && expected.lines().count() > 40_000, "{text} is overloaded");
    for (i, (result, expected)) in results.lines().zip(expected.lines()).enumerate() {
        assert_eq!(result, expected, "{text}, line {i}");
    }
    assert_eq!(results.len(), expected.len(), "{text}: {}", results.lines().last().unwrap_or_default());
}

#[test]
#[ignore = "compiles crates/qdisc for wasm32: make module-check"]
fn translated_disciplines_decide_as_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let program = driver(folder.path(), &["codel", "pie", "red", "fq_codel", "fq", "droptail"]);
    for (text, changed) in [
        ("codel@act target 7ms", "codel@act target 3ms ecn"),
        ("codel@linux ecn", "codel@linux target 9ms"),
        ("pie ecn", "pie ecn target 3ms"),
        ("pie@linux ecn", "pie@linux"),
        ("red target 5ms ecn", "red target 9ms"),
        ("fq_codel", "fq_codel target 9ms"),
        ("fq(pie ecn) flows 4", "fq(pie ecn) flows 4 quantum 300B"),
    ] {
        compare(&program, text, changed);
    }
    let refused = drive(&program, ["cake", "", "0"], "");
    assert_eq!(refused, "refused this module has droptail, codel, pie, red, fq_codel, fq; build another for cake\n");
    let refused = drive(&program, ["codel target 5", "", "0"], "");
    assert!(refused.starts_with("refused ") && refused.contains("has no unit"), "{refused}");

    // After a trap the queue makes no decision and says why; the packets are the kernel's.
    let packet = |handle: u32| format!("e {handle} {handle} 1500 1 0 0 0\n");
    let calls =
        packet(1) + &packet(2) + "d 3\nt 4\n" + &packet(5) + &packet(6) + "d 7\nr 8\ns 9\nc 10 10packets codel\n";
    let results = drive(&program, ["codel", "", "0"], &calls);
    let lines: Vec<_> = results.lines().collect();
    assert_eq!(lines[..6], ["e 0", "e 0", "d 1 1 0 0", "e 0", "e 0", "d 0 0 0 0"]);
    assert!(lines[6].starts_with("s failed (") && lines[7] == "s limit 1000packets codel", "{results}");
    assert!(lines[8].starts_with("c 0 ") && lines.len() == 9, "{results}");
}
