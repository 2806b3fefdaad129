//! Measurement of the rates that this machine emulates faithfully.

use super::Interruption;
use crate::path::{DirectionConfig, PathKind, Side};
use crate::shell::{self, InnerCommand, Outcome, Shell};
use crate::sys::clock;
use crate::sys::process;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use serde_json::{Value, json};
use sojourn_aqm::registry::REGISTERED;
use sojourn_sim::scenario::LinkSpec;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;

/// Measures every rate once per round, so that a temporary disturbance does not affect one rate only. Returns the keys
/// of the measurements in the JSON of [`super::examine`]; `goes_on` as there.
pub fn measure_all(goes_on: &mut dyn FnMut(usize, usize) -> bool) -> Result<Value, Interruption> {
    let mut rounds: Vec<Vec<Measurement>> = Vec::new();
    let all = ROUNDS * RATES.len();
    for round in 0..ROUNDS {
        let mut measured = Vec::new();
        for (number, rate) in RATES.iter().enumerate() {
            if !goes_on(round * RATES.len() + number, all) {
                return Err(Interruption(None));
            }
            match measure(rate)? {
                Some(found) => measured.push(found),
                None => break,
            }
        }
        rounds.push(measured);
    }
    Ok(summary(&rounds))
}

/// The keys for measurements that were not made.
pub fn none() -> Value {
    summary(&[])
}

fn summary(rounds: &[Vec<Measurement>]) -> Value {
    let highest = highest(rounds);
    let name = |rate: Option<usize>| rate.map(|rate| RATES[rate]);
    json!({
        "rates": (0..RATES.len()).filter_map(|rate| rate_summary(rate, rounds)).collect::<Vec<_>>(),
        "highest_faithful_rate": highest.get(highest.len() / 2).copied().and_then(name),
        "highest_faithful_rates": highest.iter().copied().map(name).collect::<Vec<_>>(),
    })
}

/// Index of the last rate of each round before one that is not faithful, in ascending order, `None` first.
fn highest(rounds: &[Vec<Measurement>]) -> Vec<Option<usize>> {
    let up_to = |round: &Vec<Measurement>| round.iter().take_while(|run| run.faithful).count().checked_sub(1);
    let mut found: Vec<_> = rounds.iter().map(up_to).collect();
    found.sort();
    found
}

/// Summary of a rate over all rounds; `None` if no round measured it.
fn rate_summary(rate: usize, rounds: &[Vec<Measurement>]) -> Option<Value> {
    let runs: Vec<&Measurement> = rounds.iter().filter_map(|round| round.get(rate)).collect();
    let median = |of: fn(&Measurement) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(|run| of(run)).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let faithful = runs.iter().filter(|run| run.faithful).count();
    (!runs.is_empty()).then(|| {
        json!({
            "rate": RATES[rate],
            "utilisation": median(|run| run.used),
            "throughput_bps": median(|run| run.throughput_bps),
            "cpu_share": median(|run| run.cpu_share),
            "late_p99_ns": median(|run| run.late_p99_ns),
            "hidden_drops": runs.iter().map(|run| run.hidden_drops).sum::<u64>(),
            "runs": runs.len(),
            "faithful_runs": faithful,
            "faithful": 2 * faithful > runs.len(),
        })
    })
}

/// One measurement of a rate.
struct Measurement {
    used: f64,
    throughput_bps: f64,
    cpu_share: f64,
    late_p99_ns: f64,
    hidden_drops: u64,
    faithful: bool,
}

/// Measures one TCP flow in the up direction of a link of this rate; `None` if the shell fails.
fn measure(rate: &str) -> Result<Option<Measurement>, Interruption> {
    let Some(outcome) = run(rate) else { return Ok(None) };
    // The shell forwards signals to its command, which is our own sender: the signal was meant for us.
    if outcome.signalled.is_some() {
        return Err(Interruption(outcome.signalled));
    }
    let up = &outcome.reports[0];
    let used = up.utilisation.unwrap_or(0.0);
    Ok(Some(Measurement {
        used,
        throughput_bps: up.counters.departed.1 as f64 * 8e9 / outcome.usage.wall_ns as f64,
        cpu_share: outcome.usage.cpu_ns as f64 / outcome.usage.wall_ns as f64,
        late_p99_ns: up.lateness.quantile(0.99).unwrap_or(0.0),
        hidden_drops: outcome.hidden_drops(),
        faithful: used >= BUSY && outcome.faults().is_empty(),
    }))
}

/// Runs a shell with a TCP sender inside and a receiver outside.
fn run(rate: &str) -> Option<Outcome> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    let port = listener.local_addr().ok()?.port();
    let receiver = process::spawn(move || i32::from(receive(&listener).is_err())).ok()?;
    let link = |side| {
        let table = json!({ "rate": rate, "limit": "1000 packets" });
        let spec = LinkSpec::parse("", &table, Path::new(".")).expect("the rates below are valid");
        DirectionConfig::new(side, PathKind::Link(Box::new(spec)))
    };
    let sends = InnerCommand::Own(Box::new(move |host| i32::from(send(SocketAddr::new(host, port)).is_err())));
    let shell = Shell::new("doctor", [link(Side::Up), link(Side::Down)], sends);
    let outcome = shell::run(shell, REGISTERED);
    let _ = kill(receiver, Signal::SIGKILL);
    let _ = waitpid(receiver, None);
    outcome.ok()
}

fn send(to: SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect(to)?;
    let bytes = vec![0; 1 << 18];
    let end = clock::monotonic_ns() + SEND_NS;
    while clock::monotonic_ns() < end {
        stream.write_all(&bytes)?;
    }
    Ok(())
}

fn receive(listener: &TcpListener) -> io::Result<()> {
    let (mut stream, _) = listener.accept()?;
    let mut room = vec![0; 1 << 20];
    while stream.read(&mut room)? > 0 {}
    Ok(())
}

/// Rates that are measured.
const RATES: &[&str] = &["100 Mbit/s", "300 Mbit/s", "1 Gbit/s", "2 Gbit/s", "3 Gbit/s", "5 Gbit/s"];

/// Minimum utilisation of a saturated link, including start and end of the flow.
const BUSY: f64 = 0.85;

/// Sending time of a flow.
const SEND_NS: u64 = 600_000_000;

/// Measurements of each rate; odd, so that there is a median.
const ROUNDS: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(faithful: bool, used: f64) -> Measurement {
        let (throughput_bps, cpu_share, late_p99_ns) = (used * 1e8, 0.1, 1e4);
        Measurement { used, throughput_bps, cpu_share, late_p99_ns, hidden_drops: 1, faithful }
    }

    #[test]
    fn one_disturbed_round_does_not_move_the_median() {
        let rounds: Vec<_> =
            [[true, true, false], [true, true, true], [false, false, false], [true, false, true], [true; 3]]
                .map(|round| round.map(|faithful| measured(faithful, if faithful { 0.9 } else { 0.1 })).into())
                .into();
        // A rate above one that failed does not count.
        assert_eq!(highest(&rounds), [None, Some(0), Some(1), Some(2), Some(2)]);
        assert_eq!(highest(&[]), []);
        let second = rate_summary(1, &rounds).unwrap();
        assert_eq!((&second["faithful_runs"], &second["runs"]), (&json!(3), &json!(5)));
        assert_eq!((&second["faithful"], &second["utilisation"]), (&json!(true), &json!(0.9)));
        assert_eq!(second["hidden_drops"], 5);
        assert_eq!(rate_summary(3, &rounds), None, "not measured");
    }
}
