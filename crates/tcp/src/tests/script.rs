//! Scripts in a compact notation: segments in, segments out.
//!
//! Each line has a time in milliseconds since the connection was established (`+N`: after the previous line; none: the
//! same time), then the input, then all output, then the window. Numbers are full segments: `< 4` acknowledges segments
//! 0 to 3, `> 7` is segment 7. A comment starts with `#`.
//!
//! ```text
//! 0                     > 0-9     = 10/inf open      # the first flight; what goes out is listed completely
//! 100  < 2              > 10-12   = 11/inf open      # an acknowledgment, with an RTT of 100 ms by its timestamp
//!      < 2 sack 4-5     > 13      = 11/inf disorder  # a duplicate one that SACKs segments 4 and 5
//! +300                  > 2r      = 12/5 disorder    # a timer; r: retransmission, c: CWR, e: ECT(0), f: FIN
//!      < 3 ece echo 20            = 12/5 cwr         # ECN-Echo; a timestamp of 20 ms is echoed
//! +50  write 2          > 14-15   = 12/5 open        # the application has two segments more
//! ```
//!
//! Lines of a receiver have incoming segments (`< 5`; `5*` with CE, `5c` with CWR) and outgoing acknowledgments (`> 4
//! sack 5 7-8 ece`). Output at a time that no line names, or that a line does not list, is an error.

use super::*;

/// Runs a sender's script; returns the first line that fails.
pub(super) fn sender(setup: Setup, script: &str) -> Result<(), String> {
    let mut rig = SenderHarness::closed(setup);
    rig.now_ms = START_MS - RTT_MS;
    rig.open(None);
    rig.limit(setup.segments);
    rig.now_ms = START_MS;
    rig.syn_ack();
    rig.sent.retain(|sent| sent.header.len > 0);
    run(&mut SenderEndpoint { rig, seen: 0, ecn: setup.ecn }, script)
}

/// Runs a receiver's script; its handshake took [`RTT_MS`].
pub(super) fn receiver(setup: Setup, script: &str) -> Result<(), String> {
    run(&mut ReceiverEndpoint(ScriptedReceiver::established(&setup)), script)
}

/// An endpoint under a script.
trait Endpoint {
    fn deadline(&self) -> Instant;
    fn on_timer(&mut self, at_ms: u64);
    /// Delivers the input of a line.
    fn input(&mut self, at_ms: u64, words: &[&str]);
    /// Everything sent since the last call: time and notation.
    fn sent(&mut self) -> Vec<(u64, String)>;
    /// The window in script notation; none for a receiver.
    fn window(&self) -> Option<String>;
}

fn run(end: &mut impl Endpoint, script: &str) -> Result<(), String> {
    let mut at_ms = START_MS;
    for line in script.lines() {
        let words: Vec<&str> = line.split('#').next().expect("there is a first part").split_whitespace().collect();
        let Some(first) = words.first() else { continue };
        let (time, words) = match first.chars().next() {
            Some('+' | '0'..='9') => (*first, &words[1..]),
            _ => ("+0", &words[..]),
        };
        let of = |number: &str| number.parse::<u64>().unwrap_or_else(|_| panic!("{line}: {number} is no time"));
        let until = time.strip_prefix('+').map_or_else(|| START_MS + of(time), |n| at_ms + of(n));
        assert!(until >= at_ms, "{line}: back in time");
        let part = |mark: &str| words.iter().position(|&word| word == mark).unwrap_or(words.len());
        let (out, window) = (part(">"), part("="));
        let input = &words[..out.min(window)];
        // Input precedes timers that expire at the same instant.
        timers(end, until - !input.is_empty() as u64);
        if !input.is_empty() {
            let early = end.sent();
            if !early.is_empty() {
                return Err(format!("before `{line}`: sent {early:?}"));
            }
            end.input(until, input);
        }
        at_ms = until;
        let sent = end.sent();
        if let Some((at, what)) = sent.iter().find(|&&(at, _)| at != at_ms) {
            return Err(format!("before `{line}`: sent {what} at {} ms", at - START_MS));
        }
        let sent: Vec<String> = sent.into_iter().map(|(_, what)| what).collect();
        let expected = end_of(words, out, window);
        if sent.join(" ") != expand(&expected) {
            return Err(format!("`{line}`: sent {}", sent.join(" ")));
        }
        match (end.window(), words.get(window + 1..)) {
            (Some(is), Some(expected)) if is != expected.join(" ") => return Err(format!("`{line}`: window {is}")),
            (Some(_), None) => panic!("{line}: says nothing of the window"),
            _ => {}
        }
    }
    Ok(())
}

fn timers(end: &mut impl Endpoint, until_ms: u64) {
    while end.deadline() <= ms(until_ms) {
        let at_ms = end.deadline().as_nanos() / 1_000_000;
        end.on_timer(at_ms);
    }
}

/// The words between `>` and `=`.
fn end_of<'a>(words: &[&'a str], out: usize, window: usize) -> Vec<&'a str> {
    words.get(out + 1..window.max(out + 1).min(words.len())).unwrap_or_default().to_vec()
}

