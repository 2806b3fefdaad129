//! Threads that a thread has started, recognised by an inherited signal mask.
#![allow(unsafe_code)]

use std::fs;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

/// A real-time signal that this thread blocks and no other did: threads that it starts inherit the mask.
pub(super) struct Mark {
    signal: i32,
}

impl Mark {
    /// Marks this thread; `None` if every signal is in use.
    pub(super) fn new() -> Option<Self> {
        let blocked = blocked_signals("thread-self")?;
        (libc::SIGRTMIN()..=libc::SIGRTMAX())
            .filter(|signal| blocked & bit(*signal) == 0)
            .find(|signal| IN_USE.fetch_or(bit(*signal), Ordering::Relaxed) & bit(*signal) == 0)
            .map(|signal| {
                change_mask(libc::SIG_BLOCK, signal);
                Self { signal }
            })
    }

    /// Number of living threads that were started under the mark.
    pub(super) fn started(&self) -> usize {
        // This thread has the mark too.
        self.marked().saturating_sub(1)
    }

    fn marked(&self) -> usize {
        let all = (libc::SIGRTMIN()..=libc::SIGRTMAX()).map(bit).sum::<u64>();
        let mut marked = 0;
        for _ in 0..MAX_READS {
            let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
            let masks = tasks.filter_map(|task| blocked_signals(&format!("self/task/{}", task.file_name().to_str()?)));
            // glibc blocks all signals of a thread while it starts or ends.
            let (moving, settled): (Vec<u64>, Vec<u64>) = masks.partition(|blocked| blocked & all == all);
            marked = settled.iter().filter(|blocked| *blocked & bit(self.signal) != 0).count();
            if moving.is_empty() {
                break;
            }
            std::thread::yield_now();
        }
        marked
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let is_free = self.started() == 0;
        change_mask(libc::SIG_UNBLOCK, self.signal);
        // While any thread blocks it, another run would take that thread for its own.
        if is_free {
            IN_USE.fetch_and(!bit(self.signal), Ordering::Relaxed);
        }
    }
}

/// Bitmap of the signals that a thread blocks; `None` without procfs.
fn blocked_signals(task: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{task}/status")).ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// Blocks or unblocks a signal in this thread.
fn change_mask(how: i32, signal: i32) {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set, the signal exists, and the old mask may be null.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        libc::pthread_sigmask(how, set.as_ptr(), std::ptr::null_mut());
    }
}

/// Bitmap of the signals that are marks.
static IN_USE: AtomicU64 = AtomicU64::new(0);

/// Maximum number of looks at threads while some start or end.
const MAX_READS: usize = 100;
