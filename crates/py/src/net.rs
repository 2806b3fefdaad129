//! A network between programs in Python: events of its ends out, datagrams and deadlines in.

use crate::classes::{ClassFinder, check_fault, foreign};
use crate::controls::{UserFiles, check_control_faults};
use crate::error::{UnsignedInt, check, input};
use crate::net_report::PyReport;
use pyo3::exceptions::{PyBlockingIOError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};
use sojourn_aqm::registry::AnyConfig;
use sojourn_net::{Datagram, Duration, Ecn, End, Error, Event, Instant, Net, Transmit};
use sojourn_sim::scenario::{Scenario, Traffic};
use sojourn_tcp::cc::foreign::ControlDefinition;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

/// One end of an endpoint flow.
#[pyclass(frozen, name = "End", module = "sojourn._core")]
pub struct PyEnd {
    end: End,
    /// Name, as in sentences: "call.source".
    #[pyo3(get)]
    name: Py<PyString>,
    /// Address as asyncio has it: host and port, and with IPv6 flow label and scope.
    #[pyo3(get)]
    address: Py<PyTuple>,
    text: String,
}

#[pymethods]
impl PyEnd {
    fn __repr__(&self) -> String {
        format!("<End {}>", self.text)
    }
}

/// An event of an end: "begin", "wake", "room", "stop", "datagram" or "too_big".
#[pyclass(frozen, name = "Event", module = "sojourn._core")]
pub struct PyEvent {
    /// Kind.
    #[pyo3(get)]
    kind: Py<PyString>,
    /// The end.
    #[pyo3(get)]
    end: Py<PyEnd>,
    /// Payload of a datagram, else None.
    #[pyo3(get)]
    data: Option<Py<PyBytes>>,
    /// Source address of a datagram on the wire; destination of a packet that was too big; else None.
    #[pyo3(get)]
    remote: Option<Py<PyTuple>>,
    /// The address that a datagram was sent to, else None.
    #[pyo3(get)]
    local: Option<Py<PyTuple>>,
    /// ECN field of a datagram, else None.
    #[pyo3(get)]
    ecn: Option<Py<PyString>>,
    /// Tag of a datagram, or None.
    #[pyo3(get)]
    tag: Option<Py<PyString>>,
    /// IP bytes of the largest packet that passes, if one was too big; else None.
    #[pyo3(get)]
    mtu: Option<u32>,
}

#[pymethods]
impl PyEvent {
    fn __repr__(&self, py: Python<'_>) -> String {
        let end = &self.end.get().text;
        let size = self.data.as_ref().map_or_else(String::new, |data| format!(" {} B", data.as_bytes(py).len()));
        format!("<Event {} {end}{size}>", self.kind)
    }
}

/// A network whose ends are programs: a scenario with flows of `kind = "endpoint"`, as text in TOML or JSON.
///
/// Relative paths of its files start from the folder `base`. Times are integer nanoseconds of the run. With `log` every
/// datagram is kept for the decision log, about 100 bytes each. Raises `InputError`.
#[pyclass(subclass, name = "Net", module = "sojourn._core")]
pub struct PyNet {
    /// Never locked: every access is exclusive (`get_mut`), and the mutex only makes the type `Sync` for PyO3. None once
    /// the run is finished.
    net: Mutex<Option<Net>>,
    /// The ends, in the order of the file.
    ends: Vec<Py<PyEnd>>,
    /// By end: the names of its group's tags.
    tags: Vec<Vec<Py<PyString>>>,
    addresses: Addresses,
    words: Words,
    users: Users,
}

/// Code of users that a run may call, and that may fail.
struct Users {
    managers: Vec<AnyConfig>,
    controls: Vec<Arc<dyn ControlDefinition>>,
}

/// Words of events and of ECN fields, by number.
struct Words {
    kinds: [Py<PyString>; 6],
    ecns: [Py<PyString>; 4],
}

/// Addresses of Python that were used last. Tuples are immutable, so that one object is one address.
#[derive(Default)]
struct Addresses {
    /// Each with whether its tuple was made here: those of callers may have another form.
    known: Vec<(Py<PyTuple>, SocketAddr, bool)>,
    /// Position that is replaced next.
    next: usize,
}

