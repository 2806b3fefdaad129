//! A congestion control as a shared library: `cargo build --release`, then
//! `sojourn run FILE --set flows.0.cc=target/release/libmy_cc.so`, or `cc = "libmy_cc.so beta 0.7"` in a scenario.
//!
//! As a starting point it grows like Reno (RFC 5681) and multiplies the window by `beta` after a loss or a mark: replace
//! [`WindowControl::grow`] and [`WindowControl::ssthresh`] by your own rules.

use sojourn_tcp::cc::{Ack, AnyCc, CongestionControl, Needs, Window, WindowControl};

sojourn_library::export_cc!("my", "Reno with a factor of its own", "you, today", Needs::NONE, control);

/// State of a connection.
#[derive(Clone, Debug)]
pub struct My {
    /// Factor of the window after a reduction.
    beta: f64,
}

/// Creates the control from the words after the library's name.
fn control(parameters: &str) -> Result<AnyCc, String> {
    let beta = match parameters.split_whitespace().collect::<Vec<_>>()[..] {
        [] => 0.5,
        ["beta", value] => value.parse().ok().filter(|beta| (0.1..1.0).contains(beta)).ok_or("beta: from 0.1 to 1")?,
        _ => return Err("unknown parameters; write e.g. beta 0.7".to_string()),
    };
    Ok(AnyCc::custom(My { beta }))
}

impl CongestionControl for My {
    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }
}

impl WindowControl for My {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        ((window.cwnd as f64 * self.beta) as u32).max(2)
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack, _: bool) {
        // Slow start: one segment per acknowledged packet, up to the threshold.
        let used = ack.packets.min(window.ssthresh.saturating_sub(window.cwnd));
        window.cwnd += used;
        // Congestion avoidance: one segment per window of packets.
        window.cwnd_cnt += ack.packets - used;
        window.cwnd += window.cwnd_cnt / window.cwnd;
        window.cwnd_cnt %= window.cwnd;
    }
}
