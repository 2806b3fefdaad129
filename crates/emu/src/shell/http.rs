//! Connections to the page of the live view: each has its time, and ending waits for none.
//!
//! One thread waits for all of them at once, so a client that sends or reads a byte at a time keeps neither the shell nor
//! other clients.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Answers requests until `ended` becomes readable; `answer` gives what is sent for the head of a request.
pub fn serve(listener: &TcpListener, ended: BorrowedFd<'_>, answer: impl Fn(&str) -> Vec<u8>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let mut visitors: Vec<HttpClient> = Vec::new();
    let mut full = false;
    loop {
        let now = Instant::now();
        visitors.retain(|visitor| visitor.deadline > now);
        let mut next = visitors.iter().map(|visitor| visitor.deadline - now).min();
        if full {
            // No descriptor was free; the listener would be ready at once again.
            next = Some(next.map_or(PAUSE, |next| next.min(PAUSE)));
        }
        let listens = if full { PollFlags::empty() } else { PollFlags::POLLIN };
        let mut fds = vec![PollFd::new(ended, PollFlags::POLLIN), PollFd::new(listener.as_fd(), listens)];
        fds.extend(visitors.iter().map(|visitor| PollFd::new(visitor.stream.as_fd(), visitor.waits_for())));
        match poll(&mut fds, timeout(next)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<bool> = fds.iter().map(|fd| fd.any().unwrap_or(false)).collect();
        if ready[0] {
            return Ok(());
        }
        let mut ready_visitors = ready[2..].iter();
        visitors.retain_mut(|visitor| !ready_visitors.next().is_some_and(|&ready| ready) || visitor.advance(&answer));
        full = false;
        for _ in 0..if ready[1] { MAX_CONNECTIONS } else { 0 } {
            match listener.accept().and_then(|(stream, _)| stream.set_nonblocking(true).map(|()| stream)) {
                Ok(stream) => {
                    if visitors.len() == MAX_CONNECTIONS {
                        visitors.remove(0);
                    }
                    visitors.push(HttpClient::new(stream));
                }
                Err(error) => {
                    full = error.kind() != io::ErrorKind::WouldBlock;
                    break;
                }
            }
        }
    }
}

/// One connection.
struct HttpClient {
    stream: TcpStream,
    /// When it is closed, whatever it has sent or read.
    deadline: Instant,
    request: Vec<u8>,
    /// What is still to be sent, once the request is there.
    unsent: Option<Vec<u8>>,
}

impl HttpClient {
    fn new(stream: TcpStream) -> Self {
        Self { stream, deadline: Instant::now() + PATIENCE, request: Vec::new(), unsent: None }
    }

    fn waits_for(&self) -> PollFlags {
        if self.unsent.is_some() { PollFlags::POLLOUT } else { PollFlags::POLLIN }
    }

    /// Reads or writes what is possible; whether anything is left to do.
    fn advance(&mut self, answer: &impl Fn(&str) -> Vec<u8>) -> bool {
        let done = match self.unsent.is_some() {
            true => self.write(),
            false => self.read(answer),
        };
        matches!(done, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Reads until the request is whole, and begins to answer it.
    fn read(&mut self, answer: &impl Fn(&str) -> Vec<u8>) -> io::Result<()> {
        let mut part = [0; 2048];
        loop {
            let length = self.stream.read(&mut part)?;
            self.request.extend_from_slice(&part[..length]);
            let is_whole = self.request.windows(4).any(|end| end == b"\r\n\r\n");
            if is_whole || length == 0 || self.request.len() >= MAX_BYTES {
                break;
            }
        }
        self.unsent = Some(answer(&String::from_utf8_lossy(&self.request)));
        self.deadline = Instant::now() + PATIENCE;
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        let rest = self.unsent.get_or_insert_default();
        while !rest.is_empty() {
            let length = self.stream.write(rest)?;
            rest.drain(..length);
        }
        Ok(())
    }
}

fn timeout(left: Option<Duration>) -> PollTimeout {
    // Rounded up, so that what is waited for has come.
    left.map_or(PollTimeout::NONE, |left| PollTimeout::from(u16::try_from(left.as_millis() + 1).unwrap_or(u16::MAX)))
}

/// Time in which a request has to be here, and its answer to be read.
const PATIENCE: Duration = Duration::from_millis(500);
/// Time without a look at who comes next, where no descriptor is free.
const PAUSE: Duration = Duration::from_millis(100);
/// Connections at once; one more, and the oldest is closed.
const MAX_CONNECTIONS: usize = 16;
/// Longest request.
const MAX_BYTES: usize = 8192;

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::eventfd::{EfdFlags, EventFd};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    /// Does `meet` with the address of a server that answers with the first line of a request; ends it after.
    fn serving<T>(meet: impl FnOnce(std::net::SocketAddr) -> T) -> T {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let ended = EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC).unwrap();
        thread::scope(|scope| {
            let first_line = |request: &str| request.lines().next().unwrap_or("nothing").as_bytes().to_vec();
            let server = scope.spawn({
                let (listener, ended) = (&listener, ended.as_fd());
                move || serve(listener, ended, first_line)
            });
            let met = meet(address);
            ended.write(1).unwrap();
            server.join().unwrap().unwrap();
            met
        })
    }

    fn ask(address: std::net::SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_request_is_answered_in_parts_and_whole() {
        serving(|address| {
            assert_eq!(ask(address, "one\r\ntwo\r\n\r\n"), "one");
            let mut stream = TcpStream::connect(address).unwrap();
            for part in ["tw", "o\r\n", "\r\n"] {
                stream.write_all(part.as_bytes()).unwrap();
            }
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert_eq!(answer, "two");
            let half_closed = TcpStream::connect(address).unwrap();
            half_closed.shutdown(std::net::Shutdown::Write).unwrap();
            assert_eq!(io::read_to_string(half_closed).unwrap(), "nothing");
        });
    }

    /// The clients go on for ever: the test ends only if the server does not wait for them.
    #[test]
    fn who_drips_keeps_neither_others_nor_the_end() {
        let closed = AtomicUsize::new(0);
        let drips = |address| {
            while let Ok(mut stream) = TcpStream::connect(address) {
                while stream.write_all(b"x").is_ok() {
                    thread::sleep(Duration::from_millis(5));
                }
                closed.fetch_add(1, Ordering::Relaxed);
            }
        };
        thread::scope(|scope| {
            let drips = &drips;
            let idle = serving(|address| {
                (0..8).for_each(|_| drop(scope.spawn(move || drips(address))));
                let idle: Vec<_> = (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
                for number in 0..20 {
                    assert_eq!(ask(address, &format!("{number}\r\n\r\n")), number.to_string());
                }
                while closed.load(Ordering::Relaxed) < 3 {
                    thread::sleep(Duration::from_millis(5));
                }
                idle
            });
            assert_eq!(idle.len(), 100);
        });
    }

    #[test]
    fn a_connection_that_sends_nothing_is_closed() {
        serving(|address| {
            let mut silent = TcpStream::connect(address).unwrap();
            assert_eq!(silent.read(&mut [0]).unwrap(), 0, "the end, in its time");
        });
    }
}
