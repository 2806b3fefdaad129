//! A world with open ends: the run of a scenario whose endpoints are the caller's programs.

use crate::error::Error;
use crate::files::UnfinishedFile;
use crate::report::Report;
use sojourn_aqm::{Ecn, Instant};
use sojourn_sim::Simulation;
use sojourn_sim::endpoint::{EndEvent, EndId, Endpoint, OtherEvent, Side, Standing, Transmit};
use sojourn_sim::scenario::{EndpointSpec, Scenario, Traffic};
use std::borrow::Cow;
use std::net::SocketAddr;
use std::path::Path;

/// Name of the test that runs in this thread; `net` outside of tests.
fn test_name() -> String {
    let thread = std::thread::current();
    thread.name().filter(|name| *name != "main").map_or_else(|| "net".to_string(), |name| name.replace("::", "-"))
}

/// One end of an endpoint flow of a net.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    pub(crate) id: EndId,
    /// Index of its group in the scenario, and its number there.
    group: u32,
    member: u32,
}

impl End {
    /// Whether it is the source or the sink of its flow.
    pub fn side(self) -> Side {
        self.id.side
    }

    /// Index of its group among the scenario's flows.
    pub fn group(self) -> u32 {
        self.group
    }

    /// Its number within its group.
    pub fn member(self) -> u32 {
        self.member
    }
}

/// A datagram to send, or several of one size.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Payload above UDP; a whole IP packet if the group has `layer = "ip"`.
    pub bytes: &'a [u8],
    /// Destination.
    pub remote: SocketAddr,
    /// Local address; by default that of the end.
    pub local: Option<SocketAddr>,
    /// ECN field.
    pub ecn: Ecn,
    /// Bytes of each datagram but the last, if `bytes` are several (GSO); at most 64.
    pub segment_size: Option<usize>,
    /// Earliest departure (`SO_TXTIME`); by default now.
    pub at: Option<Instant>,
    /// Tag, from [`Net::tag`]; 0 for none.
    pub tag: u8,
}

impl<'a> Datagram<'a> {
    /// One datagram to `remote`, not ECN-capable, now.
    pub fn to(remote: SocketAddr, bytes: &'a [u8]) -> Self {
        Self { bytes, remote, local: None, ecn: Ecn::NotEct, segment_size: None, at: None, tag: 0 }
    }

    /// One IP packet of an end whose group has `layer = "ip"`, now; addresses and the ECN field are those of its header.
    pub fn packet(bytes: &'a [u8]) -> Self {
        Self::to(Transmit::packet().remote, bytes)
    }
}

/// Next event of an end.
#[derive(Debug)]
pub enum Event<'n> {
    /// The flow of an end starts.
    Begin(End),
    /// The deadline of an end has passed, and is cleared. A deadline that was moved later may still wake the end at its
    /// former time; then it remains.
    Wake(End),
    /// The host of an end accepts datagrams again.
    Room(End),
    /// The group's `stop`: the application of an end has no more data.
    Stop(End),
    /// A datagram arrives.
    Datagram {
        /// The end that it reaches.
        to: End,
        /// Time of its arrival: [`Net::now`], which the bytes borrow.
        at: Instant,
        /// Source address on the wire, behind any NAT.
        from: SocketAddr,
        /// The local address that it was sent to.
        local: SocketAddr,
        /// ECN field as received.
        ecn: Ecn,
        /// Tag that its sender gave it; 0 for none.
        tag: u8,
        /// Payload.
        bytes: &'n [u8],
    },
    /// A packet that an end sent was too big for the path.
    TooBig {
        /// The end that sent it.
        to: End,
        /// IP bytes of the largest packet that passes.
        mtu: u32,
        /// Destination of the packet.
        remote: SocketAddr,
    },
    /// The run has ended, or, after [`Net::advance`], nothing more happens until the time given.
    End,
}

/// A run of a scenario with open ends.
///
/// The program of an end is [attached](Net::attach) and called, or its events are taken with [`Net::next`], or another
/// clock leads and the net follows it ([`Net::advance`]). All give the same run.
pub struct Net {
    simulation: Simulation,
    scenario: Scenario,
    name: String,
    seed: u64,
    /// The real time that represents the start of the run; only differences to it matter.
    base: std::time::Instant,
    /// Bytes of the event taken last, if they are damaged.
    bytes: Vec<u8>,
    /// Whether each datagram sent is recorded.
    has_log: bool,
    /// File of the capture, if one is written.
    capture: Option<UnfinishedFile>,
    #[cfg(feature = "process")]
    clock: crate::process::ProcessClock,
}

