//! Calls from C to Sojourn queues.
//!
//! Each function implements the header's `sojourn_queue_` function of its name. The header also states the caller's
//! obligations: pointers are null or valid during the call, structs begin with their size, and a queue was returned by
//! [`create`] and has not been freed.
#![allow(unsafe_code)]

use crate::abi::{self, Discipline, Host, Packet, Time};
use crate::border::{Handle, HandleNames, SizePrefixed, guarded, size_of_given, write};
pub use crate::border::{error, read_text};
pub(crate) use crate::border::{read, refuse};
use crate::queue::{Error, Owner, Queue};
use sojourn_aqm::registry::Catalogue;
use sojourn_aqm::{DequeueResult, Rng, TcpView};
use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// Target of a `sojourn_queue *`.
type QueueHandle = Handle<Queue<DropForwarder>>;

const NAMES: HandleNames = HandleNames {
    object: "queue",
    create: "sojourn_queue_create",
    busy: "`dropped` must not call it, nor two threads at a time",
};

/// The host's callback for dropped packets, with its first argument.
struct DropForwarder {
    dropped: abi::DropCallback,
    user: *mut c_void,
}

impl Owner for DropForwarder {
    fn dropped(&mut self, packet: &Packet, reason: c_int) {
        // SAFETY: the host provides the callback and its first argument for this call; the packet lives during it.
        unsafe { (self.dropped)(self.user, packet, reason) }
    }

    fn tcp(&self, packet: &Packet) -> Option<TcpView> {
        if packet.header.is_null() {
            return None;
        }
        // SAFETY: the host keeps `header_length` bytes there, unchanged, until the packet returns.
        let bytes = unsafe { std::slice::from_raw_parts(packet.header.cast::<u8>(), packet.header_length as usize) };
        TcpView::of_ip(bytes)
    }
}

/// Creates a queue configured by `before` followed by `text`, which may use the registered AQMs and those of `own`.
///
/// # Safety
/// As in the header.
pub unsafe fn create(
    before: &str,
    own: &dyn Catalogue,
    text: *const c_char,
    host: *const Host,
    queue: *mut *mut abi::Queue,
) -> c_int {
    guarded(None, || {
        if queue.is_null() {
            return Err(Error::invalid("queue is null; give the address of a pointer"));
        }
        // SAFETY: as in the header.
        let (text, host) = unsafe { (read_text("text", text)?, read::<Host>(host)?) };
        let Some(dropped) = host.dropped else {
            return Err(Error::invalid("host.dropped is null; give a function that takes packets back"));
        };
        let owner = DropForwarder { dropped, user: host.user };
        let inner = Queue::new(&format!("{before}{text}"), own, &host, owner)?;
        // SAFETY: not null, and writable by the header.
        unsafe { *queue = Handle::create(inner).cast() };
        Ok(abi::OK)
    })
}

/// Frees a queue; its queued packets return to the host.
///
/// # Safety
/// As in the header.
pub unsafe extern "C" fn free(queue: *mut abi::Queue) {
    // SAFETY: null, or from `create` and not yet freed.
    unsafe { Handle::free(queue.cast::<QueueHandle>(), &NAMES, Queue::return_all) }
}

/// Enqueues a packet.
///
/// # Safety
/// As in the header.
pub unsafe extern "C" fn enqueue(queue: *mut abi::Queue, now: Time, packet: *const Packet) -> c_int {
    enter(queue, |queue| {
        // SAFETY: as in the header.
        queue.enqueue(now, &unsafe { read::<Packet>(packet)? })
    })
}

/// Dequeues the next packet.
///
/// # Safety
/// As in the header.
pub unsafe extern "C" fn dequeue(
    queue: *mut abi::Queue,
    now: Time,
    packet: *mut Packet,
    not_before: *mut Time,
) -> c_int {
    enter(queue, |queue| {
        // SAFETY: as in the header.
        let size = unsafe { size_of_given::<Packet>(packet)? };
        Ok(match queue.dequeue(now)? {
            DequeueResult::Empty => abi::EMPTY,
            DequeueResult::Packet(_, found) => {
                // SAFETY: the host's struct has `size` bytes.
                unsafe { write(Packet { size, ..found }, packet, size) };
                abi::PACKET
            }
            DequeueResult::NotBefore(at) => {
                // SAFETY: null or writable, by the header.
                if let Some(place) = unsafe { not_before.as_mut() } {
                    *place = queue.time(at);
                }
                abi::NOT_BEFORE
            }
        })
    })
}

