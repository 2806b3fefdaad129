//! Live view as a web page on a loopback address: rates, sojourn times and drops of both directions.
//!
//! The page is one file without requests to other hosts. Its URL has a random token, and the Host header must name its
//! address, so that neither another user nor another page in the same browser can read it (DNS rebinding). Requests
//! have deadlines, and the end of the shell does not wait for clients ([`http`]).

use super::http;
use crate::event_loop::meter::{Sample, SharedCounters};
use crate::path::PathKind;
use crate::sys::clock::monotonic_ns;
use nix::sys::eventfd::{EfdFlags, EventFd};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Threads that sample the counters and serve the page.
pub struct WebMeter {
    shared: Arc<WebState>,
    threads: Vec<JoinHandle<()>>,
}

struct WebState {
    ended: AtomicBool,
    /// Readable at the end.
    end: EventFd,
    history: Mutex<History>,
    token: String,
    label: String,
    /// Quantity of the middle panel: sojourn time of the queue, or the delay if there is no queue.
    time: &'static str,
}

/// Recent samples, one per [`PERIOD`].
#[derive(Default)]
struct History {
    /// Samples with their end in seconds.
    samples: VecDeque<(f64, Sample)>,
    /// Number of the oldest sample kept.
    first: u64,
}

impl WebMeter {
    /// Serves the counters of the shell `label`, whose directions emulate `kind`, and prints the URL on standard error.
    pub fn start(source: &SharedCounters, label: &str, kind: &PathKind) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let mut random = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let time = if matches!(kind, PathKind::Link(_)) { SOJOURN } else { "delay" };
        let (ended, history) = (AtomicBool::new(false), Mutex::default());
        let end = EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        let shared = Arc::new(WebState { ended, end, history, token, label: label.to_string(), time });
        let (source, thread_state) = (source.clone(), shared.clone());
        let samples =
            thread::Builder::new().name("samples".to_string()).spawn(move || sample(&source, &thread_state))?;
        let thread_state = shared.clone();
        let page = thread::Builder::new().name("page".to_string()).spawn(move || {
            let answer = |request: &str| answer(request, address, &thread_state);
            // If poll fails, the shell continues without its page.
            let _ = http::serve(&listener, thread_state.end.as_fd(), answer);
        })?;
        let _ = writeln!(io::stderr(), "{label}: live view at http://{address}/{}/", shared.token);
        Ok(Self { shared, threads: vec![samples, page] })
    }
}

impl Drop for WebMeter {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        let _ = self.shared.end.write(1);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn sample(source: &SharedCounters, shared: &WebState) {
    let begin = monotonic_ns();
    let (mut last, mut at) = (source.counters(), begin);
    while !shared.ended.load(Ordering::Relaxed) {
        thread::park_timeout(PERIOD);
        let (counters, now) = (source.counters(), monotonic_ns());
        let new = Sample::between(&last, &counters, now - at, shared.time == SOJOURN);
        (last, at) = (counters, now);
        if let Ok(mut history) = shared.history.lock() {
            history.samples.push_back(((now - begin) as f64 / 1e9, new));
            if history.samples.len() > KEPT {
                history.samples.pop_front();
                history.first += 1;
            }
        }
    }
}

impl History {
    /// Samples from number `since` on, and the number of the next one.
    fn since(&self, since: u64) -> Value {
        let skip = since.saturating_sub(self.first) as usize;
        let row = |(at, s): &(f64, Sample)| {
            json!([
                at,
                s.rate_mbit[0],
                s.rate_mbit[1],
                s.time_ms[0],
                s.time_ms[1],
                s.drops[0],
                s.drops[1],
                s.marks[0],
                s.marks[1]
            ])
        };
        let rows: Vec<Value> = self.samples.iter().skip(skip).map(row).collect();
        json!({ "next": self.first + self.samples.len() as u64, "rows": rows })
    }
}

/// Response to a request: head and body.
fn answer(request: &str, address: SocketAddr, shared: &WebState) -> Vec<u8> {
    let (status, kind, body) = respond(request, address, shared);
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body.into_bytes()].concat()
}

