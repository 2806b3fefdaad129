//! The window that a receiver offers: it grows with what arrives in a round trip, and so seldom limits a flow. But what
//! waits out of order has its place in the same buffer: in a recovery without SACK, which repairs one hole per round
//! trip, new data soon stop at the window's edge.
//!
//! Source: Linux 6.1 `tcp_init_buffer_space`, `tcp_rcv_space_adjust`, `__tcp_select_window`. `Differs:` the sender keeps
//! it, which learns the same from acknowledgments.

use super::sender::Sender;

/// Measures a receiver's window, round by round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offered {
    mss: u64,
    /// The largest window so far, in bytes.
    window: u64,
    /// Most bytes that arrived in a round trip.
    space: u64,
    /// What was acknowledged when the round began.
    begun: u64,
    /// The round ends when this is acknowledged.
    end: u64,
    /// Where the window ends: it never shrinks.
    pub edge: u64,
}

impl Offered {
    /// Nothing has arrived yet.
    pub fn new(mss: u32) -> Self {
        let mss = mss as u64;
        let (window, space, start) = (FIRST_WINDOW, FIRST_SPACE * mss, super::FIRST_BYTE);
        Self { mss, window, space, begun: start, end: start, edge: start + window }
    }

    /// `una` is acknowledged, `nxt` is the end of what was sent, and `waiting` segments have arrived out of order.
    pub fn acknowledged(&mut self, una: u64, nxt: u64, waiting: u32) {
        if una >= self.end {
            let copied = una - self.begun;
            (self.begun, self.end) = (una, nxt);
            if copied > self.space {
                // Twice as much, and sixteen segments; and room to grow as fast as before, and twice that.
                let window = 2 * copied + 16 * self.mss;
                let growth = window * (copied - self.space) / self.space;
                self.window = self.window.max(window + 2 * growth);
                self.space = copied;
            }
        }
        let taken = waiting as u64 * self.mss * MEMORY_PERCENT / 100;
        self.edge = self.edge.max(una + self.window.saturating_sub(taken));
    }
}

impl Sender {
    /// Something was acknowledged: the receiver has read it, and offers a window from there.
    pub(super) fn move_right_edge(&mut self) {
        let (una, nxt, waiting) = (self.snd_una, self.snd_nxt, self.board.sacked_out);
        if let Some(offered) = &mut self.offered {
            offered.acknowledged(una, nxt, waiting);
            self.receive_window = offered.window;
        }
    }
}

/// The first window: 64 KiB less one segment, of a buffer of 128 KiB (`tcp_rmem`).
pub(super) const FIRST_WINDOW: u64 = 64_088;

/// Segments that count as the first round's.
const FIRST_SPACE: u64 = 10;

/// The window is half of the buffer, and a segment of 1448 bytes takes 2304 of it.
const MEMORY_PERCENT: u64 = 80;

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(segments: u64) -> u64 {
        super::super::FIRST_BYTE + segments * 1000
    }

    #[test]
    fn it_grows_with_the_rounds_and_never_shrinks() {
        let mut offered = Offered::new(1000);
        let mut window_after = |una, nxt| {
            offered.acknowledged(sent(una), sent(nxt), 0);
            assert_eq!(offered.edge, sent(una) + offered.window);
            offered.window
        };
        assert_eq!([window_after(0, 10), window_after(5, 20)], [64_088; 2], "the round lasts");
        assert_eq!(window_after(10, 30), 64_088, "ten were taken for granted");
        // Twenty: 2 * 20 + 16 = 56, which may double: 56 + 2 * 56.
        assert_eq!(window_after(30, 50), 168_000);
        // Twenty-five after twenty: 66 and half of it.
        assert_eq!([window_after(50, 75), window_after(75, 80)], [168_000; 2]);
    }

    #[test]
    fn its_edge_stays_while_data_wait_out_of_order() {
        let mut offered = Offered::new(1000);
        let edge = offered.edge;
        // A hole after ten segments, and forty behind it, which take 32 kB of the 64.
        offered.acknowledged(sent(10), sent(60), 40);
        assert_eq!(offered.edge, edge, "ten more would be 42 kB from there");
        offered.acknowledged(sent(40), sent(60), 10);
        assert_eq!(offered.edge, sent(40) + 64_088 - 8_000);
    }
}
