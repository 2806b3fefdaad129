//! Shared libraries with a queue discipline of their own: found, opened, called. Every call to foreign code is in this
//! file; what its answers mean is judged in [`foreign`](crate::foreign).
#![allow(unsafe_code)]

use crate::abi::{self, Discipline, Host, Packet, Time};
use crate::crash;
use crate::export;
use sojourn_aqm::Limits;
use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::{Mutex, PoisonError};

/// An opened library. It stays open until the program ends: there may be code of it on any thread.
pub struct Library {
    /// Its file.
    pub path: PathBuf,
    /// What the file was when it was opened.
    stamp: FileStamp,
    /// What it exports.
    export: Discipline,
    /// The order in which its packets leave.
    pub order: u32,
    /// What it calls its queue discipline.
    pub name: String,
    /// What it does, in a sentence.
    pub summary: String,
    /// Where it is published.
    pub source: String,
}

// SAFETY: its pointers are to constants and functions of a library that stays open; the header allows calls from any
// thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

/// Which version of a file: device, inode, size, time of its last change.
type FileStamp = (u64, u64, u64, i64, i64);

fn stamp(about: &Metadata) -> FileStamp {
    (about.dev(), about.ino(), about.len(), about.mtime(), about.mtime_nsec())
}

static OPEN: Mutex<Vec<&'static Library>> = Mutex::new(Vec::new());

impl Library {
    /// Opens the library at `path`, once; what code it has to start with runs then.
    pub fn open(path: &Path) -> Result<&'static Self, String> {
        let place = path.display();
        let path =
            path.canonicalize().map_err(|error| format!("{place}: {error}; give the path of a shared library"))?;
        let about = path.metadata().map_err(|error| format!("{place}: {error}"))?;
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = open.iter().find(|library| library.path == path) {
            let same = library.stamp == stamp(&about);
            return if same {
                Ok(library)
            } else {
                Err(format!("{place}: has changed since it was loaded; start again"))
            };
        }
        let library: &'static Self = Box::leak(Box::new(Self::load(path, stamp(&about))?));
        open.push(library);
        Ok(library)
    }

    fn load(path: PathBuf, stamp: FileStamp) -> Result<Self, String> {
        let place = path.display();
        crash::install_handlers();
        let loaded = crash::within(&path, "loading it", || {
            // SAFETY: loading runs the library's code, which is what the user asked for.
            unsafe { libloading::os::unix::Library::open(Some(&path), libloading::os::unix::RTLD_NOW) }
        });
        let loaded = loaded.map_err(|error| format!("{place}: cannot be loaded: {}", loader_error(&error)))?;
        // SAFETY: a library that has this name has it for this object; what it holds is checked before it is used.
        let found = unsafe { loaded.get::<*const Discipline>(abi::SYMBOL.to_bytes_with_nul()) };
        let export = found.map_err(|_| format!("{place}: does not export `sojourn_library`; see sojourn_aqm.h"))?;
        // SAFETY: as above; the name is there.
        let export = unsafe { read_export(export.as_raw_ptr().cast()) }.map_err(|what| format!("{place}: {what}"))?;
        // It stays open.
        std::mem::forget(loaded);
        // SAFETY: null or constants of the library, as the header says.
        let [name, summary, source] =
            [export.name, export.summary, export.source].map(|text| unsafe { one_line(text) });
        Ok(Self { path, stamp, order: export.order, export, name, summary, source })
    }

    /// A new queue, or why there is none.
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
        // SAFETY: everything given lives during the call, and what `user` points to until the queue is freed.
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

    fn call<R>(&self, name: &'static str, call: impl FnOnce() -> R) -> R {
        crash::within(&self.path, name, call)
    }
}

/// What the loader said, without what it says of itself.
fn loader_error(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), |source| source.to_string())
}

