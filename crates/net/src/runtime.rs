//! A single-threaded executor whose time is that of a net, for stacks and tests written with `async`.
//!
//! Woken tasks are polled in the order of waking until none is ready; then the clock moves to the next event of the net
//! or the next timer, whichever is earlier, events first. Timers of one instant fire in the order of their
//! registration. Nothing depends on threads, real time or addresses of memory, so equal programs make equal decisions.

mod socket;

use crate::error::Error;
use crate::net::{End, Event, Net};
use crate::report::Report;
use socket::Inbox;
pub use socket::{Incoming, UdpSocket};
use sojourn_aqm::Instant;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Handle of an executor; clones share it.
#[derive(Clone)]
pub struct Runtime {
    state: Arc<Mutex<State>>,
    ready: Arc<Mutex<VecDeque<Arc<TaskWaker>>>>,
}

struct State {
    /// The net, until the run is finished.
    net: Option<Net>,
    tasks: BTreeMap<u64, Pin<Box<dyn Future<Output = ()> + Send>>>,
    timers: BTreeMap<TimerKey, Waker>,
    /// By end and local port.
    sockets: BTreeMap<(End, u16), Inbox>,
    /// Tasks that wait for room in the host of an end.
    room: BTreeMap<End, Vec<Waker>>,
    /// Number of the next task or timer.
    next: u64,
}

/// Instant of a timer, then its number.
type TimerKey = (Instant, u64);

/// Runs the future that `main` returns, and then ends the run. Returns the future's output and the results.
///
/// # Errors
///
/// As [`Runtime::block_on`] and [`Runtime::finish`].
///
/// # Panics
///
/// With the message of a task that panics.
pub fn block_on<F: Future>(net: Net, main: impl FnOnce(Runtime) -> F) -> Result<(F::Output, Report), Error> {
    let runtime = Runtime::new(net);
    let output = runtime.block_on(main(runtime.clone()))?;
    Ok((output, runtime.finish()?))
}

impl Runtime {
    /// An executor over the open ends of `net`.
    pub fn new(net: Net) -> Self {
        let (tasks, timers, sockets, room) = Default::default();
        let state = State { net: Some(net), tasks, timers, sockets, room, next: 1 };
        Self { state: Arc::new(Mutex::new(state)), ready: Arc::default() }
    }

    /// Spawns a task, which is first polled after those that are ready now. It ends when its future does, when it is
    /// [cancelled](JoinHandle::cancel), or with the run.
    pub fn spawn<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        let result: Arc<Mutex<Outcome<T>>> = Arc::default();
        let sender = result.clone();
        let task = Box::pin(async move {
            let value = future.await;
            let mut outcome = lock(&sender);
            outcome.value = Some(value);
            outcome.waiting.take().into_iter().for_each(Waker::wake);
        });
        let mut state = self.lock();
        let id = state.number();
        state.tasks.insert(id, task);
        self.waker(id).wake();
        JoinHandle { runtime: self.clone(), id, result }
    }

    /// Runs `main` and the tasks until `main` has finished. Other tasks then stop.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] if the run ends before, if nothing is left that could wake a task, or if tasks wake each other
    /// a million times at one instant; and as [`Net::next`].
    ///
    /// # Panics
    ///
    /// With the message of a task that panics.
    pub fn block_on<F: Future>(&self, main: F) -> Result<F::Output, Error> {
        let mut main = pin!(main);
        self.waker(MAIN).wake();
        let mut polls = 0;
        loop {
            while let Some(waker) = { lock(&self.ready).pop_front() } {
                waker.is_queued.store(false, Ordering::Relaxed);
                let id = waker.id;
                let waker = Waker::from(waker);
                let mut cx = Context::from_waker(&waker);
                if id == MAIN {
                    if let Poll::Ready(output) = main.as_mut().poll(&mut cx) {
                        return Ok(output);
                    }
                } else if let Some(mut task) = { self.lock().tasks.remove(&id) } {
                    // The lock is free meanwhile: the task spawns others and sends.
                    if task.as_mut().poll(&mut cx).is_pending() {
                        self.lock().tasks.insert(id, task);
                    }
                }
                polls += 1;
                if polls == MAX_POLLS {
                    let text = "tasks wake each other again and again at one instant; let one wait for a timer";
                    return Err(Error::Fault(format!("{} ns: {text}", self.now().as_nanos())));
                }
            }
            let before = self.now();
            let woken = { self.lock().advance() };
            woken.inspect_err(|_| self.drop_tasks())?.into_iter().for_each(Waker::wake);
            if self.now() > before {
                polls = 0;
            }
        }
    }

    /// Drops all tasks, ends the run and returns its results.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] if it was finished before, and as [`Net::finish`].
    pub fn finish(&self) -> Result<Report, Error> {
        self.drop_tasks();
        let net = self.lock().net.take();
        net.ok_or_else(finished)?.finish()
    }

    /// Tasks own the runtime that owns them, so they are dropped once they have stopped; without the lock, because their
    /// futures call the runtime.
    fn drop_tasks(&self) {
        let tasks = std::mem::take(&mut self.lock().tasks);
        drop(tasks);
        lock(&self.ready).clear();
    }

    /// Time of the net; the start of the run once it is finished.
    pub fn now(&self) -> Instant {
        self.with(|net| net.now()).unwrap_or(Instant::ZERO)
    }

    /// Time of the net as the standard library's type ([`Net::std`]).
    ///
    /// # Panics
    ///
    /// If the run is finished.
    pub fn std_now(&self) -> std::time::Instant {
        self.with(|net| net.std(net.now())).expect("the run is not finished")
    }

    /// The time of the net that [`Net::std`] gives `at` for; the start of the run once it is finished.
    pub fn from_std(&self, at: std::time::Instant) -> Instant {
        self.with(|net| net.from_std(at)).unwrap_or(Instant::ZERO)
    }

    /// Calls `call` with the net, for addresses, tags, notes and times; `None` once the run is finished. Its events and
    /// deadlines belong to the executor.
    pub fn with<T>(&self, call: impl FnOnce(&mut Net) -> T) -> Option<T> {
        self.lock().net.as_mut().map(call)
    }

    /// A future that is ready from `at` on.
    pub fn sleep_until(&self, at: Instant) -> Sleep {
        Sleep { runtime: self.clone(), at, key: None }
    }

    /// A socket of `end` at local `port`, by default the end's own.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] if the port is in use, or the run is finished.
    pub fn bind(&self, end: End, port: Option<u16>) -> Result<UdpSocket, Error> {
        let mut state = self.lock();
        let mut local = state.net.as_ref().ok_or_else(finished)?.address(end);
        local.set_port(port.unwrap_or(local.port()));
        if state.sockets.contains_key(&(end, local.port())) {
            return Err(Error::Fault(format!("{local}: the end has a socket at this port; give another one")));
        }
        state.sockets.insert((end, local.port()), Inbox::default());
        Ok(UdpSocket { runtime: self.clone(), end, local })
    }

    fn waker(&self, id: u64) -> Waker {
        Arc::new(TaskWaker { id, is_queued: false.into(), ready: self.ready.clone() }).into()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").finish_non_exhaustive()
    }
}

