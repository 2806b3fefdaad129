//! Redirects packets out of an interface and back into it, by BPF programs at its ingress and egress hooks (TCX, Linux
//! 6.6; `linux/bpf.h`).
//!
//! A hook lives as long as its descriptor: however this process ends, the interface returns to its former state.
//! Alternatives: AF_PACKET only copies; `tc mirred` stays behind after `kill -9`; a bridge or a move to another
//! namespace costs the interface its addresses and routes.
#![allow(unsafe_code)]

use super::check;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Direction of a hook, as seen from the kernel that owns the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookDirection {
    /// TCX ingress: before the network stack processes a received packet.
    In,
    /// TCX egress: before a packet to be sent enters the qdisc.
    Out,
}

/// A program attached to an interface until this is dropped.
#[derive(Debug)]
pub struct Hook {
    _link: OwnedFd,
}

impl Hook {
    /// Redirects packets that pass hook `direction` of interface `from` to the egress of interface `to`. Packets with
    /// `mark` pass instead, with the mark cleared.
    pub fn divert(from: u32, direction: HookDirection, to: u32, mark: u32) -> io::Result<Self> {
        let unmarked = [store(MARK, 0), answer(NEXT), EXIT];
        let program =
            [&[load(MARK), unless(mark, unmarked.len() as i16)][..], &unmarked, &redirect(to, HookDirection::Out)]
                .concat();
        Self::attach(from, direction, &program)
    }

    /// Redirects packets received on interface `from` to the egress or ingress (`direction`) of interface `to` and sets
    /// `mark`.
    pub fn inject(from: u32, to: u32, direction: HookDirection, mark: u32) -> io::Result<Self> {
        let program = [&[store(MARK, mark)][..], &redirect(to, direction)].concat();
        Self::attach(from, HookDirection::In, &program)
    }

    fn attach(interface: u32, direction: HookDirection, program: &[u64]) -> io::Result<Self> {
        let kind = match direction {
            HookDirection::In => TCX_INGRESS,
            HookDirection::Out => TCX_EGRESS,
        };
        let license = c"MIT OR Apache-2.0";
        let mut load = Attributes::default();
        load.put(0, SCHED_CLS);
        load.put(4, program.len() as u32);
        load.put_long(8, program.as_ptr() as u64);
        load.put_long(16, license.as_ptr() as u64);
        load.put(68, kind);
        let program = load.call(PROG_LOAD)?;
        let mut link = Attributes::default();
        link.put(0, program.as_raw_fd() as u32);
        link.put(4, interface);
        link.put(8, kind);
        Ok(Self { _link: link.call(LINK_CREATE)? })
    }
}

/// First 128 bytes of `union bpf_attr`; later fields are not used here.
#[repr(align(8))]
#[derive(Clone, Copy)]
struct Attributes([u8; 128]);

impl Default for Attributes {
    fn default() -> Self {
        Self([0; 128])
    }
}

impl Attributes {
    fn put(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }

    fn put_long(&mut self, at: usize, value: u64) {
        self.0[at..at + 8].copy_from_slice(&value.to_ne_bytes());
    }

    fn call(&mut self, command: libc::c_long) -> io::Result<OwnedFd> {
        // SAFETY: the union has the given length, and the buffers it points to live in the callers' stack frames.
        let fd = check(unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_mut_ptr(), self.0.len()) })?;
        // SAFETY: the kernel has just created this descriptor for this process; it is close-on-exec.
        Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
    }
}

/// Encodes an instruction (`struct bpf_insn`): opcode, registers, offset, immediate.
const fn instruction(operation: u8, destination: u8, source: u8, offset: i16, number: i32) -> u64 {
    let [low, high] = offset.to_ne_bytes();
    let [a, b, c, d] = number.to_ne_bytes();
    let registers = if cfg!(target_endian = "little") { source << 4 | destination } else { destination << 4 | source };
    u64::from_ne_bytes([operation, registers, low, high, a, b, c, d])
}

/// Loads a word of `struct __sk_buff` into register 2.
fn load(field: i16) -> u64 {
    instruction(0x61, 2, 1, field, 0)
}

/// Stores a constant in a word of `struct __sk_buff`.
fn store(field: i16, number: u32) -> u64 {
    instruction(0x62, 1, 0, field, number as i32)
}

/// Jumps over `instructions` unless register 2 equals `number`.
fn unless(number: u32, instructions: i16) -> u64 {
    instruction(0x56, 2, 0, instructions, number as i32)
}

/// Sets register 0, the return value.
fn answer(number: i32) -> u64 {
    instruction(0xb4, 0, 0, 0, number)
}

/// Calls `bpf_redirect` and returns its result.
fn redirect(to: u32, direction: HookDirection) -> [u64; 4] {
    let ingress = if direction == HookDirection::In { 1 } else { 0 };
    [instruction(0xb4, 1, 0, 0, to as i32), instruction(0xb4, 2, 0, 0, ingress), instruction(0x85, 0, 0, 0, 23), EXIT]
}

const EXIT: u64 = instruction(0x95, 0, 0, 0, 0);

/// Offset of `mark` in `struct __sk_buff`.
const MARK: i16 = 8;

/// TCX_NEXT: continue with the next program.
const NEXT: i32 = -1;

/// BPF_PROG_LOAD and BPF_LINK_CREATE.
const PROG_LOAD: libc::c_long = 5;
const LINK_CREATE: libc::c_long = 28;

/// BPF_PROG_TYPE_SCHED_CLS, BPF_TCX_INGRESS and BPF_TCX_EGRESS.
const SCHED_CLS: u32 = 3;
const TCX_INGRESS: u32 = 46;
const TCX_EGRESS: u32 = 47;
