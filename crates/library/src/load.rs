//! Opens shared libraries that export a qdisc, and calls them. Every call to foreign code is in this file;
//! [`foreign`](crate::foreign) checks the results.
#![allow(unsafe_code)]

use crate::abi::{self, Discipline, Host, Packet, Time};
use crate::crash;
use crate::export;
use crate::file::{LibraryFile, LibraryKind, OpenedLibrary, error_text, one_line, open_once};
use sojourn_aqm::Limits;
use std::cell::UnsafeCell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::Mutex;

/// A loaded library. It stays loaded until the program ends, because any thread may be running its code.
pub struct Library {
    file: LibraryFile,
    /// Its export.
    export: Discipline,
    /// Departure order of packets: [`abi::FIFO`], ….
    pub order: u32,
    /// Name of its qdisc.
    pub name: String,
    /// Summary of the qdisc in a sentence.
    pub summary: String,
    /// Publication of the algorithm.
    pub source: String,
}

// SAFETY: its pointers refer to constants and functions of a library that stays loaded; the header allows calls from
// any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl OpenedLibrary for Library {
    fn file(&self) -> &LibraryFile {
        &self.file
    }
    fn name(&self) -> &str {
        &self.name
    }
}

/// Libraries with a qdisc.
pub(crate) const KIND: LibraryKind = LibraryKind {
    noun: "queue manager",
    example: "blue.so",
    symbol: abi::SYMBOL,
    structure: "sojourn_discipline",
    header: "sojourn_aqm.h",
    abi: abi::ABI,
    min_size: std::mem::offset_of!(Discipline, settle),
};

static OPEN: Mutex<Vec<&'static Library>> = Mutex::new(Vec::new());

impl Library {
    /// Loads the library at `path`, once per path; its initialisers run.
    ///
    /// # Errors
    /// If the file cannot be loaded, exports no valid `sojourn_library`, or has changed since it was loaded.
    pub fn open(path: &Path) -> Result<&'static Self, String> {
        open_once(path, &OPEN, Self::load)
    }

    fn load(file: LibraryFile) -> Result<Self, String> {
        // SAFETY: the kind's struct; its fields are integers, pointers and optional functions.
        let export: Discipline = unsafe { KIND.load(&file)? };
        let export = checked(export).map_err(|wrong| format!("{}: {wrong}", file.path.display()))?;
        // SAFETY: null or constant strings of the library, by the header.
        let [name, summary, source] =
            [export.name, export.summary, export.source].map(|text| unsafe { one_line(text) });
        Ok(Self { order: export.order, export, name, summary, source, file })
    }

    /// Creates a queue.
    ///
    /// # Errors
    /// The library's error text.
    pub fn create(&'static self, text: &str, limits: Limits, host: &sojourn_aqm::Host) -> Result<Instance, String> {
        let text = CString::new(text).map_err(|_| "its parameters contain a NUL byte".to_string())?;
        let returned: *mut ReturnedPackets = Box::into_raw(Box::default());
        let host = Host {
            size: size_of::<Host>() as u32,
            mtu: host.link.mtu,
            rate: host.link.rate.as_bps().max(1),
            random: host.rng.state(),
            start: 0,
            limit_packets: limits.packets.unwrap_or(0),
            reserved: 0,
            limit_bytes: limits.bytes.unwrap_or(0),
            limit_time: limits.time.map_or(0, |span| span.as_nanos()),
            dropped: Some(on_drop),
            user: returned.cast(),
            delay: host.link.delay.as_nanos(),
        };
        let mut queue = null_mut();
        let create = self.export.create.expect("checked when it was loaded");
        // SAFETY: the arguments live during the call, and the target of `user` until the queue is freed.
        let code = self.call("create", || unsafe { create(text.as_ptr(), &host, &mut queue) });
        let instance = Instance { library: self, queue, returned };
        if code < 0 {
            return Err(instance.error(code));
        }
        if queue.is_null() {
            return Err("create returns no queue and no error".to_string());
        }
        Ok(instance)
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    fn call<R>(&self, name: &'static str, call: impl FnOnce() -> R) -> R {
        crash::within(self.path(), name, call)
    }
}

/// Checks the functions and the order of an export.
fn checked(export: Discipline) -> Result<Discipline, String> {
    let needed = [
        ("create", export.create.is_some()),
        ("free", export.free.is_some()),
        ("enqueue", export.enqueue.is_some()),
        ("dequeue", export.dequeue.is_some()),
        ("backlog", export.backlog.is_some()),
    ];
    if let Some((name, _)) = needed.iter().find(|(_, given)| !given) {
        return Err(format!("sojourn_library.{name} is null; it is needed"));
    }
    if export.order > abi::PER_FLOW_ECN_AND_DSCP {
        return Err(format!("sojourn_library.order is {}; take one of the header's SOJOURN_FIFO, …", export.order));
    }
    Ok(export)
}

/// Packets that a library has passed to `dropped` since the last [`Instance::take_returned`].
#[derive(Default)]
struct ReturnedPackets(UnsafeCell<Vec<(Packet, c_int)>>);

unsafe extern "C" fn on_drop(user: *mut c_void, packet: *const Packet, reason: c_int) {
    // SAFETY: `create` passed `user`, which lives as long as the queue. The library calls this on its caller's thread,
    // and no other reference to the list exists meanwhile.
    let list = unsafe { &mut *(*user.cast::<ReturnedPackets>()).0.get() };
    // A null pointer or a struct that is too short becomes an unknown packet, which the checks report.
    // SAFETY: null or a packet, by the header.
    let packet = unsafe { export::read(packet) }.unwrap_or(NO_PACKET);
    list.push((packet, reason));
}

