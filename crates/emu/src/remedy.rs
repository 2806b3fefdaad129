//! Remedies for what a machine, a container or WSL lacks: each names a step that this user can take here.

use nix::unistd::geteuid;
use std::fs;
use std::io;
use std::path::Path;

/// Surroundings of this process; the first that applies decides what can be changed from inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surroundings {
    /// A container: devices and capabilities come from its start.
    Container,
    /// The Windows Subsystem for Linux.
    Wsl,
    /// A machine, real or virtual, including runners of continuous integration.
    Machine,
}

/// This process: its surroundings, and whether it is root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    surroundings: Surroundings,
    is_root: bool,
}

impl Situation {
    /// The situation of this process.
    pub fn present() -> Self {
        let named = std::env::var_os("container").is_some();
        let is_container = named || ["/.dockerenv", "/run/.containerenv"].iter().any(|file| Path::new(file).exists());
        let is_wsl = || setting("kernel/osrelease").is_some_and(|release| release.to_lowercase().contains("microsoft"));
        let surroundings = match is_container {
            true => Surroundings::Container,
            false if is_wsl() => Surroundings::Wsl,
            false => Surroundings::Machine,
        };
        Self { surroundings, is_root: geteuid().is_root() }
    }

    /// A command line of root's.
    fn as_root(self, line: &str) -> String {
        if self.is_root { line.to_string() } else { format!("sudo {line}") }
    }

    /// Remedy for a TUN device that cannot be opened or created.
    pub fn device(self, error: &io::Error) -> String {
        let from_start = "start the container with --device /dev/net/tun";
        match (error.raw_os_error(), self.surroundings) {
            (Some(libc::ENOENT | libc::ENXIO | libc::ENODEV), Surroundings::Container) => from_start.to_string(),
            (Some(libc::ENOENT | libc::ENXIO | libc::ENODEV), Surroundings::Wsl) => {
                format!("load the module tun ({}), or update WSL (wsl --update)", self.as_root("modprobe tun"))
            }
            (Some(libc::ENOENT | libc::ENXIO | libc::ENODEV), Surroundings::Machine) => {
                format!("load the kernel's module tun ({})", self.as_root("modprobe tun"))
            }
            (Some(libc::EACCES | libc::EPERM), Surroundings::Container) if self.is_root => from_start.to_string(),
            (Some(libc::EACCES | libc::EPERM), _) if self.is_root => {
                "let this root open it (chmod 666 /dev/net/tun), or grant CAP_DAC_OVERRIDE".to_string()
            }
            (Some(libc::EACCES | libc::EPERM), _) => {
                "let users open it (sudo chmod 666 /dev/net/tun), or run as root".to_string()
            }
            (Some(libc::EMFILE | libc::ENFILE), _) => "raise the limit on open files (ulimit -n)".to_string(),
            _ => "see `sojourn doctor`".to_string(),
        }
    }

    /// Cause and remedy if no network namespace can be made.
    pub fn namespace(self, error: &io::Error) -> (String, String) {
        let off = |key: &str, value| setting(key).as_deref() == Some(value);
        let otherwise = self.capabilities(&["NET_ADMIN", "SYS_ADMIN"]);
        let change = |text: &str| format!("{}, or {otherwise}", self.as_root(&format!("sysctl -w {text}")));
        match error.raw_os_error() {
            Some(libc::ENOSPC) if off("user/max_user_namespaces", "0") => (
                "user namespaces are switched off (user.max_user_namespaces is 0)".to_string(),
                change("user.max_user_namespaces=10000"),
            ),
            Some(libc::ENOSPC) => (
                "the limit of namespaces is reached".to_string(),
                format!(
                    "end other shells, or {}",
                    change("user.max_user_namespaces=10000 user.max_net_namespaces=10000")
                ),
            ),
            Some(libc::EPERM | libc::EACCES) if off("kernel/unprivileged_userns_clone", "0") => (
                "only root may make user namespaces (kernel.unprivileged_userns_clone is 0)".to_string(),
                change("kernel.unprivileged_userns_clone=1"),
            ),
            Some(libc::EPERM | libc::EACCES) if off("kernel/apparmor_restrict_unprivileged_userns", "1") => (
                "AppArmor restricts user namespaces".to_string(),
                change("kernel.apparmor_restrict_unprivileged_userns=0"),
            ),
            Some(libc::EPERM | libc::EACCES) if self.surroundings == Surroundings::Container => (
                "the container may not make user namespaces".to_string(),
                format!("{otherwise}, or with --security-opt seccomp=unconfined"),
            ),
            _ => (error.to_string(), otherwise),
        }
    }

    /// Remedy for missing capabilities, by their names without `CAP_`.
    pub fn capabilities(self, names: &[&str]) -> String {
        let join =
            |prefix: &str, by: &str| names.iter().map(|name| format!("{prefix}{name}")).collect::<Vec<_>>().join(by);
        match (self.surroundings, self.is_root) {
            (Surroundings::Container, _) => {
                format!("start the container{} with {}", self.user(), join("--cap-add ", " "))
            }
            (_, true) => format!("grant {}, which this root lacks", join("CAP_", " and ")),
            (_, false) => "run as root".to_string(),
        }
    }

    fn user(self) -> &'static str {
        if self.is_root { "" } else { " as root" }
    }
}

/// A setting of the kernel, without white space at its end.
fn setting(key: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/sys/{key}")).ok().map(|text| text.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_can_be_followed_where_it_is_given() {
        let text = |surroundings, is_root, errno| {
            Situation { surroundings, is_root }.device(&io::Error::from_raw_os_error(errno))
        };
        use Surroundings::{Container, Machine, Wsl};
        for (place, is_root, errno, expected) in [
            (Container, true, libc::ENOENT, "start the container with --device /dev/net/tun"),
            (Container, true, libc::EPERM, "start the container with --device /dev/net/tun"),
            (Container, false, libc::EACCES, "let users open it (sudo chmod 666 /dev/net/tun), or run as root"),
            (Wsl, false, libc::ENOENT, "load the module tun (sudo modprobe tun), or update WSL (wsl --update)"),
            (Machine, true, libc::ENODEV, "load the kernel's module tun (modprobe tun)"),
            (Machine, false, libc::ENODEV, "load the kernel's module tun (sudo modprobe tun)"),
        ] {
            assert_eq!(text(place, is_root, errno), expected);
        }
        let text = |surroundings, is_root| Situation { surroundings, is_root }.capabilities(&["NET_ADMIN", "BPF"]);
        assert_eq!(text(Container, true), "start the container with --cap-add NET_ADMIN --cap-add BPF");
        assert_eq!(text(Machine, true), "grant CAP_NET_ADMIN and CAP_BPF, which this root lacks");
        assert_eq!(text(Wsl, false), "run as root");
    }
}
