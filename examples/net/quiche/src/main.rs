//! quiche 0.30.0 on the process clock of `sojourn-net`: 10 MB beside TCP CUBIC.
//! `sojourn-net-quiche droptail 7 bbr2 unpaced` runs its BBR behind tail drop with the seed 7 and ignores departure
//! times; all words are optional.

mod random;

use quiche::{Config, Connection, ConnectionId, RecvInfo};
use sojourn_net::{Datagram, End, Error, Event, Instant, Net, Report, expect, process};

sojourn_net::process_clock!();

const WORLD: &str = include_str!("../world.toml");
const CERTIFICATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cert.pem");
const KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/key.pem");

const BYTES: u64 = 10_000_000;
const PAYLOAD: usize = 1_350;
const STREAM: u64 = 0;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |index: usize, default| words.get(index).map_or(default, String::as_str);
    let (aqm, seed, cc, is_paced) = (word(0, "fq_codel"), word(1, "1"), word(2, "cubic"), word(3, "paced") == "paced");
    let world = WORLD.replace("fq_codel", aqm);
    let net = Net::parse(&world, seed.parse().expect("the seed is a number")).expect("the world is valid").named(aqm);
    let report = process::run(net, |net| transfer(net, cc, is_paced));
    let report = report.expect("the process clock follows").expect("the transfer succeeds");
    let (bursts, gap) = gaps(&report);
    let number = |sentence| report.judge(sentence).expect("the sentence is valid").sides[0].2[0];
    println!(
        "{aqm}, seed {seed}, {cc}: {} datagrams, decisions {}, run {}; {:.1} ms, loss {:.2} %, p99 of the delay {:.1} ms; \
         {bursts} % of the packets in bursts, median gap {gap} us",
        report.datagrams(),
        report.decisions(),
        report.fingerprint(),
        number("p50(completion, transfer) >= 0 s"),
        number("loss(transfer) >= 0 %"),
        number("p99(delay, transfer) >= 0 ms"),
    );
    let within = if cc == "bbr2" && is_paced { "35 s" } else { "12 s" };
    expect!(report, &format!("max(completion, transfer) <= {within} and loss(transfer) <= 6 %"));
    expect!(report, "p99(delay, transfer) <= 80 ms");
    if cc == "bbr2" && is_paced {
        assert_eq!(bursts, 0, "departure times spread the packets");
    }
}

/// A connection, once there is one, and its end.
struct Host {
    end: End,
    connection: Option<Connection>,
    config: Config,
}

/// Sends `BYTES` from source to sink.
fn transfer(mut net: Net, cc: &str, is_paced: bool) -> Result<Report, Error> {
    let (source, sink) = net.pair("transfer")?;
    let (to, seed) = (net.address(sink), net.seed());
    let mut hosts = [source, sink].map(|end| Host { end, connection: None, config: config(cc) });
    let (mut left, mut received) = (BYTES, 0);
    loop {
        let end = match net.next()? {
            Event::Begin(end) if end == source => {
                let id = seed.to_be_bytes();
                let (from, config) = (net.address(source), &mut hosts[0].config);
                let connection = quiche::connect(Some("sojourn.test"), &ConnectionId::from_ref(&id), from, to, config);
                hosts[0].connection = Some(connection.expect("the configuration is valid"));
                end
            }
            Event::Wake(end) => {
                hosts[end.side() as usize].connection.iter_mut().for_each(Connection::on_timeout);
                end
            }
            Event::Datagram { to, from, local, bytes, .. } => {
                hosts[to.side() as usize].receive(bytes, RecvInfo { from, to: local }, !seed);
                to
            }
            Event::End => return net.finish(),
            _ => continue,
        };
        if end == source {
            hosts[0].write(&mut left);
        } else if hosts[1].read(&mut received) {
            net.completed(source, Instant::ZERO, received);
        }
        hosts[end.side() as usize].send(&mut net, is_paced)?;
    }
}

impl Host {
    fn receive(&mut self, bytes: &[u8], info: RecvInfo, id: u64) {
        let connection = self.connection.get_or_insert_with(|| {
            let id = id.to_be_bytes();
            let accepted = quiche::accept(&ConnectionId::from_ref(&id), None, info.to, info.from, &mut self.config);
            accepted.expect("the configuration is valid")
        });
        connection.recv(&mut bytes.to_vec(), info).expect("the packet is authentic");
    }

    /// Writes as much as the connection takes, but waits for room for a packet: else each acknowledgment would send a
    /// small one.
    fn write(&mut self, left: &mut u64) {
        let Some(connection) = self.connection.as_mut().filter(|connection| connection.is_established()) else {
            return;
        };
        while *left > 0 && connection.stream_capacity(STREAM).unwrap_or(PAYLOAD) >= PAYLOAD {
            let block = &[7; 16_384][..(*left).min(16_384) as usize];
            *left -= connection.stream_send(STREAM, block, block.len() as u64 == *left).expect("it has room") as u64;
        }
    }

    /// Reads what has arrived; whether the stream is complete now.
    fn read(&mut self, received: &mut u64) -> bool {
        let Some(connection) = self.connection.as_mut() else { return false };
        let mut bytes = [0; 65_536];
        while let Ok((count, is_last)) = connection.stream_recv(STREAM, &mut bytes) {
            *received += count as u64;
            if is_last {
                assert_eq!(*received, BYTES);
                return true;
            }
        }
        false
    }

    /// Sends until the connection has nothing to send, and sets the deadline.
    fn send(&mut self, net: &mut Net, is_paced: bool) -> Result<(), Error> {
        let Some(connection) = self.connection.as_mut() else { return Ok(()) };
        let mut bytes = [0; PAYLOAD];
        while let Ok((count, info)) = connection.send(&mut bytes) {
            let at = is_paced.then(|| net.from_std(info.at));
            net.send(self.end, &Datagram { at, ..Datagram::to(info.to, &bytes[..count]) })?;
        }
        net.wake(self.end, connection.timeout_instant().map(|at| net.from_std(at)));
        Ok(())
    }
}

fn config(cc: &str) -> Config {
    let mut config = Config::new(quiche::PROTOCOL_VERSION).expect("the version is known");
    config.load_cert_chain_from_pem_file(CERTIFICATE).expect("the certificate is there");
    config.load_priv_key_from_pem_file(KEY).expect("the key is there");
    config.load_verify_locations_from_file(CERTIFICATE).expect("the certificate is there");
    config.set_application_protos(&[b"sojourn"]).expect("the name is short");
    config.set_max_send_udp_payload_size(PAYLOAD);
    config.set_max_recv_udp_payload_size(PAYLOAD);
    config.set_initial_max_data(4_000_000);
    config.set_initial_max_stream_data_bidi_remote(4_000_000);
    config.set_initial_max_streams_bidi(1);
    config.set_max_idle_timeout(30_000);
    let name = if cc == "bbr2" { "bbr2_gcongestion" } else { cc };
    config.set_cc_algorithm_name(name).expect("quiche has it");
    config
}

/// Per cent of the source's big datagrams that leave together with the one before, and the median of the other gaps in
/// microseconds.
fn gaps(report: &Report) -> (usize, u64) {
    let big = report.log().iter().filter(|decision| decision.bytes > 1_000);
    let times: Vec<Instant> = big.map(|decision| decision.at).collect();
    let mut gaps: Vec<u64> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_nanos() as u64 / 1_000).collect();
    gaps.sort_unstable();
    let bursts = gaps.iter().filter(|gap| **gap == 0).count();
    (bursts * 100 / gaps.len(), gaps[(gaps.len() + bursts) / 2])
}
