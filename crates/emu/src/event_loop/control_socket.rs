//! Control socket of a running shell: a Unix socket in a folder that only its owner can enter.
//!
//! The event loop itself answers requests, so a change takes effect between two packets, and it never waits for a
//! client. A client must run as the owner or as root (`SO_PEERCRED`). The socket has a path, in a folder of mode 0700,
//! because the client is in another network namespace, which does not share abstract sockets. A shell that was killed
//! leaves its socket behind; the next process that finds it dead removes it.

use super::control_protocol::{ControlRequest, ControlResponse, DirectionSet, MAX_BYTES, ShellInfo};
use crate::Error;
use crate::sys::fds::{Channel, accept};
use nix::sys::socket::sockopt::{PeerCredentials, ReceiveTimeout, SendTimeout};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, connect, getsockopt, listen, setsockopt, socket,
};
use nix::sys::time::TimeVal;
use nix::unistd::{geteuid, getpid};
use serde_json::json;
use sojourn_aqm::Instant;
use sojourn_aqm::registry::Catalogue;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Listening socket of a shell, and its clients.
pub struct ControlSocket {
    listener: OwnedFd,
    path: PathBuf,
    clients: Vec<Channel>,
    info: ShellInfo,
}

/// A running shell that accepts requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningShell {
    /// Process ID.
    pub pid: u32,
    /// Name set with `--name`.
    pub name: Option<String>,
    path: PathBuf,
}

