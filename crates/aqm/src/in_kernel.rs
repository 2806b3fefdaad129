//! Clock of a discipline whose queue a kernel makes at some time after its boot.

use crate::named::NamedConfig;
use crate::registry::QueueLayout;
use crate::time::Instant;
use alloc::format;
use alloc::string::String;

/// Origin of the discipline's clock: its creation, so that periods count from there and none is due before it, however
/// long the machine is up. The kernel's own disciplines count ticks and units of 1,024 ns from the boot. The timer of
/// Linux's adaptive RED starts with the queue.
pub fn origin(named: &NamedConfig, created: Instant) -> Instant {
    let algorithm = named.algorithm();
    let counts_ticks = is_linux(named) && algorithm.queues != QueueLayout::Tree;
    if counts_ticks && !matches!(algorithm.name, "red" | "ared") { Instant::ZERO } else { created }
}

/// Parameter with the time of the creation, for a discipline whose updates count from it in Linux; none if it is given.
pub fn creation_words(named: &NamedConfig, created: Instant) -> Option<String> {
    let takes_it = named.algorithm().params.iter().any(|param| param.name == CREATED);
    let is_given = named.changed().iter().any(|&(name, _)| name == CREATED);
    (takes_it && is_linux(named) && !is_given).then(|| format!("{CREATED} {}ns", created.as_nanos()))
}

fn is_linux(named: &NamedConfig) -> bool {
    named.profile.starts_with("linux")
}

const CREATED: &str = "created";
