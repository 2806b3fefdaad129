//! Detects senders outside that were limited by their send buffers: their `tcp_wmem` is the machine's, not the shell's.
//!
//! The kernel counts per connection how long all data in a full send buffer was sent while the program waited for space
//! (`tcpi_sndbuf_limited`). With pacing this covers only part of the time limited by the buffer. A thread polls the
//! counters, because the kernel no longer reports a connection after its end.

use super::address::AddressBlock;
use crate::sys::diag::{Connection, Connections};
use std::collections::BTreeMap;
use std::fs::read_to_string;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The polling thread.
pub struct SenderMonitor {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<Option<BufferLimit>>>,
}

/// A download limited by its sender's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferLimit {
    /// Its last sample.
    pub connection: Connection,
    /// Maximum send buffer in bytes: the third value of `net.ipv4.tcp_wmem`.
    pub wmem_max: u64,
}

impl SenderMonitor {
    /// Watches the connections from the current network namespace into the tree of `block`.
    pub fn watch(block: AddressBlock) -> io::Result<Self> {
        let mut connections = Connections::open()?;
        let ended = Arc::new(AtomicBool::new(false));
        let thread_ended = ended.clone();
        let poll = move || {
            let mut connections_by_cookie = BTreeMap::new();
            while !thread_ended.load(Ordering::Relaxed) {
                thread::park_timeout(PERIOD);
                let found = connections.list_to(&block.tree_prefixes()).unwrap_or_default();
                connections_by_cookie.extend(found.into_iter().map(|connection| (connection.cookie, connection)));
            }
            worst_limited(connections_by_cookie.into_values())
        };
        let thread = thread::Builder::new().name("senders".to_string()).spawn(poll)?;
        Ok(Self { ended, thread: Some(thread) })
    }

    /// Ends the thread. Returns the download that was limited longest, if it exceeds [`MIN_LIMITED_US`] and
    /// [`MIN_LIMITED_PART`].
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
    /// Fraction of its busy time spent waiting for buffer space, from 0 to 1.
    pub fn share(&self) -> f64 {
        self.connection.buffer_us as f64 / self.connection.busy_us.max(1) as f64
    }

    /// Its average rate in bit/s.
    pub fn rate(&self) -> f64 {
        self.connection.acked as f64 * 8e6 / self.connection.busy_us.max(1) as f64
    }

    /// Buffer in bytes for 1 Gbit/s, scaled from the measured rate.
    pub fn per_gbit(&self) -> f64 {
        self.wmem_max as f64 * 1e9 / self.rate().max(1.0)
    }

    /// Line of the report, with the remedies.
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

/// The connection that waited longest, if above the thresholds.
fn worst_limited(connections: impl Iterator<Item = Connection>) -> Option<BufferLimit> {
    let longest = connections.max_by_key(|connection| connection.buffer_us)?;
    let wmem_max = read_to_string("/proc/sys/net/ipv4/tcp_wmem").ok()?.split_whitespace().last()?.parse().ok()?;
    let is_limited = longest.buffer_us >= MIN_LIMITED_US && longest.buffer_us >= longest.busy_us / MIN_LIMITED_PART;
    is_limited.then_some(BufferLimit { connection: longest, wmem_max })
}

/// Polling interval. Kernel counters are needed, because packets alone do not distinguish a small send buffer from a
/// slow program.
const PERIOD: Duration = Duration::from_millis(200);

/// Thresholds of the report: half a second and a tenth of the busy time. A download limited by the path almost never
/// waits for buffer space.
const MIN_LIMITED_US: u64 = 500_000;
const MIN_LIMITED_PART: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_waited_longest_is_told_if_that_is_a_tenth_of_its_time() {
        let connection = |port, busy_us, buffer_us| Connection {
            cookie: u64::from(port),
            port,
            rtt_us: 40_000,
            acked: busy_us * 100,
            busy_us,
            buffer_us,
        };
        assert_eq!(worst_limited([].into_iter()), None);
        assert_eq!(worst_limited([connection(1, 700_000, 400_000)].into_iter()), None, "it did not take long");
        assert_eq!(worst_limited([connection(1, 9_000_000, 800_000)].into_iter()), None, "the path held it back");
        let both = [connection(1, 700_000, 600_000), connection(2, 4_000_000, 3_000_000)];
        let found = worst_limited(both.into_iter()).unwrap();
        assert_eq!(found.connection.port, 2);
        let found = BufferLimit { wmem_max: 4_000_000, ..found };
        assert_eq!((found.share(), found.rate(), found.per_gbit()), (0.75, 800e6, 5e6));
        let line = found.line();
        assert!(line.contains("75 % of its time") && line.contains("800 Mbit/s over 40 ms"), "{line}");
        assert!(line.contains("needs 5 MB") && line.contains("\"4096 16384 5000000\""), "{line}");
    }
}
