//! The functions in C. Declared in `sojourn_qdisc.h` of packages/kernel, whose layouts a test compares.
//!
//! Imported from the kernel: `sojourn_qdisc_dropped` and `sojourn_qdisc_head` of [`Kernel`]; in an object file also
//! `sojourn_qdisc_alloc`, `sojourn_qdisc_release` and `sojourn_qdisc_panic` (`freestanding`).
//!
//! The kernel holds the lock of the discipline during each call on its queue.
#![allow(unsafe_code)]

use crate::queue::{Handle, Kernel, Queue, Setup};
use alloc::boxed::Box;
use alloc::string::String;
use core::ffi::c_void;
use core::fmt::{self, Write};
use sojourn_aqm::class::ClassId;
use sojourn_aqm::{DequeueResult, DropReason, Duration, Ecn, EnqueueResult, Instant, Link, Meta, Rate};

/// `struct sojourn_setup`.
#[repr(C)]
pub struct CSetup {
    /// Rate of the link in bit/s; not 0.
    pub rate: u64,
    /// One-way propagation delay in ns; 0: unknown.
    pub delay: u64,
    /// State of the random stream.
    pub seed: u64,
    /// Time in ns.
    pub now: u64,
    /// Largest packet in bytes, as the queue accounts it.
    pub mtu: u64,
}

/// `struct sojourn_packet`.
#[repr(C)]
pub struct CPacket {
    /// The kernel's packet.
    pub handle: Handle,
    /// Bytes as the queue accounts them.
    pub len: u32,
    /// Hash or number of the flow.
    pub flow: u32,
    /// Identifiers of the sending and the receiving host.
    pub hosts: [u32; 2],
    /// `skb->priority`; 0: by the DSCP.
    pub class: u32,
    /// Segments of a super-packet; 1 for a packet.
    pub segments: u16,
    /// Type of service or traffic class: DSCP and ECN field.
    pub tos: u8,
}

/// `struct sojourn_departure`.
#[repr(C)]
pub struct CDeparture {
    /// The packet to transmit.
    pub handle: Handle,
    /// With [`NOT_BEFORE`], the time in ns before which no packet may leave.
    pub at: u64,
    /// ECN field of the packet.
    pub ecn: u32,
}

/// `sojourn_qdisc_dequeue`: the queue is empty.
pub const EMPTY: u32 = 0;
/// `sojourn_qdisc_dequeue`: a packet leaves.
pub const PACKET: u32 = 1;
/// `sojourn_qdisc_dequeue`: packets wait for a time.
pub const NOT_BEFORE: u32 = 2;

unsafe extern "C" {
    fn sojourn_qdisc_dropped(user: *mut c_void, handle: Handle, ecn: u32, reason: u32);
    fn sojourn_qdisc_head(user: *mut c_void, handle: Handle, bytes: *mut u8, room: usize) -> usize;
}

/// The kernel's side of a queue.
struct Imports(*mut c_void);

impl Kernel for Imports {
    fn dropped(&mut self, packet: Handle, meta: &Meta, reason: DropReason) {
        // SAFETY: integers, and the pointer that the kernel passed with this call.
        unsafe { sojourn_qdisc_dropped(self.0, packet, meta.ecn as u32, reason as u32) };
    }

    fn head(&self, packet: Handle, bytes: &mut [u8]) -> usize {
        // SAFETY: as above; the buffer has the length that is passed.
        unsafe { sojourn_qdisc_head(self.0, packet, bytes.as_mut_ptr(), bytes.len()) }
    }
}

/// Bytes that the kernel passes; an empty slice for a length of 0.
///
/// # Safety
/// `at` points to `len` bytes that stay unchanged for `'a`.
unsafe fn text<'a>(at: *const u8, len: usize) -> Result<&'a str, String> {
    // SAFETY: by this function's contract.
    let bytes = if len == 0 { &[] } else { unsafe { core::slice::from_raw_parts(at, len) } };
    core::str::from_utf8(bytes).map_err(|_| String::from("the text is not UTF-8"))
}

/// A string of the kernel, cut to its room; always terminated by a zero.
struct TextBuffer<'a> {
    room: &'a mut [u8],
    len: usize,
}

