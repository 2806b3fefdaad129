//! quinn without cryptography, for counting instructions: `cost_quinn within|called|pulled SECONDS`, as in `cost`; and
//! `cost_quinn gate`, the runs of a gate of three worlds with 20 seeds of 20 s each. Needs the feature `quinn`.

use sojourn_net::{Cx, Datagram, End, Endpoint, Error, Event, Net, Received, Report, Transmit};
use sojourn_sim::quinn_programs;
use sojourn_sim::scenario::Scenario;
use std::path::Path;

const WITHIN: &str = "kind = \"tcp\"\nstack = \"quinn\"\ncc = \"cubic\"\nmss = \"1200 B\"";
const OUTSIDE: &str = "kind = \"endpoint\"\nname = \"quic\"\nmtu = \"65535 B\"";

/// A world of one flow behind a link of 20 Mbit/s.
fn world(seconds: u64, aqm: &str, group: &str) -> String {
    format!(
        "duration = \"{seconds} s\"\nwarmup = \"1 s\"\n[link]\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\naqm = \"{aqm}\"\n\
         [[flows]]\n{group}\n"
    )
}

/// quinn's programs outside the run, which calls them.
fn called(seconds: u64, aqm: &str, seed: u64) -> Result<Report, Box<dyn std::error::Error>> {
    let within = Scenario::parse(&world(seconds, aqm, WITHIN), &[], Path::new("."))?;
    let mut net = Net::parse(&world(seconds, aqm, OUTSIDE), seed)?.without_log();
    net.attach_each("quic", |member| quinn_programs(&within, seed, (0, member)).expect("the group is quinn's"))?;
    Ok(net.run()?)
}

/// The same programs, fed with the events that the caller takes.
fn pulled(seconds: u64, aqm: &str, seed: u64) -> Result<Report, Box<dyn std::error::Error>> {
    let within = Scenario::parse(&world(seconds, aqm, WITHIN), &[], Path::new("."))?;
    let mut net = Net::parse(&world(seconds, aqm, OUTSIDE), seed)?.without_log();
    let [source, sink] = quinn_programs(&within, seed, (0, 0)).expect("the group is quinn's");
    let (first, second) = net.pair("quic")?;
    let [near, far] = [net.address(first), net.address(second)];
    let mut ends = [(source, [near, far]), (sink, [far, near])];
    let (mut buffer, mut effects) = (Vec::new(), Vec::new());
    loop {
        let end = match net.next()? {
            Event::Datagram { to, at, from, local, ecn, tag, bytes } => {
                let (program, addresses) = &mut ends[usize::from(to == second)];
                let received = Received { bytes, from, local, ecn, tag };
                program.on_datagram(&mut Cx::new(at, *addresses, &mut effects), received);
                to
            }
            Event::Begin(end) => {
                let (program, addresses) = &mut ends[usize::from(end == second)];
                program.begin(&mut Cx::new(net.now(), *addresses, &mut effects));
                end
            }
            Event::Wake(end) => {
                let (program, addresses) = &mut ends[usize::from(end == second)];
                program.on_wake(&mut Cx::new(net.now(), *addresses, &mut effects));
                end
            }
            Event::End => return Ok(net.finish()?),
            _ => continue,
        };
        let (program, _) = &mut ends[usize::from(end == second)];
        answer(&mut net, end, &mut **program, &mut buffer)?;
    }
}

/// Sends all that a program has, and sets its deadline.
fn answer(net: &mut Net, end: End, program: &mut dyn Endpoint, buffer: &mut Vec<u8>) -> Result<(), Error> {
    loop {
        buffer.clear();
        let Some(transmit) = program.poll_transmit(net.now(), buffer) else { break };
        let Transmit { remote, local, ecn, segment_size, at, tag } = transmit;
        net.send(end, &Datagram { bytes: buffer, remote, local, ecn, segment_size, at, tag })?;
    }
    net.wake(end, program.wake_at());
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mode = arguments.next().unwrap_or_else(|| "called".into());
    let seconds: u64 = arguments.next().map_or(Ok(8), |text| text.parse())?;
    if mode == "gate" {
        for aqm in ["droptail", "codel", "fq_codel"] {
            let mut sent = 0;
            for seed in 1..=20 {
                sent += called(20, aqm, seed)?.datagrams();
            }
            println!("{aqm}: {sent} datagrams");
        }
        return Ok(());
    }
    let report = match mode.as_str() {
        "within" => Net::parse(&world(seconds, "codel", WITHIN), 1)?.without_log().run()?,
        "pulled" => pulled(seconds, "codel", 1)?,
        _ => called(seconds, "codel", 1)?,
    };
    println!("{} {} {}", report.datagrams(), report.decisions(), report.fingerprint());
    Ok(())
}