/// Passes a packet through an empty queue in one call.
///
/// # Safety
/// As in the header.
pub unsafe extern "C" fn pass(queue: *mut abi::Queue, now: Time, packet: *const Packet) -> c_int {
    enter(queue, |queue| {
        // SAFETY: as in the header.
        let passes = queue.pass(now, &unsafe { read::<Packet>(packet)? })?;
        Ok(if passes { abi::PACKET } else { abi::EMPTY })
    })
}

/// Writes the number of queued packets and bytes.
///
/// # Safety
/// As in the header.
pub unsafe extern "C" fn backlog(queue: *const abi::Queue, packets: *mut u32, bytes: *mut u64) -> c_int {
    enter(queue, |queue| {
        let backlog = queue.backlog();
        // SAFETY: null or writable, by the header.
        let (packets, bytes) = unsafe { (packets.as_mut(), bytes.as_mut()) };
        if let Some(place) = packets {
            *place = backlog.packets;
        }
        if let Some(place) = bytes {
            *place = backlog.bytes;
        }
        Ok(abi::OK)
    })
}

/// Runs all due periodic updates.
///
/// # Safety
/// As in the header.
pub unsafe extern "C" fn settle(queue: *mut abi::Queue, now: Time) -> c_int {
    enter(queue, |queue| queue.settle(now).map(|()| abi::OK))
}

/// Calls `see` for each statistic.
///
/// # Safety
/// As in the header.
pub unsafe extern "C" fn statistics(
    queue: *const abi::Queue,
    see: Option<abi::StatisticCallback>,
    user: *mut c_void,
) -> c_int {
    enter(queue, |queue| {
        // SAFETY: the host provides the callback and its first argument for this call.
        unsafe { show_all(see, user, |see| queue.statistics(see)) }
    })
}

/// Calls `see` for each state variable.
///
/// # Safety
/// As in the header.
pub unsafe extern "C" fn states(queue: *const abi::Queue, see: Option<abi::StateCallback>, user: *mut c_void) -> c_int {
    enter(queue, |queue| {
        // SAFETY: the host provides the callback and its first argument for this call.
        unsafe { show_all(see, user, |see| queue.states(see)) }
    })
}

/// Writes the statistic `name` to `value`.
///
/// # Safety
/// As in the header.
pub unsafe fn statistic(queue: *const abi::Queue, name: *const c_char, value: *mut u64) -> c_int {
    enter(queue, |queue| {
        // SAFETY: as in the header.
        unsafe { find("statistic", name, value, |see| queue.statistics(see)) }
    })
}

/// Writes the state variable `name` to `value`.
///
/// # Safety
/// As in the header.
pub unsafe fn state(queue: *const abi::Queue, name: *const c_char, value: *mut f64) -> c_int {
    enter(queue, |queue| {
        // SAFETY: as in the header.
        unsafe { find("state", name, value, |see| queue.states(see)) }
    })
}

/// Texts that end with their only zero byte, for an export.
///
/// # Panics
/// If a text has another zero byte, when it is compiled.
pub const fn texts([name, summary, source]: [&'static str; 3]) -> [&'static CStr; 3] {
    [text(name), text(summary), text(source)]
}

const fn text(with_end: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(with_end.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("it has a zero byte before its end"),
    }
}

/// Name of a drop reason.
pub fn reason(reason: c_int) -> &'static CStr {
    match reason {
        abi::FREED => c"freed",
        _ => usize::try_from(reason).ok().and_then(|i| REASONS.get(i).copied()).unwrap_or(c"unknown"),
    }
}

