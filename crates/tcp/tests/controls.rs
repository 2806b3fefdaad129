//! The controls against a second implementation of each, written in Python from the sources. The scripts in `controls`
//! list the events of a connection and the window after each; `tests/controls/generate.py` generates them.

use sojourn_aqm::{Duration, Instant};
use sojourn_tcp::CaState;
use sojourn_tcp::cc::{Ack, AnyCc, GrowthCounting, Window, WindowEvent};
use sojourn_tcp::stack::Stack;
use std::fs;
use std::mem::take;
use std::path::{Path, PathBuf};
use std::str::SplitWhitespace;

#[test]
fn every_script_is_that_of_a_control_which_follows_it() {
    let mut names: Vec<String> = scripts().iter().map(|path| replay(path)).collect();
    names.sort();
    let expected = [
        "bic",
        "cubic",
        "highspeed",
        "htcp",
        "illinois",
        "ledbat",
        "ledbat++",
        "scalable",
        "vegas",
        "westwood",
        "yeah",
    ];
    assert_eq!(names, expected);
}

/// Replays a script with the control that it is named after, and returns the name.
fn replay(path: &Path) -> String {
    let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_string();
    let text = fs::read_to_string(path).expect("a script");
    let mut connection = Connection::new(&name, &[], 1, 1);
    let mut params = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let (event, expected) = line.split_once(" = ").expect("an event and what follows");
        let mut words = EventParser(event.split_whitespace());
        match words.word() {
            "with" => {
                params = words.params();
                continue;
            }
            "new" => connection = Connection::new(&name, &take(&mut params), words.number(), words.number()),
            event => connection.take(event, &mut words),
        }
        let Window { cwnd, ssthresh, cwnd_cnt, .. } = connection.window;
        assert_eq!(format!("{cwnd} {ssthresh} {cwnd_cnt}"), expected, "{name}, line {}: {event}", number + 1);
    }
    name
}

struct Connection {
    cc: AnyCc,
    window: Window,
}

impl Connection {
    fn new(name: &str, params: &[(String, String)], cwnd: u32, ssthresh: u32) -> Self {
        let stack = Stack::find("linux-6.1").expect("a stack");
        let mut cc = AnyCc::configured(name, params).expect("a control");
        assert!(cc.needs().is_met_by(stack));
        cc.attach(stack, false);
        let counting = GrowthCounting::Packets;
        Self { cc, window: Window { cwnd, ssthresh, cwnd_cnt: 0, bytes_acked: 0, mss: 1448, counting } }
    }

    /// An acknowledgment, before growth: samples, if it acknowledges new data, and the report.
    fn report(cc: &mut AnyCc, window: &mut Window, report: &Ack) {
        if report.packets > 0 {
            cc.on_ack(window, || *report);
        }
        cc.on_report(window, report);
    }

    fn take(&mut self, event: &str, words: &mut EventParser) {
        let Self { cc, window } = self;
        match event {
            "start" => {
                let event = WindowEvent::Restarted { now: words.instant(), last_sent: Instant::ZERO };
                cc.event(window, event);
            }
            "hear" => Self::report(cc, window, &words.report()),
            "ack" => {
                let report = words.report();
                Self::report(cc, window, &report);
                match words.word() {
                    "full" => cc.grow(window, || report),
                    _ => cc.on_unlimited_ack(window, || report),
                }
            }
            "state" => {
                let (now, state) = (words.instant(), words.state());
                cc.state_changed(window, state, now, words.number());
            }
            "loss" => {
                let (now, state) = (words.instant(), words.state());
                (window.ssthresh, window.cwnd_cnt) = (cc.ssthresh(window), 0);
                cc.state_changed(window, state, now, words.number());
            }
            "end" => {
                let now = words.instant();
                window.cwnd = window.ssthresh;
                cc.event(window, WindowEvent::Reduced);
                cc.state_changed(window, CaState::Open, now, words.number());
            }
            "timeout" => {
                let now = words.instant();
                window.ssthresh = cc.timeout_ssthresh(window);
                (window.cwnd, window.cwnd_cnt) = (1 + words.number::<u32>(), 0);
                cc.state_changed(window, CaState::Loss, now, words.number());
                cc.event(window, WindowEvent::TimedOut);
            }
            "undo" => {
                let now = words.instant();
                cc.undo_cwnd(window);
                window.cwnd = window.cwnd.max(words.number());
                window.ssthresh = window.ssthresh.max(words.number());
                cc.state_changed(window, CaState::Open, now, words.number());
            }
            "set" => window.cwnd = words.number(),
            _ => panic!("no such event: {event}"),
        }
    }
}

/// The words of an event.
struct EventParser<'a>(SplitWhitespace<'a>);

impl<'a> EventParser<'a> {
    fn word(&mut self) -> &'a str {
        self.0.next().expect("another word")
    }

    fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(&mut self) -> T {
        self.word().parse().expect("a number")
    }

    /// The rest of the line as names and values.
    fn params(&mut self) -> Vec<(String, String)> {
        let mut params = Vec::new();
        while let Some(name) = self.0.next() {
            params.push((name.to_string(), self.word().to_string()));
        }
        params
    }

    fn instant(&mut self) -> Instant {
        Instant::from_nanos(1_000 * self.number::<u64>())
    }

    fn state(&mut self) -> CaState {
        match self.word() {
            "Open" => CaState::Open,
            "Disorder" => CaState::Disorder,
            "Cwr" => CaState::Cwr,
            "Recovery" => CaState::Recovery,
            "Loss" => CaState::Loss,
            other => panic!("no such state: {other}"),
        }
    }

    fn report(&mut self) -> Ack {
        Ack {
            now: self.instant(),
            packets: self.number(),
            rtt: match self.word() {
                "-" => None,
                us => Some(Duration::from_micros(us.parse().expect("a number"))),
            },
            una: self.number(),
            nxt: self.number(),
            state: self.state(),
            slow_path: self.word() == "slow",
            one_way: Some(Duration::from_micros(self.number())),
        }
    }
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/controls");
    let files = fs::read_dir(folder).expect("the scripts are there").map(|entry| entry.expect("an entry").path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "txt")).collect()
}
