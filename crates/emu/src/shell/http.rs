//! HTTP server of the live view. Each connection has a deadline, and shutdown waits for none.
//!
//! One thread polls all connections, so a client that sends or reads a byte at a time delays neither the shell nor
//! other clients.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Serves requests until `ended` becomes readable; `answer` returns the response to a request head.
pub fn serve(listener: &TcpListener, ended: BorrowedFd<'_>, answer: impl Fn(&str) -> Vec<u8>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let mut clients: Vec<HttpClient> = Vec::new();
    let mut full = false;
    loop {
        let now = Instant::now();
        clients.retain(|client| client.deadline > now);
        let mut next = clients.iter().map(|client| client.deadline - now).min();
        if full {
            // No descriptor was free: the listener would be ready again at once.
            next = Some(next.map_or(PAUSE, |next| next.min(PAUSE)));
        }
        let listens = if full { PollFlags::empty() } else { PollFlags::POLLIN };
        let mut fds = vec![PollFd::new(ended, PollFlags::POLLIN), PollFd::new(listener.as_fd(), listens)];
        fds.extend(clients.iter().map(|client| PollFd::new(client.stream.as_fd(), client.poll_flags())));
        match poll(&mut fds, timeout(next)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<bool> = fds.iter().map(|fd| fd.any().unwrap_or(false)).collect();
        if ready[0] {
            return Ok(());
        }
        let mut ready_clients = ready[2..].iter();
        clients.retain_mut(|client| !ready_clients.next().is_some_and(|&ready| ready) || client.advance(&answer));
        full = false;
        for _ in 0..if ready[1] { MAX_CONNECTIONS } else { 0 } {
            match listener.accept().and_then(|(stream, _)| stream.set_nonblocking(true).map(|()| stream)) {
                Ok(stream) => {
                    if clients.len() == MAX_CONNECTIONS {
                        clients.remove(0);
                    }
                    clients.push(HttpClient::new(stream));
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
    /// When it is closed, regardless of progress.
    deadline: Instant,
    request: Vec<u8>,
    /// Unsent bytes of the response; `None` until the request is complete.
    unsent: Option<Vec<u8>>,
}

impl HttpClient {
    fn new(stream: TcpStream) -> Self {
        Self { stream, deadline: Instant::now() + TIMEOUT, request: Vec::new(), unsent: None }
    }

    fn poll_flags(&self) -> PollFlags {
        if self.unsent.is_some() { PollFlags::POLLOUT } else { PollFlags::POLLIN }
    }

    /// Reads or writes until it would block. Returns false when done or on error.
    fn advance(&mut self, answer: &impl Fn(&str) -> Vec<u8>) -> bool {
        let done = match self.unsent.is_some() {
            true => self.write(),
            false => self.read(answer),
        };
        matches!(done, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Reads until the request head is complete, and begins to respond.
    fn read(&mut self, answer: &impl Fn(&str) -> Vec<u8>) -> io::Result<()> {
        let mut part = [0; 2048];
        loop {
            let length = self.stream.read(&mut part)?;
            self.request.extend_from_slice(&part[..length]);
            let is_complete = self.request.windows(4).any(|end| end == b"\r\n\r\n");
            if is_complete || length == 0 || self.request.len() >= MAX_BYTES {
                break;
            }
        }
        self.unsent = Some(answer(&String::from_utf8_lossy(&self.request)));
        self.deadline = Instant::now() + TIMEOUT;
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        let unsent = self.unsent.get_or_insert_default();
        while !unsent.is_empty() {
            let length = self.stream.write(unsent)?;
            unsent.drain(..length);
        }
        Ok(())
    }
}

fn timeout(left: Option<Duration>) -> PollTimeout {
    // Rounded up, so that the deadline has passed after the wait.
    left.map_or(PollTimeout::NONE, |left| PollTimeout::from(u16::try_from(left.as_millis() + 1).unwrap_or(u16::MAX)))
}

/// Timeout to receive a request, and to send its response.
const TIMEOUT: Duration = Duration::from_millis(500);
/// Time without accepting connections after no descriptor was free.
const PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of connections; one more closes the oldest.
const MAX_CONNECTIONS: usize = 16;
/// Maximum length of a request in bytes.
const MAX_BYTES: usize = 8192;

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::eventfd::{EfdFlags, EventFd};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    /// Runs `f` with the address of a server that responds with the first line of a request.
    fn serving<T>(f: impl FnOnce(std::net::SocketAddr) -> T) -> T {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let ended = EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC).unwrap();
        thread::scope(|scope| {
            let first_line = |request: &str| request.lines().next().unwrap_or("nothing").as_bytes().to_vec();
            let server = scope.spawn({
                let (listener, ended) = (&listener, ended.as_fd());
                move || serve(listener, ended, first_line)
            });
            let result = f(address);
            ended.write(1).unwrap();
            server.join().unwrap().unwrap();
            result
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

    /// The clients never stop: the test ends only if the server does not wait for them.
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