/// Initial state of the random stream of component `index` of `kind` in a run with `seed`.
///
/// # Safety
/// `kind` is null or a string.
pub unsafe fn random(seed: u64, kind: *const c_char, index: u64) -> u64 {
    // SAFETY: by this function's contract.
    let kind = unsafe { read_text("kind", kind) }.unwrap_or("");
    Rng::stream(seed, kind, index).state()
}

/// Export of a library with Sojourn queues, created by `create`.
pub const fn discipline(
    [name, summary, source]: [&'static CStr; 3],
    order: u32,
    create: unsafe extern "C" fn(*const c_char, *const Host, *mut *mut abi::Queue) -> c_int,
) -> Discipline {
    Discipline {
        size: size_of::<Discipline>() as u32,
        abi: abi::ABI,
        order,
        reserved: 0,
        name: name.as_ptr(),
        summary: summary.as_ptr(),
        source: source.as_ptr(),
        create: Some(create),
        free: Some(free),
        enqueue: Some(enqueue),
        dequeue: Some(dequeue),
        backlog: Some(backlog),
        settle: Some(settle),
        statistics: Some(statistics),
        states: Some(states),
        error: Some(error),
        pass: Some(pass),
    }
}

/// A [`Discipline`] that can be a static.
#[repr(transparent)]
pub struct Export(pub Discipline);

// SAFETY: its pointers refer to constants and functions.
unsafe impl Sync for Export {}

fn enter(queue: *const abi::Queue, call: impl FnOnce(&mut Queue<DropForwarder>) -> Result<c_int, Error>) -> c_int {
    // SAFETY: null, or from `create` and not yet freed, by the header.
    unsafe { Handle::enter(queue.cast::<QueueHandle>(), &NAMES, call) }
}

fn null_callback() -> Error {
    Error::invalid("see is null; give a function that takes names and values")
}

/// Names of [`DropReason`](sojourn_aqm::DropReason) as C strings.
const REASONS: [&CStr; 5] = [c"limit", c"early", c"late", c"hard-limit", c"replaced"];

// SAFETY: integers and pointers.
unsafe impl SizePrefixed for Packet {
    const NAME: &'static str = "packet";
    const MIN_SIZE: u32 = Packet::MIN_SIZE as u32;
}

// SAFETY: integers, a pointer, and an optional function.
unsafe impl SizePrefixed for Host {
    const NAME: &'static str = "host";
    const MIN_SIZE: u32 = size_of::<Self>() as u32;
}

/// Calls the host's callback `see`, with first argument `user`, for each name and value of `show`.
///
/// # Safety
/// `see` is null, or can be called with `user`, a name and a value.
unsafe fn show_all<T>(
    see: Option<unsafe extern "C" fn(*mut c_void, *const c_char, T)>,
    user: *mut c_void,
    show: impl FnOnce(&mut dyn FnMut(&'static str, T)),
) -> Result<c_int, Error> {
    let see = see.ok_or_else(null_callback)?;
    show(&mut |name, value| {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: by this function's contract.
        unsafe { see(user, name.as_ptr(), value) }
    });
    Ok(abi::OK)
}

/// Writes the value that `show` reports as `name` to `value`.
///
/// # Safety
/// `name` is null or a string; `value` is null or writable.
unsafe fn find<T: Copy>(
    what: &str,
    name: *const c_char,
    value: *mut T,
    show: impl FnOnce(&mut dyn FnMut(&'static str, T)),
) -> Result<c_int, Error> {
    // SAFETY: by this function's contract.
    let (name, place) = unsafe { (read_text("name", name)?, value.as_mut()) };
    let place = place.ok_or_else(|| Error::invalid("value is null; give the address of a number"))?;
    let mut known = Vec::new();
    let mut found = None;
    show(&mut |candidate, value| {
        known.push(candidate);
        if candidate == name {
            found = Some(value);
        }
    });
    let Some(found) = found else {
        let known =
            if known.is_empty() { "there is none".into() } else { format!("expected one of {}", known.join(", ")) };
        return Err(Error { code: abi::UNKNOWN, text: format!("unknown {what} {name:?}; {known}") });
    };
    *place = found;
    Ok(abi::OK)
}
