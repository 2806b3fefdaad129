//! Whether senders outside were held back by their own send buffers: their `tcp_wmem` is the machine's, not the shell's.
//!
//! The kernel counts for each connection how long it had sent all that fits into the buffer while the program waited for
//! room (`tcpi_sndbuf_limited`); with pacing that is a part only of the time in which the buffer is what bounds. A thread asks now and then,
//! as a connection that has ended is not told of any more.

use super::address::AddressBlock;
use crate::sys::diag::{Connection, Connections};
use std::collections::BTreeMap;
use std::fs::read_to_string;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The thread that asks.
pub struct SenderMonitor {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<Option<BufferLimit>>>,
}

/// A download that its sender's buffer held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferLimit {
    /// What the kernel last told of it.
    pub connection: Connection,
    /// Most bytes of a send buffer: the last number of `net.ipv4.tcp_wmem`.
    pub wmem_max: u64,
}

impl SenderMonitor {
    /// Watches the connections of the present network namespace into the tree of `block`.
    pub fn watch(block: AddressBlock) -> io::Result<Self> {
        let mut connections = Connections::open()?;
        let ended = Arc::new(AtomicBool::new(false));
        let thread_ended = ended.clone();
        let asking = move || {
            let mut connections_by_cookie = BTreeMap::new();
            while !thread_ended.load(Ordering::Relaxed) {
                thread::park_timeout(PERIOD);
                let found = connections.to(&block.tree_prefixes()).unwrap_or_default();
                connections_by_cookie.extend(found.into_iter().map(|connection| (connection.cookie, connection)));
            }
            worst_limited(connections_by_cookie.into_values())
        };
        let thread = thread::Builder::new().name("senders".to_string()).spawn(asking)?;
        Ok(Self { ended, thread: Some(thread) })
    }

    /// The download that was held back longest, if one was for a time that counts.
    pub fn finish(mut self) -> Option<BufferLimit> {
        self.end()
    }

    fn end(&mut self) -> Option<BufferLimit> {
        self.ended.store(true, Ordering::Relaxed);
        let thread = self.thread.take()?;
        thread.thread().unpark();
        thread.join().ok().flatten()
    }
}

impl Drop for SenderMonitor {
    fn drop(&mut self) {
        self.end();
    }
}

impl BufferLimit {
    /// The share of its time in which it waited for room, from 0 to 1.
    pub fn share(&self) -> f64 {
        self.connection.buffer_us as f64 / self.connection.busy_us.max(1) as f64
    }

    /// Its rate, in bit/s.
    pub fn rate(&self) -> f64 {
        self.connection.acked as f64 * 8e6 / self.connection.busy_us.max(1) as f64
    }

    /// The buffer for a Gbit/s, in bytes: as much larger as the rate is to be.
    pub fn per_gbit(&self) -> f64 {
        self.wmem_max as f64 * 1e9 / self.rate().max(1.0)
    }

    /// What to tell of it, and the remedies.
    pub fn line(&self) -> String {
        let Connection { port, rtt_us, .. } = self.connection;
        let (share, rtt, rate) = (100.0 * self.share(), f64::from(rtt_us) / 1e3, self.rate() / 1e6);
        let (most, needed) = (self.wmem_max as f64 / 1e6, (self.per_gbit() / 1e6).ceil());
        format!(
            "down   the sender at port {port} waited {share:.0} % of its time for send-buffer space: with {most:.1} \
             MB (tcp_wmem) {rate:.0} Mbit/s over {rtt:.0} ms; a Gbit/s needs {needed:.0} MB (sysctl -w \
             net.ipv4.tcp_wmem=\"4096 16384 {needed:.0}000000\"), or the sender as --peer, which has 64 MiB"
        )
    }
}

/// The connection that waited longest, if that is a time that counts.
fn worst_limited(connections: impl Iterator<Item = Connection>) -> Option<BufferLimit> {
    let longest = connections.max_by_key(|one| one.buffer_us)?;
    let most = read_to_string("/proc/sys/net/ipv4/tcp_wmem").ok()?.split_whitespace().last()?.parse().ok()?;
    let is_held = longest.buffer_us >= MIN_LIMITED_US && longest.buffer_us >= longest.busy_us / MIN_LIMITED_PART;
    is_held.then_some(BufferLimit { connection: longest, wmem_max: most })
}

/// How often the kernel is asked.
const PERIOD: Duration = Duration::from_millis(200);

/// A download that waited less is not told of: half a second, and a tenth of its time. One that the path bounds waits for
/// room almost never.
const MIN_LIMITED_US: u64 = 500_000;
const MIN_LIMITED_PART: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_waited_longest_is_told_if_that_is_a_tenth_of_its_time() {
        let one = |port, busy_us, buffer_us| Connection {
            cookie: u64::from(port),
            port,
            rtt_us: 40_000,
            acked: busy_us * 100,
            busy_us,
            buffer_us,
        };
        assert_eq!(worst_limited([].into_iter()), None);
        assert_eq!(worst_limited([one(1, 700_000, 400_000)].into_iter()), None, "it did not take long");
        assert_eq!(worst_limited([one(1, 9_000_000, 800_000)].into_iter()), None, "the path held it back");
        let found = worst_limited([one(1, 700_000, 600_000), one(2, 4_000_000, 3_000_000)].into_iter()).unwrap();
        assert_eq!(found.connection.port, 2);
        let found = BufferLimit { wmem_max: 4_000_000, ..found };
        assert_eq!((found.share(), found.rate(), found.per_gbit()), (0.75, 800e6, 5e6));
        let line = found.line();
        assert!(line.contains("75 % of its time") && line.contains("800 Mbit/s over 40 ms"), "{line}");
        assert!(line.contains("needs 5 MB") && line.contains("\"4096 16384 5000000\""), "{line}");
    }
}
