//! Decision logs: every datagram that the programs of a run sent, as text.
//!
//! The first line is `sojourn-decisions 1`, the second one JSON object with name, world, seed and hashes, and then a line
//! per datagram: time in ns, end, source and destination address, bytes, ECN field (`-`, `ect0`, `ect1`, `ce`) and
//! tag (`-` for none). [`replay`] sends a log open loop: the same packets meet the same queues without the programs.

use crate::error::Error;
use crate::net::{Datagram, End, Event, Net};
use crate::report::Report;
use sojourn_aqm::headers::{IpFields, UDP_BYTES, ip_bytes, write_udp};
use sojourn_aqm::{Ecn, Instant};
use sojourn_sim::scenario::{FlowSpec, Scenario, Traffic};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

/// First line of a log.
const MAGIC: &str = "sojourn-decisions 1";

/// Protocol number for experimentation (RFC 3692).
const EXPERIMENT: u8 = 253;

/// Words of ECN fields, by number.
const ECNS: [&str; 4] = ["-", "ect1", "ect0", "ce"];

/// A decision log.
#[derive(Clone, Debug)]
pub struct DecisionLog {
    /// Name of the run.
    pub name: String,
    /// The world.
    pub scenario: Scenario,
    /// Seed of the run.
    pub seed: u64,
    /// Fingerprint of the run; empty if the log does not have it.
    pub fingerprint: String,
    /// Datagrams in the order of their departures.
    pub datagrams: Vec<LoggedDatagram>,
}

/// A datagram of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedDatagram {
    /// When it left its host.
    pub at: Instant,
    /// Name of the end that sent it.
    pub end: String,
    /// Source address on the wire.
    pub from: SocketAddr,
    /// Destination.
    pub to: SocketAddr,
    /// Payload above UDP.
    pub bytes: u32,
    /// ECN field.
    pub ecn: Ecn,
    /// Tag; none for no tag.
    pub tag: Option<String>,
}

/// The log of a run as text.
pub(crate) fn write(report: &Report) -> String {
    let names: BTreeMap<_, _> = report.names.iter().map(|(id, name)| (*id, name.as_str())).collect();
    let head = serde_json::json!({
        "name": report.name,
        "world": report.world(),
        "seed": report.seed,
        "fingerprint": report.fingerprint(),
        "decisions": report.decisions(),
        "scenario": report.document(),
    });
    let mut out = format!("{MAGIC}\n{head}\n");
    for decision in &report.decisions {
        let end = names.get(&decision.end).copied().unwrap_or("-");
        let tag = tag_name(&report.scenario, end, decision.tag).unwrap_or("-");
        let (at, ecn) = (decision.at.as_nanos(), ECNS[decision.ecn as usize]);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{at} {end} {} {} {} {ecn} {tag}", decision.from, decision.to, decision.bytes);
    }
    out
}

/// Name of a tag of the group that an end belongs to.
fn tag_name<'a>(scenario: &'a Scenario, end: &str, tag: u8) -> Option<&'a str> {
    let index = usize::from(tag).checked_sub(1)?;
    let group = group_of(end);
    let of_group = |traffic: &'a Traffic| match traffic {
        Traffic::Endpoint(spec) if spec.name == group => spec.tags.as_deref(),
        _ => None,
    };
    let tags = scenario.flows.iter().find_map(|flow| of_group(&flow.traffic))?;
    tags.get(index).map(String::as_str)
}

