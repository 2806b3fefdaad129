//! Saving and restoring the terminal.

use crate::sys::process;
use nix::sys::signal::{SigHandler, Signal};
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use nix::unistd::{Pid, tcgetpgrp, tcsetpgrp};
use std::io::{self, IsTerminal};

/// State of the terminal at the start.
pub struct Terminal {
    modes: Termios,
    /// Foreground process group; `None` if it is not the controlling terminal of our session.
    group: Option<Pid>,
}

impl Terminal {
    /// Saves the state of the terminal on standard input, if there is one.
    pub fn save() -> Option<Self> {
        let input = io::stdin();
        if !input.is_terminal() {
            return None;
        }
        Some(Self { modes: tcgetattr(&input).ok()?, group: tcgetpgrp(&input).ok() })
    }

    /// Restores the modes and the foreground process group, which a killed command may have changed.
    pub fn restore(&self) {
        let input = io::stdin();
        // SIGTTOU would stop a background process that changes the terminal.
        let before = process::set_signal_action(Signal::SIGTTOU, SigHandler::SigIgn);
        if let Some(group) = self.group {
            let _ = tcsetpgrp(&input, group);
        }
        let _ = tcsetattr(&input, SetArg::TCSADRAIN, &self.modes);
        if let Ok(action) = before {
            let _ = process::set_signal_action(Signal::SIGTTOU, action.handler());
        }
    }
}