/// Expands `3-5e` to `3e 4e 5e`. SACK blocks stay as they are.
fn expand(words: &[&str]) -> String {
    if words.contains(&"sack") {
        return words.join(" ");
    }
    let one = |word: &&str| -> Vec<String> {
        let digits = word.find(|c: char| c.is_alphabetic()).unwrap_or(word.len());
        let (range, flags) = word.split_at(digits);
        match range.split_once('-') {
            Some(_) => numbers(range).map(|n| format!("{n}{flags}")).collect(),
            None => vec![word.to_string()],
        }
    };
    words.iter().flat_map(one).collect::<Vec<_>>().join(" ")
}

/// Parses `3-5` or `3`; ranges are inclusive.
fn numbers(range: &str) -> std::ops::RangeInclusive<u64> {
    let (from, to) = range.split_once('-').unwrap_or((range, range));
    let of = |n: &str| n.parse().unwrap_or_else(|_| panic!("{range} is no range of segments"));
    of(from)..=of(to)
}

struct SenderEndpoint {
    rig: SenderHarness,
    /// Number of segments sent so far; a lower one is a retransmission.
    seen: u64,
    ecn: bool,
}

impl Endpoint for SenderEndpoint {
    fn deadline(&self) -> Instant {
        self.rig.sender.deadline()
    }

    fn on_timer(&mut self, at_ms: u64) {
        self.rig.now_ms = at_ms;
        self.rig.sender.on_timer(ms(at_ms), &mut Recorder(at_ms, &mut self.rig.sent));
    }

    fn input(&mut self, at_ms: u64, words: &[&str]) {
        self.rig.now_ms = at_ms;
        match words {
            ["<", upto, rest @ ..] => self.rig.inject(acknowledgment(upto, rest)),
            ["write", segments] => {
                let bytes = numbers(segments).start() * MSS;
                self.rig.sender.write(ms(at_ms), bytes, &mut Recorder(at_ms, &mut self.rig.sent));
            }
            _ => panic!("{words:?} is nothing that comes in"),
        }
    }

    fn sent(&mut self) -> Vec<(u64, String)> {
        let sent = std::mem::take(&mut self.rig.sent);
        let write = |sent: &SentSegment| {
            let n = segment(sent.header.seq);
            let again = n < self.seen;
            self.seen = self.seen.max(n + 1);
            let mut word = n.to_string();
            for (flag, set) in [
                ('r', again),
                ('c', sent.header.flags.contains(Flags::CWR)),
                ('f', sent.header.flags.contains(Flags::FIN)),
                ('e', sent.ecn == Ecn::Ect0),
            ] {
                word.extend(set.then_some(flag));
            }
            assert!(self.ecn || sent.ecn == Ecn::NotEct);
            (sent.at_ms, word)
        };
        sent.iter().map(write).collect()
    }

    fn window(&self) -> Option<String> {
        let window = self.rig.sender.window();
        let ssthresh = match window.ssthresh {
            cc::Window::INFINITE_SSTHRESH => "inf".to_string(),
            n => n.to_string(),
        };
        Some(format!("{}/{ssthresh} {:?}", window.cwnd, self.rig.state()).to_lowercase())
    }
}

/// Parses `4 sack 5-6 8 ece echo 20`.
fn acknowledgment(upto_word: &str, rest: &[&str]) -> ScriptAck {
    let mut ack = upto(*numbers(upto_word).start());
    let mut words = rest.iter();
    let mut sacking = false;
    while let Some(&word) = words.next() {
        match word {
            "sack" => sacking = true,
            "ece" => ack.ece = true,
            "echo" => {
                let at = words.next().expect("a time follows `echo`");
                ack.echo_ms = Some(START_MS + *numbers(at).start());
            }
            block if sacking => {
                let segments = numbers(block);
                ack.blocks.push((*segments.start(), segments.end() + 1));
            }
            _ => panic!("{word} is no part of an acknowledgment"),
        }
    }
    ack
}

struct ReceiverEndpoint(ScriptedReceiver);

impl Endpoint for ReceiverEndpoint {
    fn deadline(&self) -> Instant {
        self.0.receiver.deadline()
    }

    fn on_timer(&mut self, at_ms: u64) {
        self.0.receiver.on_timer(ms(at_ms), &mut Recorder(at_ms, &mut self.0.sent));
    }

    fn input(&mut self, at_ms: u64, words: &[&str]) {
        let ["<", word] = words else { panic!("{words:?} is nothing that comes in") };
        let n = *numbers(word.trim_end_matches(['*', 'c'])).start();
        let flags = Flags::ACK.with_if(Flags::CWR, word.contains('c'));
        let ecn = if word.contains('*') { Ecn::Ce } else { Ecn::Ect0 };
        let header = Header { seq: seq(n), len: MSS as u16, flags, ts_val: at_ms as u32, ..Header::default() };
        self.0.segment(at_ms, header, ecn);
    }

    fn sent(&mut self) -> Vec<(u64, String)> {
        let write = |sent: SentSegment| {
            let mut word = segment(sent.header.ack).to_string();
            for (i, &(from, to)) in sent.header.sack.blocks().iter().enumerate() {
                let (from, last) = (segment(from), segment(to) - 1);
                word += if i == 0 { " sack " } else { " " };
                word += &if from == last { from.to_string() } else { format!("{from}-{last}") };
            }
            if sent.header.flags.contains(Flags::ECE) {
                word += " ece";
            }
            (sent.at_ms, word)
        };
        self.0.sent.drain(..).map(write).collect()
    }

    fn window(&self) -> Option<String> {
        None
    }
}
