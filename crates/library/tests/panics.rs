//! An AQM that panics does not crash its host: the call returns an error code and a text, and every packet returns.
#![allow(unsafe_code)] // The test acts as a host in C.

use sojourn_aqm::params::Value;
use sojourn_aqm::registry::{Algorithm, AqmConfig};
use sojourn_aqm::{Aqm, Cx, Fifo, Meta, PoppedPacket, Verdict, config};
use sojourn_library::abi::{self, Host, Packet, Queue};
use sojourn_library::export;
use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;

config! {
    /// When to panic.
    pub struct Config {
        /// Panics when this many packets are queued.
        at: u64 = 3, in Value::Count(0) => Value::Count(1000);
        /// Panics in `dequeue`, after dropping the head.
        late: bool = false, in Value::Flag(false) => Value::Flag(true);
    }
    profiles { "plain", "three packets" => |_| {}; }
    validate |_| Ok(())
}

/// Panics.
pub struct PanickingAqm(Config);

impl Aqm for PanickingAqm {
    fn enqueue(&mut self, _: &mut Cx, _: &Meta, queue: &mut dyn Fifo) -> Verdict {
        assert!(self.0.late || (queue.len() as u64) < self.0.at, "{} packets are too many", self.0.at);
        Verdict::Accept
    }

    fn dequeue(&mut self, _: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        if queue.len() as u64 == self.0.at {
            queue.drop(0, sojourn_aqm::DropReason::Late);
            panic!("on the way out\0");
        }
        queue.pop()
    }
}

impl AqmConfig for Config {
    type Aqm = PanickingAqm;
    fn aqm(&self) -> PanickingAqm {
        PanickingAqm(self.clone())
    }
}

static PANICS: Algorithm = Algorithm::custom::<Config>("panics", "Panics", "this test");

/// Returned packets: tokens and drop reasons.
type ReturnedPackets = Vec<(usize, c_int)>;

unsafe extern "C" fn take_back(user: *mut c_void, packet: *const Packet, reason: c_int) {
    // SAFETY: the test passes a `ReturnedPackets`, and the packet lives during the call.
    unsafe { (*user.cast::<ReturnedPackets>()).push(((*packet).handle as usize, reason)) }
}

fn create(text: &CStr, back: &mut ReturnedPackets) -> *mut Queue {
    let host = Host {
        size: size_of::<Host>() as u32,
        mtu: 0,
        rate: 9_999_991,
        random: 5,
        start: 0,
        limit_packets: 0,
        reserved: 0,
        limit_bytes: 0,
        limit_time: 0,
        dropped: Some(take_back),
        user: (&raw mut *back).cast(),
        delay: 0,
    };
    let mut queue = null_mut();
    // SAFETY: all arguments are valid.
    assert_eq!(unsafe { export::create("", &[&PANICS], text.as_ptr(), &host, &mut queue) }, 0);
    queue
}

fn packet(token: usize) -> Packet {
    Packet {
        size: size_of::<Packet>() as u32,
        length: 1409,
        segments: 1,
        flow: 3,
        source: 1,
        destination: 2,
        dscp: 0,
        ecn: 0,
        reserved: 0,
        header_length: 0,
        header: null_mut(),
        handle: token as *mut c_void,
        enqueued: 0,
        priority: 0,
        reserved_2: 0,
    }
}

fn error() -> String {
    // SAFETY: the text is valid until this thread's next error.
    unsafe { CStr::from_ptr(export::error()) }.to_string_lossy().into_owned()
}

#[test]
fn a_panic_on_arrival_has_taken_the_packet_and_freeing_gives_all_back() {
    let mut back = ReturnedPackets::new();
    let queue = create(c"panics at 2", &mut back);
    // SAFETY: the queue is freed at the end only, and the packets live during the calls.
    unsafe {
        assert_eq!(export::enqueue(queue, 1, &packet(1)), abi::QUEUED);
        assert_eq!(export::enqueue(queue, 2, &packet(2)), abi::QUEUED);
        assert_eq!(export::enqueue(queue, 3, &packet(3)), abi::PANICKED);
        assert_eq!(error(), "panicked: 2 packets are too many");
        assert_eq!(export::enqueue(queue, 4, &packet(4)), abi::FAILED);
        assert_eq!(export::settle(queue, 5), abi::FAILED);
        assert_eq!(export::backlog(queue, null_mut(), null_mut()), abi::FAILED);
        assert_eq!(error(), "the queue failed in an earlier call; free it");
        export::free(queue);
    }
    assert_eq!(back, [(1, abi::FREED), (2, abi::FREED), (3, abi::FREED)], "the fourth was not taken");
}

#[test]
fn what_was_dropped_before_the_panic_does_not_come_back_twice() {
    let mut back = ReturnedPackets::new();
    let queue = create(c"panics at 2 late", &mut back);
    let mut out = packet(0);
    // SAFETY: as above.
    unsafe {
        assert_eq!(export::enqueue(queue, 1, &packet(1)), abi::QUEUED);
        assert_eq!(export::enqueue(queue, 1, &packet(2)), abi::QUEUED);
        assert_eq!(export::dequeue(queue, 7, &mut out, null_mut()), abi::PANICKED);
        assert_eq!(error(), "panicked: on the way out?", "a zero byte would end the text");
        export::free(queue);
    }
    assert_eq!(back, [(1, 2), (2, abi::FREED)]);
}

#[test]
fn names_of_reasons_are_those_of_the_queues() {
    for reason in sojourn_aqm::DropReason::ALL {
        assert_eq!(export::reason(reason as c_int).to_str(), Ok(reason.name()));
    }
    assert_eq!(export::reason(sojourn_aqm::DropReason::ALL.len() as c_int), c"unknown");
}