/// The export behind `place`, checked.
///
/// # Safety
/// `place` points to what a library calls `sojourn_library`.
unsafe fn read_export(place: *const Discipline) -> Result<Discipline, String> {
    // SAFETY: every version begins with these two.
    let (size, version) =
        unsafe { (place.cast::<u32>().read_unaligned(), place.cast::<u32>().add(1).read_unaligned()) };
    if version != abi::ABI {
        let ours = abi::ABI;
        return Err(format!(
            "is built for version {version} of sojourn_aqm.h; rebuild it with this one, version {ours}"
        ));
    }
    if (size as usize) < std::mem::offset_of!(Discipline, settle) {
        return Err(format!("sojourn_library.size is {size}; set it to sizeof(sojourn_discipline)"));
    }
    let mut export = std::mem::MaybeUninit::<Discipline>::zeroed();
    let known = size_of::<Discipline>().min(size as usize);
    // SAFETY: both have at least `known` bytes; what is left is zero, which is a value of every field.
    let export = unsafe {
        std::ptr::copy_nonoverlapping(place.cast::<u8>(), export.as_mut_ptr().cast::<u8>(), known);
        export.assume_init()
    };
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

/// A text of a library in one line; empty for null.
///
/// # Safety
/// `text` is null or a string.
unsafe fn one_line(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not null, else as the caller says.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a library handed back by `dropped` since it was last looked at.
#[derive(Default)]
struct ReturnedPackets(UnsafeCell<Vec<(Packet, c_int)>>);

unsafe extern "C" fn on_drop(user: *mut c_void, packet: *const Packet, reason: c_int) {
    // SAFETY: `user` is what `create` gave, and it lives as long as the queue; the library calls this on the thread that
    // called it, and no reference to the list lives meanwhile.
    let list = unsafe { &mut *(*user.cast::<ReturnedPackets>()).0.get() };
    // A null pointer becomes a packet that nobody knows, and so does one that is shorter than any.
    // SAFETY: null or a packet, as the header says.
    let packet = unsafe { export::read(packet) }.unwrap_or(NO_PACKET);
    list.push((packet, reason));
}

/// The descriptor that a library fills.
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

/// A queue of a library. It does what it is told and judges nothing.
pub struct Instance {
    /// The library.
    pub library: &'static Library,
    /// Null when it is freed.
    queue: *mut abi::Queue,
    returned: *mut ReturnedPackets,
}

// SAFETY: the header allows calls from any thread, one at a time; nobody else has the list.
unsafe impl Send for Instance {}

impl Instance {
    /// Offers a packet.
    pub fn enqueue(&mut self, now: Time, packet: &Packet) -> c_int {
        let enqueue = self.library.export.enqueue.expect("checked when it was loaded");
        // SAFETY: the queue is not freed, and the packet lives during the call.
        self.library.call("enqueue", || unsafe { enqueue(self.queue, now, packet) })
    }

    /// Asks for a packet: the answer, the packet, and the time before which there is none.
    pub fn dequeue(&mut self, now: Time) -> (c_int, Packet, Time) {
        let dequeue = self.library.export.dequeue.expect("checked when it was loaded");
        let (mut packet, mut not_before) = (NO_PACKET, Time::MIN);
        // SAFETY: the queue is not freed; both are ours to be written.
        let code = self.library.call("dequeue", || unsafe { dequeue(self.queue, now, &mut packet, &mut not_before) });
        (code, packet, not_before)
    }

    /// Takes a packet straight through, if it does that at all.
    pub fn pass(&mut self, now: Time, packet: &Packet) -> c_int {
        let Some(pass) = self.library.export.pass else { return abi::EMPTY };
        // SAFETY: the queue is not freed, and the packet lives during the call.
        self.library.call("pass", || unsafe { pass(self.queue, now, packet) })
    }

    /// The answer, and packets and bytes that wait.
    pub fn backlog(&self) -> (c_int, u32, u64) {
        let backlog = self.library.export.backlog.expect("checked when it was loaded");
        let (mut packets, mut bytes) = (0, 0);
        // SAFETY: the queue is not freed; both are ours to be written.
        let code = self.library.call("backlog", || unsafe { backlog(self.queue, &mut packets, &mut bytes) });
        (code, packets, bytes)
    }

    /// Runs what is due.
    pub fn settle(&mut self, now: Time) -> c_int {
        let Some(settle) = self.library.export.settle else { return abi::OK };
        // SAFETY: the queue is not freed.
        self.library.call("settle", || unsafe { settle(self.queue, now) })
    }

    /// Shows the statistics, if it has any.
    pub fn statistics(&self, see: &mut dyn FnMut(&str, u64)) -> c_int {
        unsafe extern "C" fn show(user: *mut c_void, name: *const c_char, value: u64) {
            // SAFETY: `user` is the function below; the name is a string.
            unsafe { (*user.cast::<&mut dyn FnMut(&str, u64)>())(&one_line(name), value) }
        }
        let Some(statistics) = self.library.export.statistics else { return abi::OK };
        let mut see = see;
        let user = (&raw mut see).cast();
        // SAFETY: the queue is not freed, and what `user` points to lives during the call.
        self.library.call("statistics", || unsafe { statistics(self.queue, Some(show), user) })
    }

    /// Shows the variables of state, if it has any.
    pub fn states(&self, see: &mut dyn FnMut(&str, f64)) -> c_int {
        unsafe extern "C" fn show(user: *mut c_void, name: *const c_char, value: f64) {
            // SAFETY: `user` is the function below; the name is a string.
            unsafe { (*user.cast::<&mut dyn FnMut(&str, f64)>())(&one_line(name), value) }
        }
        let Some(states) = self.library.export.states else { return abi::OK };
        let mut see = see;
        let user = (&raw mut see).cast();
        // SAFETY: the queue is not freed, and what `user` points to lives during the call.
        self.library.call("states", || unsafe { states(self.queue, Some(show), user) })
    }

    /// Ends the queue; it is not called again.
    pub fn free(&mut self) {
        let free = self.library.export.free.expect("checked when it was loaded");
        let queue = std::mem::replace(&mut self.queue, null_mut());
        if !queue.is_null() {
            // SAFETY: it was not freed, and nobody has it any more.
            self.library.call("free", || unsafe { free(queue) });
        }
    }

    /// What came back by `dropped` since the last call of this.
    pub fn take_returned(&mut self) -> Vec<(Packet, c_int)> {
        // SAFETY: no call of the library is under way.
        std::mem::take(unsafe { &mut *(*self.returned).0.get() })
    }

    /// Why a call returned `code`, in the library's words.
    pub fn error(&self, code: c_int) -> String {
        let said = self.library.export.error.map(|error| {
            // SAFETY: the library gives null or a string.
            self.library.call("error", || unsafe { one_line(error()) })
        });
        said.filter(|text| !text.is_empty()).unwrap_or_else(|| format!("error {code}"))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.free();
        // SAFETY: made by `create`; the queue that knew it is gone.
        drop(unsafe { Box::from_raw(self.returned) });
    }
}