/// Status, content type and body of the response to a request.
fn respond(request: &str, address: SocketAddr, shared: &WebState) -> (&'static str, &'static str, String) {
    let refused = |status| (status, "text/plain", format!("{status}\n"));
    let mut lines = request.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let header = |line: &str| {
        line.split_once(':')
            .filter(|(name, _)| name.eq_ignore_ascii_case("host"))
            .map(|(_, host)| host.trim().to_string())
    };
    let hosts: Vec<String> = lines.take_while(|line| !line.is_empty()).filter_map(header).collect();
    let known = [address.to_string(), format!("localhost:{}", address.port())];
    if hosts.len() != 1 || !known.contains(&hosts[0]) {
        return refused("403 Forbidden");
    }
    let Some(page) = target.strip_prefix(&format!("/{}/", shared.token)) else { return refused("404 Not Found") };
    match (method, page.split_once('?').unwrap_or((page, ""))) {
        ("GET", ("", _)) => {
            let page = PAGE.replace("LABEL", &shared.label).replace("TIME", shared.time);
            ("200 OK", "text/html; charset=utf-8", page)
        }
        ("GET", ("data", query)) => {
            let since = query.strip_prefix("since=").and_then(|number| number.parse().ok()).unwrap_or(0);
            let text = shared.history.lock().map(|history| history.since(since).to_string());
            ("200 OK", "application/json", text.unwrap_or_default())
        }
        ("GET", _) => refused("404 Not Found"),
        _ => refused("405 Method Not Allowed"),
    }
}

/// Label of the middle panel for a link.
const SOJOURN: &str = "sojourn time";
/// Sampling interval.
const PERIOD: Duration = Duration::from_millis(100);
/// Number of samples kept: ten minutes.
const KEPT: usize = 6000;
const PAGE: &str = include_str!("web.html");

#[cfg(test)]
mod tests {
    use super::*;

    fn shared() -> WebState {
        let history = Mutex::new(History { samples: VecDeque::new(), first: 3 });
        WebState {
            ended: AtomicBool::new(false),
            end: EventFd::new().unwrap(),
            history,
            token: "t0".to_string(),
            label: "link".to_string(),
            time: "delay",
        }
    }

    #[test]
    fn only_who_knows_the_token_and_asks_for_this_host_is_answered() {
        let (shared, address) = (shared(), "127.0.0.1:4711".parse().unwrap());
        for (request, status) in [
            ("GET /t0/ HTTP/1.1\r\nHost: 127.0.0.1:4711\r\n\r\n", "200 OK"),
            ("GET /t0/data?since=3 HTTP/1.1\r\nhOST: localhost:4711\r\n\r\n", "200 OK"),
            ("GET /t0/ HTTP/1.1\r\nHost: rebound.example:4711\r\n\r\n", "403 Forbidden"),
            ("GET /t0/ HTTP/1.1\r\nHost: 127.0.0.1:4711\r\nHost: a\r\n\r\n", "403 Forbidden"),
            ("GET /t0/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "403 Forbidden"),
            ("GET /t0/ HTTP/1.0\r\n\r\n", "403 Forbidden"),
            ("GET / HTTP/1.1\r\nHost: 127.0.0.1:4711\r\n\r\n", "404 Not Found"),
            ("GET /t1/data HTTP/1.1\r\nHost: 127.0.0.1:4711\r\n\r\n", "404 Not Found"),
            ("GET /t0/../etc HTTP/1.1\r\nHost: 127.0.0.1:4711\r\n\r\n", "404 Not Found"),
            ("POST /t0/ HTTP/1.1\r\nHost: 127.0.0.1:4711\r\n\r\n", "405 Method Not Allowed"),
            ("", "403 Forbidden"),
        ] {
            assert_eq!(respond(request, address, &shared).0, status, "{request}");
        }
    }

    #[test]
    fn a_sample_is_read_once() {
        let mut history = History { samples: VecDeque::new(), first: 40 };
        history.samples.extend([(1.0, Sample::default()), (2.0, Sample::default())]);
        assert_eq!(history.since(41)["rows"].as_array().unwrap().len(), 1);
        assert_eq!(history.since(42), json!({ "next": 42, "rows": [] }));
        assert_eq!(history.since(0)["rows"][1][0], 2.0);
    }

    #[test]
    fn the_page_names_no_other_host() {
        assert!(!PAGE.contains("//") || !PAGE.contains("http"), "an address in the page");
        assert!(PAGE.contains("LABEL") && PAGE.contains("TIME"));
    }
}