impl TextBuffer<'_> {
    /// # Safety
    /// `out` points to `room` bytes that are writable for `'a`.
    unsafe fn new(out: *mut u8, room: usize) -> Self {
        // SAFETY: by this function's contract.
        let room = if room == 0 { &mut [] } else { unsafe { core::slice::from_raw_parts_mut(out, room) } };
        room.iter_mut().take(1).for_each(|first| *first = 0);
        Self { room, len: 0 }
    }
}

impl Write for TextBuffer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut len = text.len().min(self.room.len().saturating_sub(self.len + 1));
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        self.room[self.len..self.len + len].copy_from_slice(&text.as_bytes()[..len]);
        self.len += len;
        if let Some(end) = self.room.get_mut(self.len) {
            *end = 0;
        }
        if len == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

/// Writes `text` to `room` bytes at `out`.
///
/// # Safety
/// As [`TextBuffer::new`].
unsafe fn write(text: &str, out: *mut u8, room: usize) {
    // SAFETY: by this function's contract.
    let _ = unsafe { TextBuffer::new(out, room) }.write_str(text);
}

/// The value, or `None` after the reason of the refusal was written to `why`.
///
/// # Safety
/// As [`write`].
unsafe fn accepted<T>(result: Result<T, String>, why: *mut u8, room: usize) -> Option<T> {
    // SAFETY: by this function's contract.
    result.map_err(|reason| unsafe { write(&reason, why, room) }).ok()
}

/// Writes the environment of the queue's creation or reset; a queue created in it can change this one.
///
/// # Safety
/// As [`sojourn_qdisc_enqueue`]; `out` points to a writable struct.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_qdisc_setup(queue: *const Queue, out: *mut CSetup) {
    // SAFETY: by this function's contract.
    let (queue, out) = unsafe { (&*queue, &mut *out) };
    let Setup { link, seed, now } = queue.setup();
    *out = CSetup {
        rate: link.rate.as_bps(),
        delay: link.delay.as_nanos() as u64,
        seed,
        now: now.as_nanos(),
        mtu: u64::from(link.mtu),
    };
}

/// Makes a queue with all its memory. Null if the text or the limit is refused, with the reason in `why`, a string of
/// at most `room` bytes.
///
/// # Safety
/// `text`, `limit` and `why` point to as many bytes as is said; `setup` to a valid struct.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_qdisc_create(
    setup: *const CSetup,
    words: *const u8,
    words_len: usize,
    limit: *const u8,
    limit_len: usize,
    why: *mut u8,
    room: usize,
) -> *mut Queue {
    // SAFETY: by this function's contract.
    let (setup, words, limit) = unsafe { (&*setup, text(words, words_len), text(limit, limit_len)) };
    let link = Link {
        delay: Duration::from_nanos(setup.delay.min(i64::MAX as u64) as i64),
        ..Link::new(Rate::from_bps(setup.rate.max(1)), setup.mtu.min(u64::from(u32::MAX)) as u32)
    };
    let setup = Setup { link, seed: setup.seed, now: Instant::from_nanos(setup.now) };
    let made = words.and_then(|words| Queue::create(words, limit?, setup));
    // SAFETY: by this function's contract.
    unsafe { accepted(made, why, room) }.map_or(core::ptr::null_mut(), |queue| Box::into_raw(Box::new(queue)))
}

/// Changes a queue to the parameters, limits and memory of `new`, which is the old queue then, to be freed. Returns
/// whether it was changed; otherwise the reason is in `why`.
///
/// # Safety
/// As [`sojourn_qdisc_create`]; both queues are of that function and not freed, and in no other call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_qdisc_change(
    queue: *mut Queue,
    now: u64,
    user: *mut c_void,
    new: *mut Queue,
    why: *mut u8,
    room: usize,
) -> bool {
    // SAFETY: by this function's contract.
    let (queue, new) = unsafe { (&mut *queue, &mut *new) };
    let changed = queue.change(new, Instant::from_nanos(now), &mut Imports(user));
    // SAFETY: by this function's contract.
    unsafe { accepted(changed, why, room) }.is_some()
}

/// Forgets all packets, which the kernel has freed, and starts as at its creation.
///
/// # Safety
/// As [`sojourn_qdisc_enqueue`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_qdisc_reset(queue: *mut Queue, now: u64) {
    // SAFETY: by this function's contract.
    unsafe { &mut *queue }.reset(Instant::from_nanos(now));
}

/// Frees a queue's memory; its packets are the kernel's.
///
/// # Safety
/// `queue` is of [`sojourn_qdisc_create`], or null, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_qdisc_free(queue: *mut Queue) {
    if !queue.is_null() {
        // SAFETY: by this function's contract.
        drop(unsafe { Box::from_raw(queue) });
    }
}

