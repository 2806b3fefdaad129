//! The functions of `include/sojourn_net.h`, which documents them: a net for programs in C.

mod address;

use address::{SockaddrStorage, read_address, unreadable, write_address};
use sojourn_library::abi::{BUSY, FAILED, INVALID, OK, PANICKED, REFUSED, UNKNOWN};
use sojourn_library::border::{self, Handle, HandleNames, SizePrefixed, guarded, read_text, size_of_given};
use sojourn_library::queue::Error;
use sojourn_net::{Datagram, Ecn, End, Event, Instant, Net, Report, Transmit};
use sojourn_sim::scenario::Scenario;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::path::Path;

/// Version of the interface.
pub const ABI: u32 = 1;
/// A deadline that does not exist.
pub const NEVER: i64 = i64::MAX;
/// A sentence holds.
pub const HOLDS: c_int = 0;
/// A sentence does not hold.
pub const BROKEN: c_int = 1;
/// The host accepts no datagram now.
pub const WOULD_BLOCK: c_int = -7;
/// The run cannot go on.
pub const FAULT: c_int = -8;
/// The run has been ended.
pub const ENDED: c_int = -9;

/// Codes of errors that the queues' interface has too.
pub const SHARED_ERRORS: [c_int; 6] = [INVALID, REFUSED, UNKNOWN, BUSY, PANICKED, FAILED];

/// Kinds of events, in the order of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum Kind {
    End,
    Begin,
    Wake,
    Room,
    Stop,
    Datagram,
    TooBig,
}

/// A datagram to send.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct DatagramView {
    pub size: u32,
    pub ecn: u8,
    pub tag: u8,
    pub reserved: u16,
    pub segment_size: u32,
    pub reserved_2: u32,
    pub at: i64,
    pub length: usize,
    pub bytes: *const c_void,
    pub remote: SockaddrStorage,
    pub local: SockaddrStorage,
}

/// An event.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct EventView {
    pub size: u32,
    pub kind: u32,
    pub end: u32,
    pub ecn: u8,
    pub tag: u8,
    pub reserved: u16,
    pub mtu: u32,
    pub reserved_2: u32,
    pub now: i64,
    pub length: usize,
    pub bytes: *const c_void,
    pub remote: SockaddrStorage,
    pub local: SockaddrStorage,
}

// SAFETY: integers, a pointer and bytes; the first field is the size.
unsafe impl SizePrefixed for DatagramView {
    const NAME: &'static str = "datagram";
    const MIN_SIZE: u32 = size_of::<Self>() as u32;
}

// SAFETY: integers, a pointer and bytes; the first field is the size.
unsafe impl SizePrefixed for EventView {
    const NAME: &'static str = "event";
    const MIN_SIZE: u32 = size_of::<Self>() as u32;
}

/// A run, or its results.
#[expect(clippy::large_enum_variant, reason = "one per net, behind a pointer")]
enum Run {
    Open(Net),
    Ended(Report),
    /// While one becomes the other.
    Failed,
}

/// Object of a `sojourn_net *`.
pub struct OpenNet {
    run: Run,
    /// By number, in the order of the file.
    ends: Vec<End>,
    /// By group of the scenario: number of its first end.
    first: Vec<u32>,
    /// Numbers by name.
    names: BTreeMap<String, u32>,
}

type NetHandle = Handle<OpenNet>;

/// Calls come from any thread, one at a time.
const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<OpenNet>();
};

const NAMES: HandleNames =
    HandleNames { object: "net", create: "sojourn_net_open", busy: "two threads must not call it at a time" };

impl OpenNet {
    fn open(net: Net) -> Self {
        let ends: Vec<End> = net.ends().collect();
        let mut first = vec![u32::MAX; net.scenario().flows.len()];
        for (number, end) in (0..).zip(&ends) {
            let of_group = &mut first[end.group() as usize];
            *of_group = number.min(*of_group);
        }
        let names = (0..).zip(&ends).map(|(number, &end)| (net.name_of(end), number)).collect();
        Self { run: Run::Open(net), ends, first, names }
    }

