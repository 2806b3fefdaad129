//! The process clock: what follows a net, in nanoseconds, and what is the same in every process. Only with the feature
//! `process`.
#![cfg(all(feature = "process", target_os = "linux", target_env = "gnu"))]
#![expect(clippy::disallowed_methods, reason = "the clock is what is tested")]

mod common;

use sojourn_net::process::{run, run_from};
use sojourn_net::{Cx, Datagram, Duration, Endpoint, Event, Instant, Net, Received, Transmit, expect};
use std::hash::BuildHasher;
use std::hash::RandomState;
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration as StdDuration, Instant as StdInstant, SystemTime};

sojourn_net::process_clock!();

const WORLD: &str = r#"
duration = "4 s"
[link]
rate = "10 Mbit/s"
delay = "15 ms"
aqm = "codel"
[[flows]]
kind = "endpoint"
name = "call"
"#;

/// 2026-01-01T00:00:00Z in seconds since 1970.
const START: u64 = 1_767_225_600;

fn net(seed: u64) -> Net {
    Net::parse(WORLD, seed).expect("the world is valid")
}

fn epoch() -> StdDuration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("it is after 1970")
}

/// Asserts that both clocks of the standard library are at `now`.
fn agree(net: &Net, now: Instant) {
    let nanos = StdDuration::from_nanos(now.as_nanos());
    assert_eq!(StdInstant::now(), net.std(now));
    assert_eq!(net.from_std(StdInstant::now()), now);
    assert_eq!(epoch(), StdDuration::from_secs(START) + nanos);
}

#[test]
fn both_clocks_follow_pulled_events_in_nanoseconds() {
    let instants = run(net(1), |mut net| {
        let (source, sink) = net.pair("call").expect("the group is there");
        agree(&net, Instant::ZERO);
        let remote = net.address(sink);
        let mut next = Instant::ZERO;
        let mut instants = 0;
        net.wake(source, Some(next));
        loop {
            let event = net.next().expect("no program fails");
            match event {
                Event::Wake(_) => {
                    agree(&net, next);
                    next += Duration::from_nanos(12_345_679);
                    net.send(source, &Datagram::to(remote, &[0; 700])).expect("the address is valid");
                    net.wake(source, Some(next));
                }
                Event::Datagram { at, .. } => agree(&net, at),
                Event::End => break,
                _ => {}
            }
            instants += 1;
        }
        agree(&net, net.now());
        let end = net.now();
        net.finish().expect("no record is wanted");
        assert_eq!(epoch(), StdDuration::from_secs(START) + StdDuration::from_nanos(end.as_nanos()));
        instants
    });
    assert!(instants.expect("the functions are defined") > 600);
}

#[test]
fn the_clock_follows_a_leader() {
    run(net(1), |mut net| {
        for nanos in [1_u64, 1, 999_999_999, 3_000_000_001] {
            while !matches!(net.advance(Instant::from_nanos(nanos)).expect("time does not go back"), Event::End) {}
            agree(&net, Instant::from_nanos(nanos));
        }
    })
    .expect("the functions are defined");
}

/// Sends at intervals, and reads the clock in every call.
struct Clocks {
    next: Instant,
    start: Option<StdInstant>,
    report: mpsc::Sender<u64>,
}

impl Clocks {
    fn read(&mut self, now: Instant) {
        let start = *self.start.get_or_insert_with(StdInstant::now);
        assert_eq!(start.elapsed(), StdDuration::from_nanos(now.as_nanos()));
        self.report.send(now.as_nanos()).expect("the test listens");
    }
}

impl Endpoint for Clocks {
    fn begin(&mut self, cx: &mut Cx<'_>) {
        self.read(cx.now());
    }

    fn on_datagram(&mut self, cx: &mut Cx<'_>, _: Received<'_>) {
        self.read(cx.now());
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.read(cx.now());
    }

    fn poll_transmit(&mut self, now: Instant, into: &mut Vec<u8>) -> Option<Transmit> {
        self.read(now);
        if now < self.next {
            return None;
        }
        self.next = now + Duration::from_nanos(7_654_321);
        into.resize(500, 0);
        Some(Transmit::to(([10, 0, 0, 2], 1).into()))
    }

    fn wake_at(&mut self) -> Option<Instant> {
        Some(self.next)
    }
}

