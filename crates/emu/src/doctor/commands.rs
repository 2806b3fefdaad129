//! Needs of each command, and whether it works here: the probe does the same as the command.

use crate::Error;
use crate::event_loop::control_socket::ControlSocket;
use crate::path::{DirectionConfig, PathKind, Side};
use crate::shell::{self, InnerCommand, Shell, Status, attach};
use crate::sys::tun::DEVICE;
use serde_json::{Value, json};
use sojourn_aqm::Duration;
use sojourn_aqm::registry::REGISTERED;
use sojourn_sim::scenario::Steps;

/// Needs of a command.
pub struct Requirement {
    command: &'static str,
    device: &'static str,
    namespace: &'static str,
    capability: &'static str,
    kernel: &'static str,
    probe: fn() -> Result<(), Error>,
}

/// Commands and their needs; the first one decides whether shells are possible at all.
pub const REQUIREMENTS: &[Requirement] = &[
    Requirement {
        command: "link, delay, loss",
        device: DEVICE,
        namespace: "network; user without the capabilities",
        capability: "none; CAP_NET_ADMIN and CAP_SYS_ADMIN without a user namespace",
        kernel: "3.8",
        probe: || run(Shell::new("doctor", nothing(), command())),
    },
    Requirement {
        command: "--peer, --isolated, run --engine emulate",
        device: DEVICE,
        namespace: "network; user without the capability",
        capability: "none; CAP_SYS_ADMIN without a user namespace",
        kernel: "3.8",
        probe: || run(Shell { isolated: true, ..Shell::new("doctor", nothing(), command()) }),
    },
    Requirement {
        command: "--host",
        device: DEVICE,
        namespace: "network, mount; user without the capabilities",
        capability: "none; CAP_NET_ADMIN and CAP_SYS_ADMIN without a user namespace",
        kernel: "3.8",
        probe: || {
            run(Shell { hosts: vec!["doctor.invalid".to_string()], ..Shell::new("doctor", nothing(), command()) })
        },
    },
    Requirement {
        command: "--attach",
        device: DEVICE,
        namespace: "none; with --netns CAP_SYS_ADMIN, too",
        capability: "CAP_NET_ADMIN and CAP_BPF of the machine",
        kernel: "6.6",
        probe: attach::probe,
    },
    Requirement {
        command: "ctl, --name",
        device: "none",
        namespace: "none",
        capability: "none",
        kernel: "3.8",
        probe: || {
            ControlSocket::of_shell("doctor", Some(&format!("doctor-{}", std::process::id())), Vec::new(), 0).map(drop)
        },
    },
];

impl Requirement {
    /// The row of the command, and whether it works.
    pub fn examine(&self) -> (Value, bool) {
        let Self { command, device, namespace, capability, kernel, probe } = self;
        let text = probe().err().map(|error| error.to_string());
        let remedy = text.as_ref().map(|text| text.split_once("; ").map_or("see its text", |(_, remedy)| remedy));
        let possible = text.is_none();
        let row = json!({
            "command": command, "possible": possible, "device": device, "namespace": namespace,
            "capability": capability, "kernel": kernel, "text": text, "remedy": remedy,
        });
        (row, possible)
    }
}

/// Directions without a delay.
fn nothing() -> [DirectionConfig; 2] {
    [Side::Up, Side::Down].map(|side| DirectionConfig::new(side, PathKind::Delay(Steps::constant(Duration::ZERO))))
}

/// A command that succeeds at once.
fn command() -> InnerCommand {
    InnerCommand::Own(Box::new(|_| 0))
}

fn run(shell: Shell) -> Result<(), Error> {
    let outcome = shell::run(shell, REGISTERED)?;
    match outcome.status {
        Status::Exited(0) => Ok(()),
        other => Err(Error::Machine(format!("shell: its command did not run ({other:?}); see `sojourn link -- true`"))),
    }
}