impl Net {
    /// The world of a scenario text, TOML or JSON, with `seed`. Relative paths of files start from the working folder.
    ///
    /// # Errors
    ///
    /// [`Error::World`] with the place and the remedy.
    pub fn parse(text: &str, seed: u64) -> Result<Self, Error> {
        Ok(Self::of(Scenario::parse(text, &[], Path::new("."))?, seed))
    }

    /// The world of a scenario file with `seed`.
    ///
    /// # Errors
    ///
    /// [`Error::File`] and [`Error::World`].
    pub fn load(path: impl AsRef<Path>, seed: u64) -> Result<Self, Error> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|source| Error::File { path: path.into(), source })?;
        let base = path.parent().unwrap_or(Path::new("."));
        let net = Self::of(Scenario::parse(&text, &[], base)?, seed);
        let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        Ok(net.named(&stem))
    }

    /// The world of a scenario.
    #[expect(clippy::disallowed_methods, reason = "epoch of a clock of which only differences are used")]
    pub fn of(scenario: Scenario, seed: u64) -> Self {
        let mut simulation = Simulation::new(&scenario, seed);
        simulation.record_decisions();
        let name = if scenario.name.is_empty() { test_name() } else { scenario.name.clone() };
        let (base, bytes) = (std::time::Instant::now(), Vec::new());
        Self {
            simulation,
            scenario,
            name,
            seed,
            base,
            bytes,
            has_log: true,
            capture: None,
            #[cfg(feature = "process")]
            clock: Default::default(),
        }
    }

    /// The same with a name for records and messages; by default that of the file, of the scenario, or of the test.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.to_string();
        self
    }

    /// Forgets the datagrams sent instead of keeping each for the decision log; their hash remains.
    #[must_use]
    pub fn without_log(mut self) -> Self {
        self.simulation.forget_decisions();
        self.has_log = false;
        self
    }

    /// Captures the run in the pcapng file `path`, which is complete with the report; it is asked for first, before
    /// programs are attached. The run is the same, and slower.
    ///
    /// Each queue is an interface, `link forward` for example. A packet enters it when it is offered to the queue
    /// and leaves it at the start of its transmission, with the sojourn time, and a mark, as its comment; a dropped one
    /// is repeated at that instant without a direction: `sojourn 7.250000 ms, dropped: late`. Datagrams of endpoints
    /// are whole, with their own bytes, the ECN field at that point and valid checksums. Packets of other traffic are
    /// truncated after eight bytes of their transport header. The file has one section and several interfaces of raw
    /// IP, which Wireshark and tshark read.
    ///
    /// # Errors
    ///
    /// [`Error::File`] if the file cannot be created.
    pub fn with_capture(mut self, path: impl AsRef<Path>) -> Result<Self, Error> {
        let unfinished = UnfinishedFile::create(path.as_ref())?;
        let output = unfinished.writer()?;
        self.simulation = Simulation::with_capture(&self.scenario, self.seed, output);
        if self.has_log {
            self.simulation.record_decisions();
        }
        self.capture = Some(unfinished);
        Ok(self)
    }

    /// Source and sink of an endpoint group, its first pair if it has several.
    ///
    /// # Errors
    ///
    /// [`Error::Group`] for a name that no endpoint of the world has.
    pub fn pair(&self, name: &str) -> Result<(End, End), Error> {
        self.pair_at(name, 0)
    }

    /// Pair number `member` of an endpoint group.
    ///
    /// # Errors
    ///
    /// [`Error::Group`] and [`Error::Member`].
    pub fn pair_at(&self, name: &str, member: u32) -> Result<(End, End), Error> {
        let (group, _) = self.group(name)?;
        let count = self.scenario.flows[group as usize].count;
        let [source, sink] = self.simulation.ends(group, member).ok_or_else(|| Error::Member {
            name: name.to_string(),
            count,
            index: member,
        })?;
        Ok((End { id: source, group, member }, End { id: sink, group, member }))
    }

    fn group(&self, name: &str) -> Result<(u32, &EndpointSpec), Error> {
        let mut groups = (0..).zip(&self.scenario.flows).filter_map(|(number, flow)| match &flow.traffic {
            Traffic::Endpoint(spec) => Some((number, spec)),
            _ => None,
        });
        groups.clone().find(|(_, spec)| spec.name == name).ok_or_else(|| {
            let known: Vec<&str> = groups.by_ref().map(|(_, spec)| spec.name.as_str()).collect();
            let known = match known.as_slice() {
                [] => "add [[flows]] with kind = \"endpoint\"".to_string(),
                known => format!("choose from {}", known.join(", ")),
            };
            Error::Group { name: name.to_string(), known }
        })
    }

    /// Name of an end: `call.source`, or `call.3.source` in a group of several pairs.
    pub fn name_of(&self, end: End) -> String {
        let flow = &self.scenario.flows[end.group as usize];
        let name = match &flow.traffic {
            Traffic::Endpoint(spec) => spec.name.as_str(),
            _ => "flow",
        };
        match flow.count {
            1 => format!("{name}.{}", end.side().name()),
            _ => format!("{name}.{}.{}", end.member, end.side().name()),
        }
    }

    /// Number of a group's tag, for [`Datagram::tag`].
    ///
    /// # Errors
    ///
    /// [`Error::Group`] and [`Error::Tag`].
    pub fn tag(&self, group: &str, tag: &str) -> Result<u8, Error> {
        let (_, spec) = self.group(group)?;
        spec.tag(tag).ok_or_else(|| Error::Tag { group: group.to_string(), tag: tag.to_string() })
    }

    /// Address of an end.
    pub fn address(&self, end: End) -> SocketAddr {
        self.simulation.address(end.id)
    }

    /// Time of the net.
    pub fn now(&self) -> Instant {
        self.simulation.now()
    }

    /// A time of the net as the standard library's type, for programs that want it; only differences are defined.
    pub fn std(&self, at: Instant) -> std::time::Instant {
        self.base + std::time::Duration::from_nanos(at.as_nanos())
    }

    /// The time of the net that [`Net::std`] gives `at` for; the start of the run for earlier ones.
    pub fn from_std(&self, at: std::time::Instant) -> Instant {
        Instant::from_nanos(at.saturating_duration_since(self.base).as_nanos().min(u128::from(u64::MAX) - 1) as u64)
    }

    /// Sends a datagram, or several of one size; they leave at this instant, in the order of the calls.
    ///
    /// # Errors
    ///
    /// [`Error::Send`]; [`Error::would_block`] if the host has no room now.
    pub fn send(&mut self, end: End, datagram: &Datagram<'_>) -> Result<(), Error> {
        let &Datagram { bytes, remote, local, ecn, segment_size, at, tag } = datagram;
        let transmit = Transmit { remote, local, ecn, segment_size, at, tag };
        self.simulation.send(end.id, &transmit, bytes).map_err(|source| Error::Send { end: self.name_of(end), source })
    }

    /// Whether the host of an end accepts a datagram now; if not, [`Event::Room`] follows when it does.
    pub fn has_room(&mut self, end: End) -> bool {
        self.simulation.has_room(end.id)
    }

    /// Sets the one deadline of an end; `None` for never, a time in the past for now.
    pub fn wake(&mut self, end: End, at: Option<Instant>) {
        self.simulation.set_wake(end.id, at);
    }

    /// Sets the state of an end for tables and summaries.
    pub fn set_standing(&mut self, end: End, standing: Standing) {
        self.simulation.set_standing(end.id, standing);
    }

    /// Adds a value to the statistics of an end's `name`: `note(call.source.cwnd)` in sentences.
    pub fn note(&mut self, end: End, name: &str, value: f64) {
        self.simulation.note(end.id, name, value);
    }

    /// Counts a transfer of an end's group that began at `begun` and whose last byte has arrived:
    /// `p95(completion, call)` in sentences.
    pub fn completed(&mut self, end: End, begun: Instant, bytes: u64) {
        self.simulation.completed(end.id, begun, bytes);
    }

    /// Moves the clock to the next event of an end and returns it; [`Event::End`] at the end of the run.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] if a program is woken again and again at one instant, or sends what no host can.
    #[expect(clippy::should_implement_trait, reason = "an event borrows from the net")]
    pub fn next(&mut self) -> Result<Event<'_>, Error> {
        self.take(Instant::NEVER)
    }

    /// The next event up to and including `now`, for a leader with another clock; [`Event::End`] once the net's clock is
    /// there. The leader advances before it sends, and asks for [`Net::due`] after it has.
    ///
    /// # Errors
    ///
    /// [`Error::Past`] if `now` is before the net's time, and as [`Net::next`].
    pub fn advance(&mut self, now: Instant) -> Result<Event<'_>, Error> {
        if now < self.now() {
            return Err(Error::Past { at: now.as_nanos(), now: self.now().as_nanos() });
        }
        self.take(now)
    }

    /// When the next event of the run is due, of an end or not; `None` once the run has ended.
    pub fn due(&self) -> Option<Instant> {
        self.simulation.due()
    }

    fn take(&mut self, until: Instant) -> Result<Event<'_>, Error> {
        let event = self.simulation.next_event(until);
        #[cfg(feature = "process")]
        self.clock.set(self.simulation.now());
        let Some((id, event)) = event else {
            return match self.simulation.fault() {
                Some((id, fault)) => {
                    let (group, member) = self.simulation.member(id);
                    Err(Error::Fault(format!("{}: {fault}", self.name_of(End { id, group, member }))))
                }
                None => Ok(Event::End),
            };
        };
        let (group, member) = self.simulation.member(id);
        let end = End { id, group, member };
        Ok(match event {
            EndEvent::Begin => Event::Begin(end),
            EndEvent::Wake => Event::Wake(end),
            EndEvent::Other(OtherEvent::Room) => Event::Room(end),
            EndEvent::Other(OtherEvent::Stop) => Event::Stop(end),
            EndEvent::Other(OtherEvent::TooBig { mtu, remote }) => Event::TooBig { to: end, mtu, remote },
            EndEvent::Datagram { from, local, ecn, tag } => {
                let at = self.simulation.now();
                let bytes = match self.simulation.received_bytes() {
                    Cow::Borrowed(bytes) => bytes,
                    Cow::Owned(damaged) => {
                        self.bytes = damaged;
                        &self.bytes
                    }
                };
                Event::Datagram { to: end, at, from, local, ecn, tag, bytes }
            }
        })
    }

    /// Attaches programs to the first pair of a group: the run calls them.
    ///
    /// # Errors
    ///
    /// [`Error::Group`].
    pub fn attach(
        &mut self,
        name: &str,
        source: impl Endpoint + 'static,
        sink: impl Endpoint + 'static,
    ) -> Result<(), Error> {
        let (source_end, sink_end) = self.pair(name)?;
        self.attach_pair([source_end, sink_end], [Box::new(source), Box::new(sink)]);
        Ok(())
    }

    /// Attaches programs to every pair of a group; `create` is called with the number of the pair.
    ///
    /// # Errors
    ///
    /// [`Error::Group`].
    pub fn attach_each(
        &mut self,
        name: &str,
        mut create: impl FnMut(u32) -> [Box<dyn Endpoint>; 2],
    ) -> Result<(), Error> {
        let (group, _) = self.group(name)?;
        for member in 0..self.scenario.flows[group as usize].count {
            let (source, sink) = self.pair_at(name, member)?;
            self.attach_pair([source, sink], create(member));
        }
        Ok(())
    }

    fn attach_pair(&mut self, ends: [End; 2], programs: [Box<dyn Endpoint>; 2]) {
        #[cfg(feature = "process")]
        let programs = programs.map(|program| -> Box<dyn Endpoint> {
            Box::new(crate::process::Clocked { clock: self.clock.clone(), program })
        });
        self.simulation.attach(ends.map(|end| end.id), programs);
    }

    /// The clock of this thread follows the net from now on.
    #[cfg(feature = "process")]
    pub(crate) fn drive_process_clock(&mut self) {
        self.base = self.clock.drive(self.now());
    }

    /// Runs to the end; programs of ends are attached, and events of the others are discarded.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`], and [`Error::File`] if a record was asked for and cannot be written.
    pub fn run(mut self) -> Result<Report, Error> {
        while !matches!(self.next()?, Event::End) {}
        self.finish()
    }

    /// Ends the run here if it has not ended, without waiting for programs, and returns its results.
    ///
    /// # Errors
    ///
    /// [`Error::File`] if a capture, or a record that `SOJOURN_NET_OUT` asks for, cannot be written.
    pub fn finish(self) -> Result<Report, Error> {
        let names: Vec<(EndId, String)> = self.ends().map(|end| (end.id, self.name_of(end))).collect();
        let Self { mut simulation, scenario, name, seed, capture, .. } = self;
        let (hash, count) = simulation.decisions_hash();
        let decisions = simulation.take_decisions();
        if let Some(capture) = capture {
            capture.complete(simulation.end_capture())?;
        }
        let output = simulation.finish();
        let report = Report { name, seed, scenario, output, decisions, hash, count, names };
        report.write_if_wanted()?;
        Ok(report)
    }

    /// Payloads that packets in flight carry, or events that have not been taken.
    pub fn payloads_in_flight(&self) -> usize {
        self.simulation.payloads_in_flight()
    }

    /// Every end of the world.
    pub fn ends(&self) -> impl Iterator<Item = End> + '_ {
        let groups = (0..).zip(&self.scenario.flows);
        let pairs = groups.flat_map(|(group, flow)| (0..flow.count).map(move |member| (group, member)));
        pairs
            .filter_map(|(group, member)| Some((self.simulation.ends(group, member)?, group, member)))
            .flat_map(|(ids, group, member)| ids.map(|id| End { id, group, member }))
    }

    /// Seed of the run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The world.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }
}