#[test]
fn the_clock_follows_calls_of_attached_programs() {
    let (sender, instants) = mpsc::channel();
    let mut net = net(1);
    let ends = [(); 2].map(|()| Clocks { next: Instant::ZERO, start: None, report: sender.clone() });
    let [source, sink] = ends;
    net.attach("call", source, sink).expect("the group is there");
    drop(sender);
    run(net, |net| net.run().expect("no program fails")).expect("the functions are defined");
    let instants: Vec<u64> = instants.iter().collect();
    assert!(instants.len() > 1_000 && instants.windows(2).all(|pair| pair[0] <= pair[1]), "{}", instants.len());
}

#[test]
fn other_threads_and_times_have_the_real_clock() {
    let (before, real) = (StdInstant::now(), epoch());
    let (ask, asked) = mpsc::channel::<()>();
    let (answer, answered) = mpsc::channel();
    let other = std::thread::spawn(move || {
        for () in asked {
            answer.send((StdInstant::now(), epoch())).expect("the test listens");
        }
    });
    run(net(1), move |mut net| {
        while !matches!(net.next().expect("no program fails"), Event::End) {}
        ask.send(()).expect("the thread is there");
        let (instant, time) = answered.recv().expect("the thread is there");
        assert!(instant.saturating_duration_since(before) < StdDuration::from_secs(3), "the net's time is 4 s");
        assert!(time >= real);
    })
    .expect("the functions are defined");
    other.join().expect("it does not panic");
    assert!(before.elapsed() < StdDuration::from_secs(3));
    assert!(epoch() >= real && real.as_secs() != START);
}

#[test]
fn another_time_of_day_can_be_chosen() {
    let start = SystemTime::UNIX_EPOCH + StdDuration::new(1_000_000_000, 5);
    let time = run_from(start, net(1), |mut net| {
        while !matches!(net.advance(Instant::from_nanos(6)).expect("time does not go back"), Event::End) {}
        SystemTime::now()
    });
    assert_eq!(time.expect("the functions are defined"), start + StdDuration::from_nanos(6));
}

/// A hash with the seed of this thread, and two draws of the system's randomness.
fn draws(seed: u64) -> String {
    run(net(seed), |_| {
        let (mut first, mut second) = ([0; 5], [0; 300]);
        let hash = RandomState::new().hash_one("sojourn");
        getrandom::fill(&mut first).expect("it cannot fail");
        getrandom::fill(&mut second).expect("it cannot fail");
        assert!(second.iter().any(|byte| *byte != 0));
        format!("{hash:016x} {first:?} {:?}", &second[291..])
    })
    .expect("the functions are defined")
}

#[test]
fn random_numbers_are_those_of_the_seed() {
    let first = draws(1);
    println!("draws {first}");
    assert_eq!(draws(1), first);
    assert_ne!(draws(2), first);
    assert_ne!(RandomState::new().hash_one("sojourn"), std::thread::spawn(seed_of_thread).join().unwrap());
}

fn seed_of_thread() -> u64 {
    RandomState::new().hash_one("sojourn")
}

#[test]
fn random_numbers_are_the_same_in_every_process() {
    let process = || {
        let mut command = Command::new(std::env::current_exe().expect("it runs"));
        let output = command.args(["--exact", "random_numbers_are_those_of_the_seed", "--nocapture"]).output();
        let text = String::from_utf8(output.expect("it runs again").stdout).expect("it prints text");
        text.lines().find(|line| line.contains("draws ")).expect("the test prints its draws").to_string()
    };
    let first = process();
    assert!(first.ends_with(&draws(1)), "{first}");
    assert_eq!(process(), first);
}

#[test]
fn a_thread_of_the_stack_is_refused() {
    let (stop, stopped) = mpsc::channel::<()>();
    let error = run(net(1), move |_| std::thread::spawn(move || stopped.recv().is_err()));
    drop(stop);
    assert_eq!(
        error.expect_err("a thread is there").to_string(),
        "1 threads that the run started are still there, with the real clock; run the stack in one thread"
    );
}

#[test]
#[should_panic(expected = "the stack fails")]
fn a_panic_keeps_its_message() {
    let _ = run(net(1), |_| panic!("the stack fails"));
}

#[test]
fn sentences_are_those_of_the_test_that_runs() {
    let failed = std::panic::catch_unwind(|| {
        sojourn_net::seeds(1..=2, |seed| {
            run(net(seed), |net| expect!(net.run().expect("no program fails"), "share(call) >= 1 %"))
                .expect("the functions are defined");
        });
    });
    let text = *failed.expect_err("nobody sends").downcast::<String>().expect("it has a text");
    assert!(text.contains("2 of 2 seeds failed: 1, 2") && text.contains("SOJOURN_SEED=1 cargo test"), "{text}");
    assert!(text.contains("sentences_are_those_of_the_test_that_runs"), "{text}");
}
