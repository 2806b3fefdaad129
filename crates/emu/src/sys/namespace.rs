//! Network and mount namespaces of this process.

use super::process::{NET_ADMIN, is_capable};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};
use std::fs;
use std::io;
use std::path::Path;

/// Moves this process to a new network namespace, and to a new user namespace if it lacks CAP_SYS_ADMIN or CAP_NET_ADMIN
/// or if `unprivileged`.
///
/// Returns whether a user namespace was created; it maps UID and GID to themselves.
pub fn new_network(unprivileged: bool) -> io::Result<bool> {
    // CAP_SYS_ADMIN makes the namespace, CAP_NET_ADMIN is for the devices in it.
    if !unprivileged && is_capable(NET_ADMIN) {
        match unshare(CloneFlags::CLONE_NEWNET) {
            Err(nix::Error::EPERM) => {}
            done => return Ok(done.map(|()| false)?),
        }
    }
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
    // Required before an unprivileged process may write gid_map (user_namespaces(7)).
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    Ok(true)
}

/// Runs `f` in the network namespace of `file`, such as `/proc/1/ns/net`, and returns to the current one. Requires a
/// single-threaded process.
pub fn in_network_namespace<T>(file: &Path, f: impl FnOnce() -> T) -> io::Result<T> {
    use nix::sched::setns;
    let (target, original) = (fs::File::open(file)?, fs::File::open("/proc/self/ns/net")?);
    setns(&target, CloneFlags::CLONE_NEWNET)?;
    let done = f();
    setns(&original, CloneFlags::CLONE_NEWNET)?;
    Ok(done)
}

/// Moves this process to a new mount namespace and mounts a file with the text `replacement` over `file`.
pub fn replace_file(file: &str, replacement: &str) -> io::Result<()> {
    use nix::mount::{MsFlags, mount};
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)?;
    // A tmpfs, so that no file is left on a disk; the bind mount keeps it alive after the unmount.
    let scratch = Path::new("/tmp");
    mount(Some("sojourn"), scratch, Some("tmpfs"), MsFlags::empty(), Some("size=64k"))?;
    let source = scratch.join("file");
    fs::write(&source, replacement)?;
    mount(Some(&source), file, None::<&str>, MsFlags::MS_BIND, None::<&str>)?;
    nix::mount::umount2(scratch, nix::mount::MntFlags::MNT_DETACH)?;
    Ok(())
}

/// Sets a sysctl of the current network namespace, such as `net/ipv4/ip_forward`. Returns whether the kernel has it and
/// accepted the value.
pub fn set_sysctl(name: &str, value: &str) -> bool {
    fs::write(format!("/proc/sys/{name}"), value).is_ok()
}

/// Raises `tcp_rmem` and `tcp_wmem`, so that windows fill paths with a large bandwidth-delay product.
pub fn enlarge_windows() {
    for (name, start) in [("net/ipv4/tcp_rmem", "4096 131072"), ("net/ipv4/tcp_wmem", "4096 65536")] {
        set_sysctl(name, &format!("{start} {LARGEST_WINDOW}"));
    }
}

/// Maximum TCP window in bytes: 2 Gbit/s over 250 ms.
const LARGEST_WINDOW: u32 = 64 << 20;
