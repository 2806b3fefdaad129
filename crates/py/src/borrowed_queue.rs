//! A queue borrowed by Python for the length of one call: the one file of this crate with unsafe code.
//!
//! A queue's view borrows from the stack of the discipline that calls, and a Python object can be kept for ever. So
//! the object holds a pointer only while the call that lends it runs, and only the thread of that call may use it.

#![allow(unsafe_code)]

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use sojourn_aqm::Fifo;
use std::mem;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// A place for a borrowed queue, or for none.
#[derive(Default)]
pub struct BorrowedQueue(Mutex<Option<Loan>>);

struct Loan {
    queue: NonNull<dyn Fifo>,
    borrower: ThreadId,
}

// SAFETY: another thread can move or drop a loan, which touches nothing behind the pointer; only `BorrowedQueue::with` follows
// it, and only on the borrower's thread.
unsafe impl Send for Loan {}

impl BorrowedQueue {
    /// Lends `queue` to Python for the duration of `call`.
    pub fn lend<R>(&self, queue: &mut dyn Fifo, call: impl FnOnce() -> R) -> R {
        /// Takes the queue back, also from a call that panics.
        struct LoanGuard<'a>(&'a BorrowedQueue);
        impl Drop for LoanGuard<'_> {
            fn drop(&mut self) {
                *self.0.slot() = None;
            }
        }
        // SAFETY: only the lifetime changes. `LoanGuard` removes the pointer before this function returns, and with it
        // the borrow of `queue` ends.
        let queue = unsafe { mem::transmute::<NonNull<dyn Fifo + '_>, NonNull<dyn Fifo>>(NonNull::from(queue)) };
        *self.slot() = Some(Loan { queue, borrower: thread::current().id() });
        let _back = LoanGuard(self);
        call()
    }

    /// Runs `act` on the borrowed queue; an error if this thread has borrowed none.
    pub fn with<R>(&self, act: impl FnOnce(&mut dyn Fifo) -> R) -> PyResult<R> {
        let me = thread::current().id();
        // Taken out meanwhile: whatever `act` sets off finds no queue, so this reference is the only one.
        let Some(mut loan) = self.slot().take_if(|loan| loan.borrower == me) else {
            return Err(PyRuntimeError::new_err(
                "the queue may be used only within the call that received it, in the same thread",
            ));
        };
        // SAFETY: the pointer is in the slot only within `lend`, which runs further up on this very thread and holds
        // the exclusive borrow that the pointer was made from; nobody else uses it, as said above.
        let result = act(unsafe { loan.queue.as_mut() });
        *self.slot() = Some(loan);
        Ok(result)
    }

    fn slot(&self) -> MutexGuard<'_, Option<Loan>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