impl State {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Moves the clock to the next event or timer. Returns the tasks that it wakes, in order.
    fn advance(&mut self) -> Result<Vec<Waker>, Error> {
        let net = self.net.as_mut().ok_or_else(finished)?;
        let first = self.timers.first_key_value().map(|(&(at, _), _)| at);
        let event = match first {
            Some(at) => net.advance(at.max(net.now()))?,
            None => net.next()?,
        };
        match event {
            Event::Datagram { to, from, local, ecn, tag, bytes, .. } => {
                // Without a socket at its port it is lost, as in a host.
                let Some(inbox) = self.sockets.get_mut(&(to, local.port())) else { return Ok(Vec::new()) };
                inbox.datagrams.push_back(Incoming { bytes: bytes.to_vec(), from, local, ecn, tag });
                return Ok(std::mem::take(&mut inbox.readers));
            }
            Event::Room(end) => return Ok(self.room.remove(&end).unwrap_or_default()),
            Event::End => {}
            _ => return Ok(Vec::new()),
        }
        let now = net.now();
        if let Some(timer) = self.timers.first_entry().filter(|timer| timer.key().0 <= now) {
            return Ok(vec![timer.remove()]);
        }
        let (tasks, timers, at) = (self.tasks.len(), self.timers.len(), now.as_nanos());
        let (reason, remedy) = match timers {
            0 => ("nothing is left that wakes it", "wait for a timer too, or let a peer send"),
            _ => ("its timers are due later", "raise the key duration"),
        };
        let waiting = format!("{tasks} other tasks and {timers} timers wait");
        Err(Error::Fault(format!("the run ended at {at} ns before the main future: {reason} ({waiting}); {remedy}")))
    }
}

/// Result of a task: its value, and the task that waits for it.
struct Outcome<T> {
    value: Option<T>,
    waiting: Option<Waker>,
}

impl<T> Default for Outcome<T> {
    fn default() -> Self {
        Self { value: None, waiting: None }
    }
}

/// A task; a future that is ready with the task's value. Dropping it leaves the task running.
pub struct JoinHandle<T> {
    runtime: Runtime,
    id: u64,
    result: Arc<Mutex<Outcome<T>>>,
}

impl<T> JoinHandle<T> {
    /// Drops the task's future, unless it is being polled; its value never comes.
    pub fn cancel(self) {
        let task = self.runtime.lock().tasks.remove(&self.id);
        drop(task);
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let mut outcome = lock(&self.result);
        outcome.waiting = Some(cx.waker().clone());
        outcome.value.take().map_or(Poll::Pending, Poll::Ready)
    }
}

/// A timer; a future that is ready from its instant on, and may be set again.
#[derive(Debug)]
pub struct Sleep {
    runtime: Runtime,
    at: Instant,
    /// Its entry among the timers, once it has been polled.
    key: Option<TimerKey>,
}

impl Sleep {
    /// Sets the timer to a time of the standard library's type.
    pub fn reset_std(&mut self, at: std::time::Instant) {
        self.reset(self.runtime.from_std(at));
    }

    /// Sets the timer to `at`.
    pub fn reset(&mut self, at: Instant) {
        self.at = at;
        if let Some(key) = self.key.take() {
            self.runtime.lock().timers.remove(&key);
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.runtime.now() >= self.at {
            let at = self.at;
            self.reset(at);
            return Poll::Ready(());
        }
        let mut state = self.runtime.lock();
        let key = self.key.unwrap_or_else(|| (self.at, state.number()));
        state.timers.insert(key, cx.waker().clone());
        drop(state);
        self.key = Some(key);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.reset(self.at);
    }
}

/// Wakes a task: queues it unless it is queued.
struct TaskWaker {
    id: u64,
    is_queued: AtomicBool,
    ready: Arc<Mutex<VecDeque<Arc<TaskWaker>>>>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::Relaxed) {
            lock(&self.ready).push_back(self.clone());
        }
    }
}

/// A poisoned lock holds what a panic left, which ends the run anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn finished() -> Error {
    Error::Fault("the run is finished; make another runtime with Runtime::new".to_string())
}

/// Number of the main future.
const MAIN: u64 = 0;
/// Polls at one instant after which the run ends.
const MAX_POLLS: u32 = 1_000_000;