impl DecisionLog {
    /// Reads a log.
    ///
    /// # Errors
    ///
    /// [`Error::File`], and [`Error::Log`] with the line that is wrong.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|source| Error::File { path: path.into(), source })?;
        Self::parse(&text, &path.display().to_string())
    }

    /// Reads a log from text; `place` names it in errors.
    ///
    /// # Errors
    ///
    /// [`Error::Log`] with the line that is wrong.
    pub fn parse(text: &str, place: &str) -> Result<Self, Error> {
        let wrong = |line: usize, problem: String| Error::Log {
            place: format!("{place}:{line}"),
            problem,
            remedy: "give a file that a net wrote, FILE.decisions",
        };
        let mut lines = text.lines();
        if lines.next() != Some(MAGIC) {
            return Err(wrong(1, format!("not the first line of a decision log, {MAGIC:?}")));
        }
        let head: serde_json::Value = serde_json::from_str(lines.next().unwrap_or_default())
            .map_err(|error| wrong(2, format!("not a JSON object: {error}")))?;
        let seed = head["seed"].as_u64().ok_or_else(|| wrong(2, "no seed".into()))?;
        if !head["scenario"].is_object() {
            return Err(wrong(2, "no scenario".into()));
        }
        let scenario = Scenario::parse(&head["scenario"].to_string(), &[], Path::new("."))?;
        let text = |key: &str| head[key].as_str().unwrap_or_default().to_string();
        let (name, fingerprint) = (text("name"), text("fingerprint"));
        let mut datagrams: Vec<LoggedDatagram> = Vec::new();
        for (number, line) in (3..).zip(lines) {
            let datagram = LoggedDatagram::parse(line).map_err(|problem| wrong(number, problem))?;
            if datagrams.last().is_some_and(|last| datagram.at < last.at) {
                return Err(wrong(number, format!("{} ns is before the line above", datagram.at.as_nanos())));
            }
            datagrams.push(datagram);
        }
        Ok(Self { name, scenario, seed, fingerprint, datagrams })
    }

    /// Sends the datagrams at their times, without the programs: the queues see the same packets. Returns the report,
    /// whose fingerprint is that of the run if its networks' competitors are the same.
    ///
    /// # Errors
    ///
    /// [`Error::Log`] for an end that the world does not have, and as [`Net::send`].
    pub fn replay(&self) -> Result<Report, Error> {
        let mut net = Net::of(self.scenario.clone(), self.seed).named(&self.name);
        let ends: BTreeMap<String, End> = net.ends().map(|end| (net.name_of(end), end)).collect();
        let mut pending: BTreeMap<End, VecDeque<&LoggedDatagram>> = BTreeMap::new();
        for (index, datagram) in self.datagrams.iter().enumerate() {
            let end = ends.get(&datagram.end).ok_or_else(|| Error::Log {
                place: format!("line {}", index + 3),
                problem: format!("the world has no end {:?}", datagram.end),
                remedy: "give a file that a net wrote, FILE.decisions",
            })?;
            pending.entry(*end).or_default().push_back(datagram);
        }
        for (end, datagrams) in &pending {
            net.wake(*end, datagrams.front().map(|datagram| datagram.at));
        }
        let zeros = vec![0; usize::from(u16::MAX)];
        let of_ip = groups_of_ip(&self.scenario);
        loop {
            let end = match net.next()? {
                Event::End => return net.finish(),
                Event::Wake(end) | Event::Room(end) => end,
                _ => continue,
            };
            let Some(datagrams) = pending.get_mut(&end) else { continue };
            let now = net.now();
            while let Some(next) = datagrams.front().filter(|next| next.at <= now) {
                let tag = next.tag.as_deref().map_or(Ok(0), |tag| net.tag(group_of(&next.end), tag))?;
                let bytes = zeros.get(..next.bytes as usize).unwrap_or(&zeros);
                // A NAT rewrites the source again; the local address is that of the end, with the port of the time.
                let packet = of_ip.contains(group_of(&next.end)).then(|| next.packet());
                let datagram = match &packet {
                    None => Datagram { ecn: next.ecn, tag, ..Datagram::to(next.to, bytes) },
                    Some(packet) => Datagram { tag, ..Datagram::packet(packet) },
                };
                match net.send(end, &datagram) {
                    Err(error) if error.would_block() => break,
                    sent => sent?,
                }
                datagrams.pop_front();
            }
            net.wake(end, datagrams.front().map(|datagram| datagram.at));
        }
    }
}

/// Names of the groups whose programs send IP packets.
fn groups_of_ip(scenario: &Scenario) -> BTreeSet<String> {
    let of = |flow: &FlowSpec| match &flow.traffic {
        Traffic::Endpoint(spec) if spec.is_ip() => Some(spec.name.clone()),
        _ => None,
    };
    scenario.flows.iter().filter_map(of).collect()
}

fn group_of(end: &str) -> &str {
    end.split('.').next().unwrap_or(end)
}

impl LoggedDatagram {
    /// An IP packet of the same size, addresses and ECN field: UDP if it has ports and room for them.
    fn packet(&self) -> Vec<u8> {
        let (source, destination) = (self.from.ip(), self.to.ip());
        let length = self.bytes.saturating_sub(ip_bytes(source) as u32);
        let fields =
            IpFields { source, destination, protocol: EXPERIMENT, class: self.ecn as u8, identification: 0, length };
        let mut packet = Vec::with_capacity(self.bytes as usize);
        match (length as usize).checked_sub(UDP_BYTES).filter(|_| self.from.port() != 0 || self.to.port() != 0) {
            Some(payload) => write_udp(&mut packet, fields, (self.from.port(), self.to.port()), &vec![0; payload]),
            None => {
                fields.write(&mut packet);
                packet.resize(self.bytes as usize, 0);
            }
        }
        packet
    }

    fn parse(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split(' ').collect();
        let [at, end, from, to, bytes, ecn, tag] = words.as_slice() else {
            return Err(format!("{} words; a datagram has 7", words.len()));
        };
        let whole = |word: &str| word.parse::<u64>().map_err(|_| format!("{word:?} is not a whole number"));
        let address = |word: &str| word.parse::<SocketAddr>().map_err(|_| format!("{word:?} is not an address"));
        let ecn = ECNS.iter().position(|word| word == ecn).ok_or_else(|| format!("{ecn:?} is not an ECN field"))?;
        let bytes = u32::try_from(whole(bytes)?).map_err(|_| format!("{bytes} B is no datagram"))?;
        if bytes > u32::from(u16::MAX) {
            return Err(format!("{bytes} B; a packet has at most {} B", u16::MAX));
        }
        Ok(Self {
            at: Instant::from_nanos(whole(at)?),
            end: (*end).to_string(),
            from: address(from)?,
            to: address(to)?,
            bytes,
            ecn: Ecn::ALL[ecn],
            tag: (*tag != "-").then(|| (*tag).to_string()),
        })
    }
}