    fn net(&mut self) -> Result<&mut Net, Error> {
        match &mut self.run {
            Run::Open(net) => Ok(net),
            _ => Err(ended()),
        }
    }

    /// The net and an end by number.
    #[inline]
    fn net_and_end(&mut self, number: u32) -> Result<(&mut Net, End), Error> {
        let Some(&end) = self.ends.get(number as usize) else { return Err(unknown_end(number, self.ends.len())) };
        match &mut self.run {
            Run::Open(net) => Ok((net, end)),
            _ => Err(ended()),
        }
    }

    fn number_of(first: &[u32], end: End) -> u32 {
        first[end.group() as usize] + 2 * end.member() + end.side() as u32
    }

    /// Results of the run, which ends here if it has not.
    fn report(&mut self) -> Result<&Report, Error> {
        if let Run::Open(_) = self.run {
            let Run::Open(net) = std::mem::replace(&mut self.run, Run::Failed) else { unreachable!("it is open") };
            self.run = Run::Ended(net.finish().map_err(of_net)?);
        }
        match &self.run {
            Run::Ended(report) => Ok(report),
            _ => Err(Error { code: ENDED, text: "the results are lost to an earlier error; open another net".into() }),
        }
    }

    /// Takes an event, up to and including `until` if that is given, and writes it.
    ///
    /// # Safety
    /// `place` is null or an event of its size.
    #[inline(always)]
    unsafe fn take(&mut self, until: Option<Instant>, place: *mut EventView) -> Result<c_int, Error> {
        // SAFETY: by this function's contract.
        unsafe { size_of_given(place.cast_const())? };
        let Run::Open(net) = &mut self.run else { return Err(ended()) };
        let taken = match until {
            Some(until) => net.advance(until),
            None => net.next(),
        };
        // SAFETY: at least as large as this version's struct, by its size.
        let view = unsafe { &mut *place };
        // By reference: an event moved out of the result is copied field by field.
        let event = match &taken {
            Ok(event) => event,
            Err(error) => return Err(describe(error)),
        };
        (view.ecn, view.tag, view.reserved, view.mtu, view.reserved_2) = (0, 0, 0, 0, 0);
        (view.length, view.bytes, view.end) = (0, std::ptr::null(), 0);
        (view.remote.ss_family, view.local.ss_family) = (libc::AF_UNSPEC as _, libc::AF_UNSPEC as _);
        let (kind, end) = match event {
            Event::End => (Kind::End, None),
            Event::Begin(end) => (Kind::Begin, Some(end)),
            Event::Wake(end) => (Kind::Wake, Some(end)),
            Event::Room(end) => (Kind::Room, Some(end)),
            Event::Stop(end) => (Kind::Stop, Some(end)),
            Event::TooBig { to, mtu, remote } => {
                view.mtu = *mtu;
                write_address(remote, &mut view.remote);
                (Kind::TooBig, Some(to))
            }
            Event::Datagram { to, from, local, ecn, tag, bytes, .. } => {
                (view.ecn, view.tag, view.length, view.bytes) = (*ecn as u8, *tag, bytes.len(), bytes.as_ptr().cast());
                write_address(from, &mut view.remote);
                write_address(local, &mut view.local);
                (Kind::Datagram, Some(to))
            }
        };
        if let Some(&end) = end {
            view.end = Self::number_of(&self.first, end);
        }
        view.kind = kind as u32;
        view.now = nanos(net.now());
        Ok(OK)
    }

