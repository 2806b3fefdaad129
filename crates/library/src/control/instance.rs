//! The control of one connection in a library. Every call of its functions is in this file.
#![allow(unsafe_code)]

use super::library::Library;
use crate::crash;
use sojourn_tcp::cc::foreign::{Call, Fault, FlightView, ForeignControl};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// The state of a connection.
#[derive(Debug)]
pub(super) struct Instance {
    library: &'static Library,
    state: *mut c_void,
}

// SAFETY: the header allows calls of a connection from any thread, one at a time.
unsafe impl Send for Instance {}
// SAFETY: only `copy` takes a shared reference, and the library's `clone` gets a constant state.
unsafe impl Sync for Instance {}

impl Instance {
    /// The state that the library's `create` or `clone` has returned.
    pub fn new(library: &'static Library, state: *mut c_void) -> Self {
        Self { library, state }
    }
}

impl ForeignControl for Instance {
    fn call(&mut self, call: Call, view: &mut FlightView) -> Result<u32, Fault> {
        let (export, state) = (&self.library.export, self.state);
        let (name, now) = (call.kind().name(), view.now.max(0));
        let call_it = || -> Option<u32> {
            // SAFETY: the state is the library's own and has not been freed; view and arguments live during the call.
            unsafe {
                match call {
                    Call::Ssthresh(cause) => return Some(export.ssthresh?(state, view, cause as c_int)),
                    Call::Grow(ack) => export.grow?(state, view, &ack),
                    Call::Acked(ack) => export.acked?(state, view, &ack),
                    Call::Report(ack) => export.report?(state, view, &ack),
                    Call::Delivered(counts) => export.delivered?(state, view, counts.packets, counts.ce),
                    Call::State(entered) => export.state?(state, view, entered as c_int),
                    Call::Idle(last_sent) => export.idle?(state, view, last_sent),
                    Call::Reduced => export.reduced?(state, view),
                    Call::TimedOut => export.timed_out?(state, view),
                    Call::Undo => return Some(export.undo?(state, view)),
                    Call::MinCwnd => return Some(export.min_cwnd?(state, view)),
                    Call::Start => export.start?(state, view),
                    Call::Ack(sample) => export.ack?(state, view, &sample),
                    Call::Lost(loss) => export.lost?(state, view, &loss),
                    Call::Repaired(app_limited) => export.repaired?(state, view, app_limited as c_int),
                    Call::Congestion(cause) => export.congestion?(state, view, cause as c_int),
                    Call::Sent(bytes) => export.sent?(state, view, bytes),
                }
            }
            Some(0)
        };
        Ok(crash::within_at(self.library.path(), name, now, call_it).unwrap_or(0))
    }

    fn copy(&self) -> Result<Box<dyn ForeignControl>, Fault> {
        let Some(clone) = self.library.export.clone else {
            return Err(Fault::Text("is null; give it to copy connections".to_string()));
        };
        let mut state = null_mut();
        // SAFETY: the state is the library's own and has not been freed.
        let code = crash::within(self.library.path(), "clone", || unsafe { clone(self.state, &mut state) });
        if code < 0 {
            return Err(Fault::Text(self.library.error(code)));
        }
        Ok(Box::new(Self::new(self.library, state)))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let free = self.library.export.free.expect("checked when it was loaded");
        // SAFETY: it is freed once, and no pointer to it is left.
        crash::within(self.library.path(), "free", || unsafe { free(self.state) });
    }
}
