//! Where a packet goes that leaves a shell upwards.

use super::inside::End;
use crate::path::Sink;
use crate::sys::tun::Tun;
use std::io::{self, IoSlice};

/// The outer side of a shell.
pub struct Outside {
    /// The end in the namespace where the shell was started, or in one of its own.
    pub end: End,
}

impl Outside {
    /// The device to what lies beyond this machine, if it is another one.
    pub fn far_tun(&self) -> Option<&Tun> {
        None
    }
}

impl Sink for Outside {
    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        self.end.tun.write(parts)
    }
}