#[pymethods]
impl PyNet {
    #[new]
    #[pyo3(
        signature = (text, seed = UnsignedInt::of(1), base = ".", name = None, log = true),
        text_signature = "(text, seed=1, base='.', name=None, log=True)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(py: Python<'_>, text: &str, seed: UnsignedInt, base: &str, name: Option<&str>, log: bool) -> PyResult<Self> {
        let files = UserFiles::new(base, false);
        let classes = ClassFinder::of(base);
        let scenario = check(py, py.detach(|| Scenario::parse_among(text, &[], &files, &classes)))?;
        if !scenario.flows.iter().any(|flow| matches!(flow.traffic, Traffic::Endpoint(_))) {
            return Err(input("flows: no endpoint among them; add [[flows]] with kind = \"endpoint\" and a name"));
        }
        let configs = scenario.hops().flat_map(|(_, link, reverse)| link.configs().chain(reverse.configs()));
        let users = Users { managers: foreign(configs), controls: scenario.user_controls().cloned().collect() };
        let mut net = Net::of(scenario, seed.get("seed")?);
        if let Some(name) = name.or_else(|| net.scenario().name.is_empty().then_some("net")) {
            net = net.named(name);
        }
        if !log {
            net = net.without_log();
        }
        users.check(py)?;
        let mut addresses = Addresses::default();
        let of_group = |net: &Net, group: &str| -> Vec<Py<PyString>> {
            let specs = net.scenario().flows.iter().filter_map(|flow| match &flow.traffic {
                Traffic::Endpoint(spec) if spec.name == group => spec.tags.as_deref(),
                _ => None,
            });
            specs.flatten().map(|tag| PyString::new(py, tag).unbind()).collect()
        };
        let mut ends: Vec<(End, Py<PyEnd>, Vec<Py<PyString>>)> = Vec::new();
        for end in net.ends() {
            let text = net.name_of(end);
            let tags = of_group(&net, text.split('.').next().unwrap_or_default());
            let address = addresses.tuple(py, net.address(end))?;
            let name = PyString::new(py, &text).unbind();
            ends.push((end, Py::new(py, PyEnd { end, name, address, text })?, tags));
        }
        ends.sort_by_key(|(end, ..)| *end);
        let (ends, tags) = ends.into_iter().map(|(_, end, tags)| (end, tags)).unzip();
        Ok(Self { net: Mutex::new(Some(net)), ends, tags, addresses, words: Words::new(py), users })
    }

    /// Every end.
    #[getter]
    fn ends(&self, py: Python<'_>) -> Vec<Py<PyEnd>> {
        self.ends.iter().map(|end| end.clone_ref(py)).collect()
    }

    /// Source and sink of an endpoint group; of pair number `member` if it has several.
    #[pyo3(
        signature = (name, member = UnsignedInt::of(0)),
        text_signature = "($self, name, member=0)"
    )]
    fn pair(&mut self, py: Python<'_>, name: &str, member: UnsignedInt) -> PyResult<(Py<PyEnd>, Py<PyEnd>)> {
        let (source, sink) = self.net()?.pair_at(name, member.get("member")?).map_err(raised)?;
        Ok((self.object(source)?.clone_ref(py), self.object(sink)?.clone_ref(py)))
    }

    /// Address of an end.
    fn address(&self, py: Python<'_>, end: EndArgument<'_>) -> PyResult<Py<PyTuple>> {
        Ok(self.find(end)?.get().address.clone_ref(py))
    }

    /// Sends a datagram from an end to `to`, or several of `segment_size` bytes each; they leave now, in the order of the
    /// calls, or at the time `at`.
    ///
    /// `ecn` is "not-ect", "ect0", "ect1" or "ce"; `tag` one of the group's. Raises `BlockingIOError` if the host has no
    /// room now: the event "room" follows. In a group with `layer = "ip"`, `data` is an IP packet, whose header has the
    /// addresses and the ECN field.
    #[pyo3(signature = (end, data, to = None, *, local = None, ecn = "not-ect", segment_size = None, at = None, tag = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn send(
        &mut self,
        py: Python<'_>,
        end: EndArgument<'_>,
        data: &Bound<'_, PyAny>,
        to: Option<&Bound<'_, PyAny>>,
        local: Option<&Bound<'_, PyAny>>,
        ecn: &str,
        segment_size: Option<UnsignedInt>,
        at: Option<UnsignedInt>,
        tag: Option<&str>,
    ) -> PyResult<()> {
        let copied;
        let data = match data.cast::<PyBytes>() {
            Ok(data) => data,
            Err(_) => {
                copied = py.import("builtins")?.call_method1("memoryview", (data,))?.call_method0("tobytes")?;
                copied.cast::<PyBytes>()?
            }
        };
        let end = self.find(end)?.get();
        let from = end.end;
        let tag = match tag {
            None => 0,
            Some(tag) => {
                let group = end.text.split('.').next().unwrap_or_default().to_string();
                self.net()?.tag(&group, tag).map_err(raised)?
            }
        };
        let datagram = Datagram {
            bytes: data.as_bytes(),
            remote: match to {
                None => Transmit::packet().remote,
                Some(to) => self.addresses.read(to, "to")?,
            },
            local: local.map(|local| self.addresses.read(local, "local")).transpose()?,
            ecn: read_ecn(ecn)?,
            segment_size: segment_size.map(|size| size.get("segment_size")).transpose()?,
            at: at.map(|at| at.get("at")).transpose()?.map(Instant::from_nanos),
            tag,
        };
        self.net()?.send(from, &datagram).map_err(raised)
    }

    /// Whether the host of an end accepts a datagram now.
    fn has_room(&mut self, end: EndArgument<'_>) -> PyResult<bool> {
        let end = self.find(end)?.get().end;
        Ok(self.net()?.has_room(end))
    }

    /// Sets the one deadline of an end: the event "wake" comes at `at`, or at once if that has passed; None for never.
    fn wake(&mut self, end: EndArgument<'_>, at: Option<UnsignedInt>) -> PyResult<()> {
        let end = self.find(end)?.get().end;
        let at = at.map(|at| at.get("at")).transpose()?.map(Instant::from_nanos);
        self.net()?.wake(end, at);
        Ok(())
    }

    /// Moves the clock to the next event of an end and returns it; None at the end of the run.
    fn next(&mut self, py: Python<'_>) -> PyResult<Option<PyEvent>> {
        self.take(py, Instant::NEVER)
    }

    /// Moves the clock to the next event and returns all events of that instant; empty at the end of the run.
    fn next_batch(&mut self, py: Python<'_>) -> PyResult<Vec<PyEvent>> {
        let mut events: Vec<PyEvent> = self.take(py, Instant::NEVER)?.into_iter().collect();
        let now = self.net()?.now();
        while !events.is_empty() && self.net()?.due().is_some_and(|due| due <= now) {
            match self.take(py, now)? {
                Some(event) => events.push(event),
                None => break,
            }
        }
        Ok(events)
    }

    /// Returns the next event up to and including `now_ns`, for a leader with another clock; None once the net's clock
    /// is there. The leader advances before it sends, and asks for `due()` after it has.
    fn advance(&mut self, py: Python<'_>, now_ns: UnsignedInt) -> PyResult<Option<PyEvent>> {
        self.take(py, Instant::from_nanos(now_ns.get("now_ns")?))
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<PyEvent>> {
        self.take(py, Instant::NEVER)
    }

    /// When the next event of the run is due, of an end or not; None once the run has ended.
    fn due(&mut self) -> PyResult<Option<u64>> {
        Ok(self.net()?.due().map(Instant::as_nanos))
    }

    /// Time of the net.
    #[getter]
    fn now(&mut self) -> PyResult<u64> {
        Ok(self.net()?.now().as_nanos())
    }

    /// Duration of the run.
    #[getter]
    fn duration(&mut self) -> PyResult<i64> {
        Ok(self.net()?.scenario().duration.as_nanos())
    }

    /// Seed of the run.
    #[getter]
    fn seed(&mut self) -> PyResult<u64> {
        Ok(self.net()?.seed())
    }

    /// Adds a value to the statistics of an end's `name`: `note(call.source.cwnd)` in sentences.
    fn note(&mut self, end: EndArgument<'_>, name: &str, value: f64) -> PyResult<()> {
        if name.is_empty() || name.len() > MAX_NAME || !value.is_finite() {
            let wrong = format!("note: {name:?} with {value}; give a short name and a finite number");
            return Err(input(wrong));
        }
        let end = self.find(end)?.get().end;
        self.net()?.note(end, name, value);
        Ok(())
    }

    /// Counts a transfer of an end's group that began at `begun_ns` and whose last byte has arrived now:
    /// `p95(completion, call)` in sentences.
    fn completed(&mut self, end: EndArgument<'_>, begun_ns: UnsignedInt, size: UnsignedInt) -> PyResult<()> {
        let end = self.find(end)?.get().end;
        let (begun, size) = (Instant::from_nanos(begun_ns.get("begun_ns")?), size.get("size")?);
        self.net()?.completed(end, begun, size);
        Ok(())
    }

    /// Ends the run here if it has not ended, and returns its results. The net accepts no further calls.
    fn finish(&mut self, py: Python<'_>) -> PyResult<PyReport> {
        self.net()?;
        let net = self.net.get_mut().unwrap_or_else(PoisonError::into_inner).take().expect("it is there");
        let report = net.finish().map_err(raised);
        self.users.check(py)?;
        report.map(PyReport)
    }

    /// Whether `finish` has been called.
    #[getter]
    fn finished(&mut self) -> bool {
        self.net.get_mut().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

/// An end as an argument: itself or its name.
#[derive(FromPyObject)]
enum EndArgument<'py> {
    Object(Bound<'py, PyEnd>),
    Name(String),
}

impl PyNet {
    fn net(&mut self) -> PyResult<&mut Net> {
        let net = self.net.get_mut().unwrap_or_else(PoisonError::into_inner);
        net.as_mut().ok_or_else(finished)
    }

    fn object(&self, end: End) -> PyResult<&Py<PyEnd>> {
        let found = place(&self.ends, end).map(|place| &self.ends[place]);
        found.ok_or_else(|| input(format!("end: not one of this net; choose from {}", self.names())))
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.ends.iter().take(8).map(|end| end.get().text.as_str()).collect();
        names.join(", ")
    }

    /// The end that an argument names. Ends of other nets are looked up by name.
    fn find(&self, end: EndArgument<'_>) -> PyResult<&Py<PyEnd>> {
        let name = match &end {
            EndArgument::Object(object) => match place(&self.ends, object.get().end) {
                Some(place) if self.ends[place].get().text == object.get().text => return Ok(&self.ends[place]),
                _ => object.get().text.as_str(),
            },
            EndArgument::Name(name) => name.as_str(),
        };
        self.ends
            .iter()
            .find(|end| end.get().text == name)
            .ok_or_else(|| input(format!("end: {name:?} is not an end of this net; choose from {}", self.names())))
    }

    /// The next event up to `until`. The interpreter keeps its lock, because most events are near; signals are handled
    /// in between.
    fn take(&mut self, py: Python<'_>, until: Instant) -> PyResult<Option<PyEvent>> {
        let Self { net, ends, tags, addresses, words, users } = self;
        let net = net.get_mut().unwrap_or_else(PoisonError::into_inner);
        let net = net.as_mut().ok_or_else(finished)?;
        loop {
            let now = net.now();
            let slice = net.due().map_or(until, |due| until.min(due.max(now) + SLICE));
            let event = match net.advance(slice) {
                Ok(event) => event,
                Err(error) => {
                    users.check(py)?;
                    return Err(raised(error));
                }
            };
            match event {
                Event::End => {
                    users.check(py)?;
                    py.check_signals()?;
                    if slice >= until || net.due().is_none() {
                        return Ok(None);
                    }
                }
                event => return Known { ends, tags, words, addresses }.event(py, event).map(Some),
            }
        }
    }
}

/// Objects that events refer to.
struct Known<'a> {
    ends: &'a [Py<PyEnd>],
    tags: &'a [Vec<Py<PyString>>],
    words: &'a Words,
    addresses: &'a mut Addresses,
}

impl Known<'_> {
    /// An event as an object.
    fn event(self, py: Python<'_>, event: Event<'_>) -> PyResult<PyEvent> {
        match event {
            Event::Begin(end) => self.plain(py, "begin", end),
            Event::Wake(end) => self.plain(py, "wake", end),
            Event::Room(end) => self.plain(py, "room", end),
            Event::Stop(end) => self.plain(py, "stop", end),
            Event::TooBig { to, mtu, remote } => {
                let remote = self.addresses.tuple(py, remote)?;
                Ok(PyEvent { mtu: Some(mtu), remote: Some(remote), ..self.plain(py, "too_big", to)? })
            }
            Event::Datagram { to, from, local, ecn, tag, bytes, .. } => {
                let (remote, local) = (self.addresses.tuple(py, from)?, self.addresses.tuple(py, local)?);
                let tag = match tag {
                    0 => None,
                    tag => self.tags[self.place(to)?].get(usize::from(tag) - 1).map(|tag| tag.clone_ref(py)),
                };
                Ok(PyEvent {
                    data: Some(PyBytes::new(py, bytes).unbind()),
                    remote: Some(remote),
                    local: Some(local),
                    ecn: Some(self.words.ecns[ecn as usize].clone_ref(py)),
                    tag,
                    ..self.plain(py, "datagram", to)?
                })
            }
            Event::End => Err(input("net: an event after the end of the run")),
        }
    }

    /// An event without further fields.
    fn plain(&self, py: Python<'_>, kind: &str, end: End) -> PyResult<PyEvent> {
        let kind = KINDS.iter().position(|known| *known == kind).unwrap_or_default();
        Ok(PyEvent {
            kind: self.words.kinds[kind].clone_ref(py),
            end: self.ends[self.place(end)?].clone_ref(py),
            data: None,
            remote: None,
            local: None,
            ecn: None,
            tag: None,
            mtu: None,
        })
    }

    fn place(&self, end: End) -> PyResult<usize> {
        place(self.ends, end).ok_or_else(|| input("net: an event of an end that it does not have"))
    }
}