    #[inline]
    fn send(&mut self, number: u32, view: &DatagramView) -> Result<c_int, Error> {
        let (net, end) = self.net_and_end(number)?;
        if view.length > MAX_BYTES {
            return Err(Error::invalid(format!("datagram.length: {} B; at most {MAX_BYTES} B in a call", view.length)));
        }
        if view.bytes.is_null() && view.length > 0 {
            return Err(Error::invalid("datagram.bytes is null; give the address of the payload"));
        }
        if view.at < 0 {
            return Err(Error::invalid(format!("datagram.at: {} ns is before the run; give 0 for now", view.at)));
        }
        let bytes = match view.length {
            0 => &[],
            // SAFETY: not null, and the program promises so many bytes by the header.
            length => unsafe { std::slice::from_raw_parts(view.bytes.cast::<u8>(), length) },
        };
        let ecn = Ecn::ALL.get(usize::from(view.ecn)).copied();
        let ecn = ecn.ok_or_else(|| Error::invalid(format!("datagram.ecn: {}; it is from 0 to 3", view.ecn)))?;
        let (remote, local) = (read_address(&view.remote), read_address(&view.local));
        for (name, storage, address) in
            [("datagram.remote", &view.remote, remote), ("datagram.local", &view.local, local)]
        {
            if address.is_none() && c_int::from(storage.ss_family) != libc::AF_UNSPEC {
                return Err(unreadable(name, storage));
            }
        }
        let datagram = Datagram {
            bytes,
            remote: remote.unwrap_or(Transmit::packet().remote),
            local,
            ecn,
            segment_size: (view.segment_size > 0).then_some(view.segment_size as usize),
            at: (view.at > 0).then(|| Instant::from_nanos(view.at as u64)),
            tag: view.tag,
        };
        net.send(end, &datagram).map(|()| OK).map_err(of_net)
    }
}

#[cold]
fn ended() -> Error {
    Error { code: ENDED, text: "the run is over; open another net for another run".into() }
}

#[cold]
fn unknown_end(number: u32, count: usize) -> Error {
    let text = format!("end {number}: the net has {count} ends; take numbers from sojourn_net_end");
    Error { code: UNKNOWN, text }
}

/// As [`describe`], for `map_err`.
fn of_net(error: sojourn_net::Error) -> Error {
    describe(&error)
}

/// An error of a net with its code.
#[cold]
fn describe(error: &sojourn_net::Error) -> Error {
    use sojourn_net::Error as E;
    let code = match error {
        _ if error.would_block() => WOULD_BLOCK,
        E::Group { .. } | E::Member { .. } | E::Tag { .. } => UNKNOWN,
        E::Fault(_) => FAULT,
        E::World(_) | E::File { .. } | E::Sentence(_) | E::Log { .. } => REFUSED,
        _ => INVALID,
    };
    Error { code, text: error.to_string().replace('\n', " ") }
}

fn nanos(at: Instant) -> i64 {
    i64::try_from(at.as_nanos()).unwrap_or(NEVER)
}

fn time(name: &str, at: i64) -> Result<Instant, Error> {
    let at = u64::try_from(at)
        .map_err(|_| Error::invalid(format!("{name}: {at} ns is before the run; give nanoseconds since its start")))?;
    Ok(Instant::from_nanos(at))
}

/// Writes a result; a null pointer is an error.
///
/// # Safety
/// `place` is null or writable.
unsafe fn put<T>(name: &str, place: *mut T, value: T) -> Result<c_int, Error> {
    if place.is_null() {
        return Err(Error::invalid(format!("{name} is null; give the address of a variable")));
    }
    // SAFETY: not null, and by this function's contract.
    unsafe { place.write(value) };
    Ok(OK)
}

#[inline]
fn enter(net: *mut NetHandle, call: impl FnOnce(&mut OpenNet) -> Result<c_int, Error>) -> c_int {
    // SAFETY: null, or from `sojourn_net_open` and not yet freed, by the header.
    unsafe { Handle::enter(net, &NAMES, call) }
}

/// A call whose result is a time.
fn enter_time(net: *mut NetHandle, call: impl FnOnce(&Net) -> i64) -> i64 {
    let mut at = 0;
    let code = enter(net, |open| {
        at = call(open.net()?);
        Ok(OK)
    });
    if code < 0 { i64::from(code) } else { at }
}

