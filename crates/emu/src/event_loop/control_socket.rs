//! Where a running shell takes orders: a socket in a folder that only its owner can enter.
//!
//! The loop between the devices answers, so an order takes effect between two packets, and never waits for who asks. Who
//! asks has to be the owner or root (the kernel says who it is). A shell that was killed leaves a socket at which
//! nobody listens; whoever finds it removes it.

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

/// The socket of a shell, and who is connected to it.
pub struct ControlSocket {
    listener: OwnedFd,
    path: PathBuf,
    clients: Vec<Channel>,
    info: ShellInfo,
}

/// A shell that somebody may give orders to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningShell {
    /// Its process.
    pub pid: u32,
    /// The name that it was given.
    pub name: Option<String>,
    path: PathBuf,
}

impl ControlSocket {
    /// Opens the socket of this process, which runs `command` in a `shell` of that kind since `epoch_ns`; none where there can
    /// be none and nobody has asked for it by a name.
    pub fn of_shell(
        shell: &str,
        name: Option<&str>,
        command: Vec<String>,
        epoch_ns: u64,
    ) -> Result<Option<Self>, Error> {
        let pid = getpid().as_raw();
        let about = ShellInfo { shell: shell.to_string(), pid, name: name.map(str::to_string), command, epoch_ns };
        match Self::open(name, about) {
            Ok(desk) => Ok(Some(desk)),
            Err(_) if name.is_none() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the socket of this process, whose shell is described by `about`; an error says why it has none.
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
            // One that a killed process of this number has left is removed by that; another one is of another container.
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
                Ok(desk) => return Ok(desk),
                Err(error) => last = io::Error::new(error.kind(), format!("{}: {error}", folder.display())),
            }
        }
        Err(Error::Machine(format!("control socket: {last}; set XDG_RUNTIME_DIR to a folder of your own")))
    }

    /// What becomes readable when somebody connects.
    pub fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Takes a connection of who may give orders; its descriptor is to be watched, and given to [`Self::answer`].
    pub fn accept(&mut self) -> Option<BorrowedFd<'_>> {
        let fd = accept(self.listener.as_fd()).ok()?;
        if !is_owner(&fd) || self.clients.len() >= MAX_CLIENTS {
            return None;
        }
        self.clients.push(Channel::of(fd));
        self.clients.last().map(Channel::as_fd)
    }

    /// Answers the order of a client, or lets the client go.
    pub fn answer(&mut self, fd: i32, now: Instant, sides: DirectionSet<'_>, own: &dyn Catalogue) {
        let Some(i) = self.clients.iter().position(|client| client.as_fd().as_raw_fd() == fd) else { return };
        // One byte more than an order may have tells a longer one.
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

/// The shells of this user that run, in the order of their numbers.
pub fn running() -> Vec<RunningShell> {
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<RunningShell> =
        folders().into_iter().filter(|folder| is_ours(folder)).flat_map(entries).filter_map(RunningShell::at).collect();
    found.sort_by_key(|shell| shell.pid);
    found
}

impl RunningShell {
    /// The shell whose socket is at `path`, if it runs; a socket at which nobody listens is removed.
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

    /// Gives an order; the answer.
    pub fn send(&self, order: &ControlRequest) -> io::Result<ControlResponse> {
        let channel = Channel::of(self.connect()?);
        channel.send(json!(order).to_string().as_bytes(), &[], false)?;
        let mut room = vec![0; MAX_BYTES];
        let (length, _) = channel.receive(&mut room)?;
        Ok(serde_json::from_slice(&room[..length])?)
    }

    fn connect(&self) -> io::Result<OwnedFd> {
        let fd = unix_socket(SockFlag::empty())?;
        setsockopt(&fd, ReceiveTimeout, &PATIENCE)?;
        setsockopt(&fd, SendTimeout, &PATIENCE)?;
        connect(fd.as_raw_fd(), &UnixAddr::new(&self.path)?)?;
        if is_owner(&fd) { Ok(fd) } else { Err(io::Error::from(io::ErrorKind::PermissionDenied)) }
    }
}

/// Whether the other end is a process of ours or of root's.
fn is_owner(fd: &OwnedFd) -> bool {
    let owner = getsockopt(fd, PeerCredentials).map(|credentials| credentials.uid());
    owner.is_ok_and(|uid| uid == 0 || uid == geteuid().as_raw())
}

/// Where sockets may be, the best place first.
fn folders() -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    let own = runtime.map(|folder| Path::new(&folder).join("sojourn"));
    own.into_iter().chain([PathBuf::from(format!("/tmp/sojourn-{}", geteuid()))]).collect()
}

/// Makes a folder that nobody else can enter, if it is not there.
fn prepare(folder: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if is_ours(folder) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "other users can enter it; if it is yours, chmod 700 it"))
}

/// Whether a folder is ours and nobody else can enter it.
fn is_ours(folder: &Path) -> bool {
    let about = fs::symlink_metadata(folder);
    about.is_ok_and(|about| about.is_dir() && about.uid() == geteuid().as_raw() && about.mode() & 0o077 == 0)
}

fn unix_socket(flags: SockFlag) -> io::Result<OwnedFd> {
    Ok(socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC | flags, None)?)
}

/// Most who are connected at once.
const MAX_CLIENTS: usize = 16;
/// How long who asks waits for an answer: a shell may be stopped.
const PATIENCE: TimeVal = TimeVal::new(5, 0);
