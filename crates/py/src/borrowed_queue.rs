//! A queue borrowed by Python for one call: the only file of this crate with unsafe code.
//!
//! A queue's view borrows from the stack of the calling qdisc, but Python may keep its object forever. So the object
//! holds a pointer only during the call, and only the calling thread may use it. Moving ownership instead would copy
//! the queue.

#![allow(unsafe_code)]

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use sojourn_aqm::Fifo;
use std::mem;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// Holder of a borrowed queue; empty outside a call.
#[derive(Default)]
pub struct BorrowedQueue(Mutex<Option<Loan>>);

struct Loan {
    queue: NonNull<dyn Fifo>,
    borrower: ThreadId,
}

// SAFETY: another thread can move or drop a loan, which does not access the pointer's target; only
// `BorrowedQueue::with` dereferences it, and only on the borrower's thread.
unsafe impl Send for Loan {}

impl BorrowedQueue {
    /// Lends `queue` to Python for the duration of `call`.
    pub fn lend<R>(&self, queue: &mut dyn Fifo, call: impl FnOnce() -> R) -> R {
        /// Removes the pointer when the call ends, even by a panic.
        struct LoanGuard<'a>(&'a BorrowedQueue);
        impl Drop for LoanGuard<'_> {
            fn drop(&mut self) {
                *self.0.slot() = None;
            }
        }
        // SAFETY: only the lifetime changes. `LoanGuard` removes the pointer before this function returns and the
        // borrow of `queue` ends.
        let queue = unsafe { mem::transmute::<NonNull<dyn Fifo + '_>, NonNull<dyn Fifo>>(NonNull::from(queue)) };
        *self.slot() = Some(Loan { queue, borrower: thread::current().id() });
        let _guard = LoanGuard(self);
        call()
    }

    /// Runs `act` on the borrowed queue; an error if this thread has borrowed none.
    pub fn with<R>(&self, act: impl FnOnce(&mut dyn Fifo) -> R) -> PyResult<R> {
        let current = thread::current().id();
        // Taken out during `act`, so that nested calls find no queue and this reference is the only one.
        let Some(mut loan) = self.slot().take_if(|loan| loan.borrower == current) else {
            return Err(PyRuntimeError::new_err(
                "the queue may be used only within the call that received it, in the same thread",
            ));
        };
        // SAFETY: the pointer is in the slot only during `lend`, which is on this thread's stack and holds the
        // exclusive borrow from which the pointer was made; there is no other reference, because it was taken out.
        let result = act(unsafe { loan.queue.as_mut() });
        *self.slot() = Some(loan);
        Ok(result)
    }

    fn slot(&self) -> MutexGuard<'_, Option<Loan>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