/// Version of the interface.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_net_abi() -> u32 {
    ABI
}

/// Text of this thread's last error.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_net_error() -> *const c_char {
    border::error()
}

/// Opens a net.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_open(
    abi: u32,
    toml: *const c_char,
    folder: *const c_char,
    seed: u64,
    net: *mut *mut NetHandle,
) -> c_int {
    guarded(None, || {
        if abi != ABI {
            return Err(Error::invalid(format!(
                "abi: {abi}, but the library has {ABI}; give SOJOURN_NET_ABI and build with this version's header"
            )));
        }
        if net.is_null() {
            return Err(Error::invalid("net is null; give the address of a pointer"));
        }
        // SAFETY: as in the header.
        let text = unsafe { read_text("toml", toml)? };
        // SAFETY: as in the header.
        let folder = if folder.is_null() { "." } else { unsafe { read_text("folder", folder)? } };
        let scenario = Scenario::parse(text, &[], Path::new(folder)).map_err(|error| of_net(error.into()))?;
        let handle = Handle::create(OpenNet::open(Net::of(scenario, seed)));
        // SAFETY: not null, and writable by the header.
        unsafe { net.write(handle) };
        Ok(OK)
    })
}

/// Number of an end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_end(net: *mut NetHandle, name: *const c_char, end: *mut u32) -> c_int {
    enter(net, |open| {
        // SAFETY: as in the header.
        let name = unsafe { read_text("name", name)? };
        let Some(&number) = open.names.get(name) else {
            let known: Vec<&str> = open.names.keys().take(MAX_NAMES).map(String::as_str).collect();
            let known =
                if known.is_empty() { "add [[flows]] with kind = \"endpoint\"".into() } else { known.join(", ") };
            return Err(Error { code: UNKNOWN, text: format!("name: no end is {name:?}; choose from {known}") });
        };
        // SAFETY: as in the header.
        unsafe { put("end", end, number) }
    })
}

/// Address of an end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_address(net: *mut NetHandle, end: u32, address: *mut SockaddrStorage) -> c_int {
    enter(net, |open| {
        let (net, end) = open.net_and_end(end)?;
        // SAFETY: null or writable, by the header.
        let place = unsafe { address.as_mut() };
        let place = place.ok_or_else(|| Error::invalid("address is null; give the address of a sockaddr_storage"))?;
        write_address(&net.address(end), place);
        Ok(OK)
    })
}

/// Number of a tag.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_tag(
    net: *mut NetHandle,
    group: *const c_char,
    tag: *const c_char,
    number: *mut u8,
) -> c_int {
    enter(net, |open| {
        // SAFETY: as in the header.
        let (group, tag) = unsafe { (read_text("group", group)?, read_text("tag", tag)?) };
        let found = open.net()?.tag(group, tag).map_err(of_net)?;
        // SAFETY: as in the header.
        unsafe { put("number", number, found) }
    })
}

/// Sends a datagram.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_send(net: *mut NetHandle, end: u32, datagram: *const DatagramView) -> c_int {
    enter(net, |open| {
        // SAFETY: as in the header.
        unsafe { size_of_given(datagram)? };
        // SAFETY: not null, and at least as large as this version's struct, by its size.
        open.send(end, unsafe { &*datagram })
    })
}

/// Whether a host accepts a datagram.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_has_room(net: *mut NetHandle, end: u32) -> c_int {
    enter(net, |open| {
        let (net, end) = open.net_and_end(end)?;
        Ok(c_int::from(net.has_room(end)))
    })
}

/// Sets a deadline.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_wake(net: *mut NetHandle, end: u32, at: i64) -> c_int {
    enter(net, |open| {
        let (net, end) = open.net_and_end(end)?;
        let at = time("at", at)?;
        net.wake(end, (at != Instant::from_nanos(NEVER as u64)).then_some(at));
        Ok(OK)
    })
}