/// Offers a packet: 0 if it waits, 1 if it waits newly marked, 2 and the reason's number if it or another in its stead
/// was dropped; `sojourn_qdisc_dropped` has named each.
///
/// # Safety
/// `queue` is of [`sojourn_qdisc_create`], not freed, and in no other call; `packet` points to a valid struct.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_qdisc_enqueue(
    queue: *mut Queue,
    now: u64,
    user: *mut c_void,
    packet: *const CPacket,
) -> u32 {
    // SAFETY: by this function's contract.
    let (queue, packet) = unsafe { (&mut *queue, &*packet) };
    let meta = Meta {
        enqueued: Instant::ZERO,
        len: packet.len,
        flow: packet.flow,
        hosts: (packet.hosts[0], packet.hosts[1]),
        dscp: packet.tos >> 2,
        ecn: Ecn::ALL[usize::from(packet.tos & 3)],
        class: ClassId::new((packet.class >> 16) as u16, packet.class as u16),
        segments: packet.segments.max(1),
    };
    match queue.enqueue(Instant::from_nanos(now), meta, packet.handle, &mut Imports(user)) {
        EnqueueResult::Queued => 0,
        EnqueueResult::Marked => 1,
        EnqueueResult::Dropped(reason) => 2 + reason as u32,
    }
}

/// Requests a packet: [`EMPTY`], [`PACKET`] or [`NOT_BEFORE`], with the rest in `out`.
///
/// # Safety
/// As [`sojourn_qdisc_enqueue`]; `out` points to a writable struct.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_qdisc_dequeue(
    queue: *mut Queue,
    now: u64,
    user: *mut c_void,
    out: *mut CDeparture,
) -> u32 {
    // SAFETY: by this function's contract.
    let (queue, out) = unsafe { (&mut *queue, &mut *out) };
    match queue.dequeue(Instant::from_nanos(now), &mut Imports(user)) {
        DequeueResult::Empty => EMPTY,
        DequeueResult::Packet(meta, handle) => {
            (out.handle, out.ecn) = (handle, meta.ecn as u32);
            PACKET
        }
        DequeueResult::NotBefore(at) => {
            out.at = at.as_nanos();
            NOT_BEFORE
        }
    }
}

/// Runs the updates due up to and including `now`.
///
/// # Safety
/// As [`sojourn_qdisc_enqueue`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_qdisc_settle(queue: *mut Queue, now: u64) {
    // SAFETY: by this function's contract.
    unsafe { &mut *queue }.settle(Instant::from_nanos(now));
}

/// Timer of the updates in ns: from the creation to the first expiry and from one to the next. Returns whether the
/// queue needs one.
///
/// # Safety
/// As [`sojourn_qdisc_enqueue`]; `first` and `period` point to writable numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_qdisc_ticks(queue: *const Queue, first: *mut u64, period: *mut u64) -> bool {
    // SAFETY: by this function's contract.
    let (queue, first, period) = unsafe { (&*queue, &mut *first, &mut *period) };
    let Some(ticks) = queue.ticks() else { return false };
    (*first, *period) = (ticks.first.as_nanos() as u64, ticks.period.as_nanos() as u64);
    true
}

/// Whether the kernel offers the segments of a super-packet in its place.
///
/// # Safety
/// As [`sojourn_qdisc_enqueue`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_qdisc_splits_gso(queue: *const Queue) -> bool {
    // SAFETY: by this function's contract.
    unsafe { &*queue }.splits_gso()
}

/// Writes the queue's limits and spelling, as `sojourn_qdisc_create` reads them.
///
/// # Safety
/// As [`sojourn_qdisc_enqueue`]; `out` points to `room` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_qdisc_spelling(queue: *const Queue, out: *mut u8, room: usize) {
    // SAFETY: by this function's contract.
    unsafe { write((*queue).spelling(), out, room) };
}

/// Writes the queue's counters and state at `now`.
///
/// # Safety
/// As [`sojourn_qdisc_spelling`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_qdisc_state(queue: *mut Queue, now: u64, out: *mut u8, room: usize) {
    // SAFETY: by this function's contract.
    let (queue, mut text) = unsafe { (&mut *queue, TextBuffer::new(out, room)) };
    queue.state(Instant::from_nanos(now), &mut text);
}
