//! Decisions and fingerprints of worlds with programs, a line each, for `make net-machines`: the text is the same on
//! every machine. Needs the feature `quinn`.

use sojourn_net::{Cx, Duration, Endpoint, Error, Instant, Net, Received, Transmit};
use std::collections::VecDeque;

/// Queues of the worlds, and keys of their links.
const LINKS: &[(&str, &str)] = &[
    ("aqm = \"droptail\"\nlimit = \"37 packets\"", ""),
    ("aqm = \"codel ecn\"", ""),
    ("aqm = \"fq_codel ecn\"", "loss = 0.003\n"),
    ("aqm = \"pie\"", "loss = 0.001\n"),
    ("aqm = \"cake\"", ""),
    ("aqm = \"dualpi2\"", ""),
    ("aqm = { name = \"netem\", delay = \"9 ms\", jitter = \"4 ms\", loss = 0.7, duplicate = 1.3, limit = 500 }", ""),
];

const SEED: u64 = 20_261;

/// Sends datagrams of changing sizes, and returns those that arrive.
#[derive(Default)]
struct Chatter {
    next: Option<Instant>,
    count: u64,
    is_due: bool,
    is_source: bool,
    answers: VecDeque<(Vec<u8>, Transmit)>,
    peer: Option<std::net::SocketAddr>,
}

impl Endpoint for Chatter {
    fn begin(&mut self, cx: &mut Cx<'_>) {
        self.peer = Some(cx.peer());
        self.next = self.is_source.then(|| cx.now());
    }

    fn on_datagram(&mut self, _: &mut Cx<'_>, datagram: Received<'_>) {
        if !self.is_source {
            let answer = Transmit { ecn: datagram.ecn, ..Transmit::to(datagram.from) };
            self.answers.push_back((datagram.bytes.to_vec(), answer));
        }
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.is_due = self.next.is_some_and(|next| next <= cx.now());
    }

    fn poll_transmit(&mut self, now: Instant, into: &mut Vec<u8>) -> Option<Transmit> {
        if let Some((bytes, transmit)) = self.answers.pop_front() {
            *into = bytes;
            return Some(transmit);
        }
        if !std::mem::take(&mut self.is_due) {
            return None;
        }
        self.count += 1;
        self.next = Some(now + Duration::from_nanos(900_017 + (self.count * 7_919 % 601_001) as i64));
        into.resize(100 + (self.count * 104_729 % 1_300) as usize, self.count as u8);
        self.peer.map(Transmit::to)
    }

    fn wake_at(&mut self) -> Option<Instant> {
        self.next
    }
}

/// A run of 6 s over the link, with `group` beside CUBIC.
fn net((queue, keys): (&str, &str), group: &str) -> Result<Net, Error> {
    let world = format!(
        "duration = \"6 s\"\n[link]\nrate = \"11.3 Mbit/s\"\ndelay = \"7 ms\"\n{queue}\n{keys}[[flows]]\n{group}\nrtt = \"33 ms\"\n\
         [[flows]]\nkind = \"tcp\"\nrtt = \"41 ms\"\nspread = \"1 s\"\n"
    );
    Ok(Net::parse(&world, SEED)?.without_log())
}

fn main() -> Result<(), Error> {
    for link in LINKS {
        for group in [
            "kind = \"tcp\"\nstack = \"quinn\"\ncc = \"cubic\"\nmss = \"1200 B\"",
            "kind = \"tcp\"\nstack = \"quinn\"\ncc = \"newreno\"\nmss = \"1200 B\"\ncount = 2",
            "kind = \"endpoint\"\nname = \"echo\"",
        ] {
            let mut net = net(*link, group)?;
            if group.contains("echo") {
                net.attach("echo", Chatter { is_source: true, ..Chatter::default() }, Chatter::default())?;
            }
            let report = net.run()?;
            println!(
                "{} {} {} | {}",
                report.datagrams(),
                report.decisions(),
                report.fingerprint(),
                group.replace('\n', " ")
            );
        }
    }
    Ok(())
}