/// Position of an end.
fn place(ends: &[Py<PyEnd>], end: End) -> Option<usize> {
    ends.binary_search_by_key(&end, |object| object.get().end).ok()
}

fn finished() -> PyErr {
    input("net: it is finished; make another one")
}

impl Users {
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        if let Some(raised) = PyErr::take(py) {
            return Err(raised);
        }
        check_fault(&self.managers)?;
        check_control_faults(&self.controls)
    }
}

impl Words {
    fn new(py: Python<'_>) -> Self {
        let word = |text: &str| PyString::intern(py, text).unbind();
        Self { kinds: KINDS.map(word), ecns: ECNS.map(word) }
    }
}

impl Addresses {
    /// Address from a tuple of asyncio, or of an end.
    fn read(&mut self, value: &Bound<'_, PyAny>, name: &str) -> PyResult<SocketAddr> {
        let wrong = || {
            let text = value.repr().map_or_else(|_| "it".to_string(), |text| text.to_string());
            input(format!("{name}: {text} is not an address; give a host's IP address and a port, (\"10.0.0.2\", 443)"))
        };
        let tuple = match value.cast::<PyTuple>() {
            Ok(tuple) => tuple.clone(),
            Err(_) => match value.cast::<PyEnd>() {
                Ok(end) => end.get().address.bind(value.py()).clone(),
                Err(_) => return Err(wrong()),
            },
        };
        if let Some((_, address, _)) = self.known.iter().find(|(known, ..)| known.is(&tuple)) {
            return Ok(*address);
        }
        if !(2..=4).contains(&tuple.len()) {
            return Err(wrong());
        }
        let host: String = tuple.get_item(0)?.extract().map_err(|_| wrong())?;
        let port: u16 = tuple.get_item(1)?.extract().map_err(|_| wrong())?;
        let address = SocketAddr::new(host.parse::<IpAddr>().map_err(|_| wrong())?, port);
        self.remember((tuple.unbind(), address, false));
        Ok(address)
    }

