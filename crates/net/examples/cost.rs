//! Datagrams at a constant rate, for counting instructions: `cost cbr|pull|callback|echo SECONDS`. The difference of two
//! lengths under `valgrind --tool=callgrind`, divided by that of the datagrams printed, is the cost of one.

use sojourn_net::{Cx, Datagram, Duration, Endpoint, Event, Instant, Net, Received, Transmit};
use std::net::SocketAddr;

const GAP: Duration = Duration::from_micros(500);
const SIZE: usize = 1_200;

struct Sender {
    peer: Option<SocketAddr>,
    next: Instant,
    is_due: bool,
}

struct Receiver;

impl Endpoint for Sender {
    fn begin(&mut self, cx: &mut Cx<'_>) {
        self.peer = Some(cx.peer());
        self.on_wake(cx);
    }

    fn on_datagram(&mut self, _: &mut Cx<'_>, _: Received<'_>) {}

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.is_due = self.next <= cx.now();
    }

    fn poll_transmit(&mut self, _: Instant, into: &mut Vec<u8>) -> Option<Transmit> {
        if !std::mem::take(&mut self.is_due) {
            return None;
        }
        self.next += GAP;
        into.resize(SIZE, 0);
        self.peer.map(Transmit::to)
    }

    fn wake_at(&mut self) -> Option<Instant> {
        Some(self.next)
    }
}

impl Endpoint for Receiver {
    fn on_datagram(&mut self, _: &mut Cx<'_>, _: Received<'_>) {}

    fn on_wake(&mut self, _: &mut Cx<'_>) {}

    fn poll_transmit(&mut self, _: Instant, _: &mut Vec<u8>) -> Option<Transmit> {
        None
    }

    fn wake_at(&mut self) -> Option<Instant> {
        None
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mode = arguments.next().unwrap_or_else(|| "pull".into());
    let seconds: u64 = arguments.next().map_or(Ok(8), |text| text.parse())?;
    let group = match mode.as_str() {
        "cbr" => "kind = \"cbr\"\nrate = \"19.648 Mbit/s\"\nsize = \"1228 B\"",
        _ => "kind = \"endpoint\"\nname = \"call\"",
    };
    let world = format!(
        "duration = \"{seconds} s\"\nwarmup = \"1 s\"\n[link]\nrate = \"25 Mbit/s\"\ndelay = \"10 ms\"\naqm = \"codel\"\n\
         [[flows]]\n{group}\n"
    );
    let mut net = Net::parse(&world, 1)?.without_log();
    let report = match mode.as_str() {
        "cbr" => net.run()?,
        "callback" => {
            net.attach("call", Sender { peer: None, next: Instant::ZERO, is_due: false }, Receiver)?;
            net.run()?
        }
        _ => {
            let (source, sink) = net.pair("call")?;
            let remote = net.address(sink);
            let bytes = vec![0; SIZE];
            net.wake(source, Some(Instant::ZERO));
            let mut next = Instant::ZERO;
            loop {
                match net.next()? {
                    Event::Wake(end) if end == source => {
                        net.send(source, &Datagram::to(remote, &bytes))?;
                        next += GAP;
                        net.wake(source, Some(next));
                    }
                    Event::Datagram { to, from, bytes, .. } if mode == "echo" && to == sink => {
                        let copy = bytes.to_vec();
                        net.send(sink, &Datagram::to(from, &copy))?;
                    }
                    Event::End => break,
                    _ => {}
                }
            }
            net.finish()?
        }
    };
    println!("{} {}", report.summary().groups[0].sent, report.fingerprint());
    Ok(())
}