/// The next event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_next(net: *mut NetHandle, event: *mut EventView) -> c_int {
    // SAFETY: as in the header.
    enter(net, |open| unsafe { open.take(None, event) })
}

/// The next event up to a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_advance(net: *mut NetHandle, now: i64, event: *mut EventView) -> c_int {
    // SAFETY: as in the header.
    enter(net, |open| unsafe { open.take(Some(time("now", now)?), event) })
}

/// When the next event is due.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_due(net: *mut NetHandle) -> i64 {
    enter_time(net, |net| net.due().map_or(NEVER, nanos))
}

/// Time of the net.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_now(net: *mut NetHandle) -> i64 {
    enter_time(net, |net| nanos(net.now()))
}

/// Notes a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_note(net: *mut NetHandle, end: u32, name: *const c_char, value: f64) -> c_int {
    enter(net, |open| {
        // SAFETY: as in the header.
        let name = unsafe { read_text("name", name)? };
        let (net, end) = open.net_and_end(end)?;
        net.note(end, name, value);
        Ok(OK)
    })
}

/// Counts a transfer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_completed(net: *mut NetHandle, end: u32, begun: i64, bytes: u64) -> c_int {
    enter(net, |open| {
        let (net, end) = open.net_and_end(end)?;
        let begun = time("begun", begun)?;
        if begun > net.now() {
            return Err(Error::invalid(format!("begun: {} ns is in the future", begun.as_nanos())));
        }
        net.completed(end, begun, bytes);
        Ok(OK)
    })
}

/// Ends the run, and writes its results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_finish(net: *mut NetHandle, folder: *const c_char) -> c_int {
    enter(net, |open| {
        // SAFETY: as in the header.
        let folder = if folder.is_null() { None } else { Some(unsafe { read_text("folder", folder)? }) };
        let report = open.report()?;
        folder.map_or(Ok(OK), |folder| report.write(folder).map(|_| OK).map_err(of_net))
    })
}

/// Judges a sentence.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_expect(
    net: *mut NetHandle,
    sentence: *const c_char,
    why: *mut c_char,
    length: usize,
) -> c_int {
    enter(net, |open| {
        if why.is_null() && length > 0 {
            return Err(Error::invalid("why is null; give a buffer, or a length of 0"));
        }
        // SAFETY: as in the header.
        let sentence = unsafe { read_text("sentence", sentence)? };
        let report = open.report()?;
        report.judge(sentence).map_err(of_net)?;
        let message = sojourn_net::expectation(report, sentence).err();
        let text = message.as_deref().unwrap_or_default().as_bytes();
        if let Some(room) = length.checked_sub(1) {
            let count = text.len().min(room);
            // SAFETY: not null, with room for `length` bytes by the header.
            unsafe {
                std::ptr::copy_nonoverlapping(text.as_ptr(), why.cast::<u8>(), count);
                why.add(count).write(0);
            }
        }
        Ok(if message.is_some() { BROKEN } else { HOLDS })
    })
}

/// Hashes of a run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_hashes(net: *mut NetHandle, decisions: *mut u64, fingerprint: *mut u64) -> c_int {
    enter(net, |open| {
        let report = open.report()?;
        for (place, text) in [(decisions, report.decisions()), (fingerprint, report.fingerprint().to_string())] {
            // SAFETY: null or writable, by the header.
            if let Some(place) = unsafe { place.as_mut() } {
                *place = u64::from_str_radix(&text, 16).expect("a hash is hexadecimal");
            }
        }
        Ok(OK)
    })
}

/// Frees a net.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_free(net: *mut NetHandle) {
    // SAFETY: null, or from `sojourn_net_open` and not yet freed, by the header.
    unsafe { Handle::free(net, &NAMES, |_| ()) }
}

/// Bytes of a call: 64 datagrams of the maximum size.
const MAX_BYTES: usize = 64 * 65_507;
/// Maximum number of names in an error.
const MAX_NAMES: usize = 20;