impl ControlSocket {
    /// Opens the control socket of this process, which runs `command` in a shell of kind `shell` since `epoch_ns`.
    /// Returns `None` if the socket cannot be created and the shell has no name; with a name, that is an error.
    pub fn of_shell(
        shell: &str,
        name: Option<&str>,
        command: Vec<String>,
        epoch_ns: u64,
    ) -> Result<Option<Self>, Error> {
        let pid = getpid().as_raw();
        let about = ShellInfo { shell: shell.to_string(), pid, name: name.map(str::to_string), command, epoch_ns };
        match Self::open(name, about) {
            Ok(control_socket) => Ok(Some(control_socket)),
            Err(_) if name.is_none() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the control socket of this process, whose shell is described by `about`.
    fn open(name: Option<&str>, about: ShellInfo) -> Result<Self, Error> {
        let pid = getpid().as_raw();
        if let Some(other) = running().into_iter().find(|other| name.is_some() && other.name.as_deref() == name) {
            let name = name.unwrap_or_default();
            return Err(Error::Input(format!(
                "--name {name}: already used by shell {}; choose another one",
                other.pid
            )));
        }
        let file = name.map_or_else(|| pid.to_string(), |name| format!("{pid}.{name}"));
        let open = |folder: PathBuf| -> io::Result<Self> {
            prepare(&folder)?;
            let path = folder.join(&file);
            let fd = unix_socket(SockFlag::SOCK_NONBLOCK)?;
            // Connecting removes the stale socket of a killed process with this PID. A live one belongs to a process in
            // another PID namespace (a container) that shares the folder.
            if RunningShell::at(path.clone()).is_some() {
                return Err(io::ErrorKind::AddrInUse.into());
            }
            bind(fd.as_raw_fd(), &UnixAddr::new(&path)?)?;
            listen(&fd, Backlog::new(MAX_CLIENTS as i32)?)?;
            Ok(Self { listener: fd, path, clients: Vec::new(), info: about.clone() })
        };
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for folder in folders() {
            match open(folder.clone()) {
                Ok(control_socket) => return Ok(control_socket),
                Err(error) => last = io::Error::new(error.kind(), format!("{}: {error}", folder.display())),
            }
        }
        Err(Error::Machine(format!("control socket: {last}; set XDG_RUNTIME_DIR to a folder of your own")))
    }

    /// Listening descriptor, readable when a client connects.
    pub fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Accepts the connection of an authorised client. Its descriptor is to be polled, and passed to [`Self::answer`].
    pub fn accept(&mut self) -> Option<BorrowedFd<'_>> {
        let fd = accept(self.listener.as_fd()).ok()?;
        if !is_owner(&fd) || self.clients.len() >= MAX_CLIENTS {
            return None;
        }
        self.clients.push(Channel::from_fd(fd));
        self.clients.last().map(Channel::as_fd)
    }

    /// Answers a client's request, or drops a client that has disconnected.
    pub fn answer(&mut self, fd: i32, now: Instant, sides: DirectionSet<'_>, own: &dyn Catalogue) {
        let Some(i) = self.clients.iter().position(|client| client.as_fd().as_raw_fd() == fd) else { return };
        // One byte more than the maximum detects longer requests.
        let mut room = vec![0; MAX_BYTES + 1];
        let answer = match self.clients[i].receive(&mut room) {
            Ok((length, _)) if length > 0 => match ControlRequest::parse(&room[..length]) {
                Ok(order) => sides.answer(order, &self.info, now, own),
                Err(error) => ControlResponse::Refused { error },
            },
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            _ => {
                self.clients.swap_remove(i);
                return;
            }
        };
        let _ = self.clients[i].send(json!(answer).to_string().as_bytes(), &[], true);
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Running shells of this user, by PID.
pub fn running() -> Vec<RunningShell> {
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<RunningShell> = folders()
        .into_iter()
        .filter(|folder| is_private(folder))
        .flat_map(entries)
        .filter_map(RunningShell::at)
        .collect();
    found.sort_by_key(|shell| shell.pid);
    found
}

impl RunningShell {
    /// Returns the shell whose socket is at `path` if it runs; removes the socket of a dead shell.
    fn at(path: PathBuf) -> Option<Self> {
        let file = path.file_name().and_then(OsStr::to_str)?;
        let (pid, name) = file.split_once('.').map_or((file, None), |(pid, name)| (pid, Some(name.to_string())));
        let shell = Self { pid: pid.parse().ok()?, name, path };
        match shell.connect() {
            Ok(_) => Some(shell),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                let _ = fs::remove_file(&shell.path);
                None
            }
            Err(_) => None,
        }
    }

    /// Sends a request and returns the response.
    pub fn send(&self, order: &ControlRequest) -> io::Result<ControlResponse> {
        let channel = Channel::from_fd(self.connect()?);
        channel.send(json!(order).to_string().as_bytes(), &[], false)?;
        let mut room = vec![0; MAX_BYTES];
        let (length, _) = channel.receive(&mut room)?;
        Ok(serde_json::from_slice(&room[..length])?)
    }

    fn connect(&self) -> io::Result<OwnedFd> {
        let fd = unix_socket(SockFlag::empty())?;
        setsockopt(&fd, ReceiveTimeout, &TIMEOUT)?;
        setsockopt(&fd, SendTimeout, &TIMEOUT)?;
        connect(fd.as_raw_fd(), &UnixAddr::new(&self.path)?)?;
        if is_owner(&fd) { Ok(fd) } else { Err(io::Error::from(io::ErrorKind::PermissionDenied)) }
    }
}

/// Whether the peer runs as this user or as root.
fn is_owner(fd: &OwnedFd) -> bool {
    let owner = getsockopt(fd, PeerCredentials).map(|credentials| credentials.uid());
    owner.is_ok_and(|uid| uid == 0 || uid == geteuid().as_raw())
}

/// Folders for control sockets, preferred first.
fn folders() -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    let own = runtime.map(|folder| Path::new(&folder).join("sojourn"));
    own.into_iter().chain([PathBuf::from(format!("/tmp/sojourn-{}", geteuid()))]).collect()
}

/// Creates a folder that only this user can enter, if it does not exist.
fn prepare(folder: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if is_private(folder) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "other users can enter it; if it is yours, chmod 700 it"))
}

/// Whether this user owns the folder and no other user can enter it.
fn is_private(folder: &Path) -> bool {
    let metadata = fs::symlink_metadata(folder);
    metadata
        .is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o077 == 0)
}

fn unix_socket(flags: SockFlag) -> io::Result<OwnedFd> {
    Ok(socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC | flags, None)?)
}

/// Maximum number of connected clients.
const MAX_CLIENTS: usize = 16;
/// Timeout of a client: the shell may be stopped.
const TIMEOUT: TimeVal = TimeVal::new(5, 0);
