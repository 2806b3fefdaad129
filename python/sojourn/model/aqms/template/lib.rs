//! A queue manager as a shared library: `cargo build --release`, then
//! `sojourn compare --aqm codel,target/release/libmy_aqm.so`, or `link.aqm = "libmy_aqm.so target 8ms"` in a scenario.
//!
//! As a starting point it drops or marks packets at the head of the queue whose sojourn time exceeds a target: replace
//! [`Aqm::dequeue`] by your own control law. docs/c_interface.md documents how a host uses and checks a library.

use sojourn_aqm::params::Value;
use sojourn_aqm::registry::{Algorithm, AqmConfig};
use sojourn_aqm::{Aqm, Cx, DropReason, Duration, Fifo, PoppedPacket, config};

/// The algorithm by its name.
pub static MY: Algorithm =
    Algorithm::custom::<Config>("my", "drops at the head what has waited too long", "you, today");

sojourn_library::export!("my", "drops at the head what has waited too long", "you, today", MY);

config! {
    /// Parameters, each with its default and its range; they follow the library's name in a spelling.
    pub struct Config {
        /// Maximum sojourn time; packets that exceed it are dropped.
        target: Duration = Duration::from_millis(15), in Value::Time(Duration::from_micros(1)) => Value::Time(Duration::from_secs(10));
        /// Marks ECN-capable packets instead of dropping them.
        ecn: bool = false, in Value::Flag(false) => Value::Flag(true);
    }
    profiles { "plain", "as it is" => |_| {}; }
    validate |_| { Ok(()) }
}

impl AqmConfig for Config {
    type Aqm = My;

    fn aqm(&self) -> My {
        My { config: self.clone(), late: 0 }
    }
}

/// State of the algorithm.
#[derive(Clone, Debug)]
pub struct My {
    config: Config,
    /// Packets that exceeded the target.
    late: u32,
}

impl Aqm for My {
    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        // Always send the last packet: an idle link would be worse than a late packet.
        while queue.len() > 1 && queue.meta(0).is_some_and(|head| cx.now - head.enqueued > self.config.target) {
            self.late += 1;
            match self.config.ecn {
                true if queue.mark(0, DropReason::Early) => break,
                true => {}
                false => queue.drop(0, DropReason::Early),
            }
        }
        queue.pop()
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("late", self.late.into());
    }
}