    /// An address as asyncio has it.
    fn tuple(&mut self, py: Python<'_>, address: SocketAddr) -> PyResult<Py<PyTuple>> {
        if let Some((tuple, ..)) = self.known.iter().find(|(_, known, is_own)| *is_own && *known == address) {
            return Ok(tuple.clone_ref(py));
        }
        let host = address.ip().to_string();
        let tuple = match address {
            SocketAddr::V4(_) => (host, address.port()).into_pyobject(py)?,
            SocketAddr::V6(_) => (host, address.port(), 0, 0).into_pyobject(py)?,
        };
        let tuple = tuple.unbind();
        self.remember((tuple.clone_ref(py), address, true));
        Ok(tuple)
    }

    fn remember(&mut self, known: (Py<PyTuple>, SocketAddr, bool)) {
        if self.known.len() < MAX_KNOWN {
            self.known.push(known);
        } else {
            self.known[self.next] = known;
            self.next = (self.next + 1) % MAX_KNOWN;
        }
    }
}

fn read_ecn(word: &str) -> PyResult<Ecn> {
    let number = ECNS.iter().position(|known| *known == word);
    let unknown = || input(format!("ecn: {word:?} is not an ECN field; write not-ect, ect0, ect1 or ce"));
    number.map(|number| Ecn::ALL[number]).ok_or_else(unknown)
}

/// An error as an exception: `BlockingIOError` if the host has no room, `OSError` for files, else `InputError`.
pub fn raised(error: Error) -> PyErr {
    match error {
        error if error.would_block() => PyBlockingIOError::new_err((EAGAIN, error.to_string())),
        Error::File { path, source } => {
            let text = source.to_string();
            PyOSError::new_err((source.raw_os_error().unwrap_or_default(), text, path))
        }
        error => input(error),
    }
}

/// Kinds of events.
const KINDS: [&str; 6] = ["datagram", "begin", "wake", "room", "stop", "too_big"];
/// Words of ECN fields, by number.
pub const ECNS: [&str; 4] = ["not-ect", "ect1", "ect0", "ce"];
/// Time of the run between checks for signals.
const SLICE: Duration = Duration::from_millis(100);
/// Maximum number of addresses remembered.
const MAX_KNOWN: usize = 32;
/// Maximum bytes of the name of a note.
const MAX_NAME: usize = 200;
/// Errno of `BlockingIOError`.
const EAGAIN: i32 = 11;