/// An empty descriptor for a library to fill.
pub const NO_PACKET: Packet = Packet {
    size: size_of::<Packet>() as u32,
    length: 0,
    segments: 0,
    flow: 0,
    source: 0,
    destination: 0,
    dscp: 0,
    ecn: 0,
    reserved: 0,
    header_length: 0,
    header: null(),
    handle: null_mut(),
    enqueued: 0,
    priority: 0,
    reserved_2: 0,
};

/// A library's queue. Forwards calls without checks.
pub struct Instance {
    /// The library.
    pub library: &'static Library,
    /// Null after it was freed.
    queue: *mut abi::Queue,
    returned: *mut ReturnedPackets,
}

// SAFETY: the header allows calls from any thread, one at a time; only this struct refers to the list.
unsafe impl Send for Instance {}

impl Instance {
    /// Calls `enqueue` and returns its code.
    pub fn enqueue(&mut self, now: Time, packet: &Packet) -> c_int {
        let enqueue = self.library.export.enqueue.expect("checked when it was loaded");
        // SAFETY: the queue is not freed, and the packet lives during the call.
        self.library.call("enqueue", || unsafe { enqueue(self.queue, now, packet) })
    }

    /// Calls `dequeue` and returns its code, the packet, and the earliest time of a next packet.
    pub fn dequeue(&mut self, now: Time) -> (c_int, Packet, Time) {
        let dequeue = self.library.export.dequeue.expect("checked when it was loaded");
        let (mut packet, mut not_before) = (NO_PACKET, Time::MIN);
        // SAFETY: the queue is not freed; both are local variables.
        let code = self.library.call("dequeue", || unsafe { dequeue(self.queue, now, &mut packet, &mut not_before) });
        (code, packet, not_before)
    }

    /// Calls `pass` and returns its code; [`abi::EMPTY`] if the library has no `pass`.
    pub fn pass(&mut self, now: Time, packet: &Packet) -> c_int {
        let Some(pass) = self.library.export.pass else { return abi::EMPTY };
        // SAFETY: the queue is not freed, and the packet lives during the call.
        self.library.call("pass", || unsafe { pass(self.queue, now, packet) })
    }

    /// Calls `backlog` and returns its code, and the queued packets and bytes.
    pub fn backlog(&self) -> (c_int, u32, u64) {
        let backlog = self.library.export.backlog.expect("checked when it was loaded");
        let (mut packets, mut bytes) = (0, 0);
        // SAFETY: the queue is not freed; both are local variables.
        let code = self.library.call("backlog", || unsafe { backlog(self.queue, &mut packets, &mut bytes) });
        (code, packets, bytes)
    }

    /// Runs all due periodic updates, if the library has `settle`.
    pub fn settle(&mut self, now: Time) -> c_int {
        let Some(settle) = self.library.export.settle else { return abi::OK };
        // SAFETY: the queue is not freed.
        self.library.call("settle", || unsafe { settle(self.queue, now) })
    }

    /// Calls `see` for each statistic, if the library has any.
    pub fn statistics(&self, see: &mut dyn FnMut(&str, u64)) -> c_int {
        unsafe extern "C" fn show(user: *mut c_void, name: *const c_char, value: u64) {
            // SAFETY: `user` points to `see` below; the name is a string.
            unsafe { (*user.cast::<&mut dyn FnMut(&str, u64)>())(&one_line(name), value) }
        }
        let Some(statistics) = self.library.export.statistics else { return abi::OK };
        let mut see = see;
        let user = (&raw mut see).cast();
        // SAFETY: the queue is not freed, and the target of `user` lives during the call.
        self.library.call("statistics", || unsafe { statistics(self.queue, Some(show), user) })
    }

    /// Calls `see` for each state variable, if the library has any.
    pub fn states(&self, see: &mut dyn FnMut(&str, f64)) -> c_int {
        unsafe extern "C" fn show(user: *mut c_void, name: *const c_char, value: f64) {
            // SAFETY: `user` points to `see` below; the name is a string.
            unsafe { (*user.cast::<&mut dyn FnMut(&str, f64)>())(&one_line(name), value) }
        }
        let Some(states) = self.library.export.states else { return abi::OK };
        let mut see = see;
        let user = (&raw mut see).cast();
        // SAFETY: the queue is not freed, and the target of `user` lives during the call.
        self.library.call("states", || unsafe { states(self.queue, Some(show), user) })
    }

    /// Frees the queue, once.
    pub fn free(&mut self) {
        let free = self.library.export.free.expect("checked when it was loaded");
        let queue = std::mem::replace(&mut self.queue, null_mut());
        if !queue.is_null() {
            // SAFETY: it was not freed before, and no pointer to it is left.
            self.library.call("free", || unsafe { free(queue) });
        }
    }

    /// Takes the packets that the library has passed to `dropped` since the last call.
    pub fn take_returned(&mut self) -> Vec<(Packet, c_int)> {
        // SAFETY: no call of the library is in progress, so the list has no other reference.
        std::mem::take(unsafe { &mut *(*self.returned).0.get() })
    }

    /// The library's text for the error `code`.
    pub fn error(&self, code: c_int) -> String {
        error_text(self.library.path(), self.library.export.error, code)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.free();
        // SAFETY: allocated by `create`; the queue that referred to it is freed.
        drop(unsafe { Box::from_raw(self.returned) });
    }
}
