//! Namespaces of this process.

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};
use std::fs;
use std::io;
use std::path::Path;

/// Moves this process to a network namespace of its own, through a user namespace if it has to (or if `unprivileged`).
///
/// Returns whether a user namespace was made; user and group keep their numbers in it.
pub fn new_network(unprivileged: bool) -> io::Result<bool> {
    if !unprivileged {
        match unshare(CloneFlags::CLONE_NEWNET) {
            Err(nix::Error::EPERM) => {}
            done => return Ok(done.map(|()| false)?),
        }
    }
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    Ok(true)
}

/// Does something in the network namespace of a file, such as `/proc/1/ns/net`, and comes back; only for a process with a
/// single thread.
pub fn within<T>(file: &Path, does: impl FnOnce() -> T) -> io::Result<T> {
    use nix::sched::setns;
    let (there, here) = (fs::File::open(file)?, fs::File::open("/proc/self/ns/net")?);
    setns(&there, CloneFlags::CLONE_NEWNET)?;
    let done = does();
    setns(&here, CloneFlags::CLONE_NEWNET)?;
    Ok(done)
}

/// A mount namespace of its own, in which `file` has the text of `replacement`.
pub fn replace_file(file: &str, replacement: &str) -> io::Result<()> {
    use nix::mount::{MsFlags, mount};
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)?;
    // A file system in memory that is nowhere but below this mount point, so that nothing is left on a disk.
    let scratch = Path::new("/tmp");
    mount(Some("sojourn"), scratch, Some("tmpfs"), MsFlags::empty(), Some("size=64k"))?;
    let source = scratch.join("file");
    fs::write(&source, replacement)?;
    mount(Some(&source), file, None::<&str>, MsFlags::MS_BIND, None::<&str>)?;
    nix::mount::umount2(scratch, nix::mount::MntFlags::MNT_DETACH)?;
    Ok(())
}

/// Sets a parameter of the present network namespace, `net/ipv4/ip_forward`; whether the kernel has it and took it.
pub fn set_sysctl(name: &str, value: &str) -> bool {
    fs::write(format!("/proc/sys/{name}"), value).is_ok()
}

/// Windows that fill long paths.
pub fn enlarge_windows() {
    for (name, start) in [("net/ipv4/tcp_rmem", "4096 131072"), ("net/ipv4/tcp_wmem", "4096 65536")] {
        set_sysctl(name, &format!("{start} {LARGEST_WINDOW}"));
    }
}

/// Largest window of TCP in bytes: 2 Gbit/s over 250 ms.
const LARGEST_WINDOW: u32 = 64 << 20;
