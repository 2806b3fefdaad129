//! quiche 0.30.0 as the programs of a net, on the process clock of `sojourn-net`.

mod random;

use quiche::{Config, Connection, ConnectionId, RecvInfo};
use sojourn_net::{Datagram, End, Error, Event, Net, Report, Standing};
use std::time::Instant;

const CERTIFICATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cert.pem");
const KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/key.pem");

const PAYLOAD: usize = 1_350;
const STREAM: u64 = 0;

/// Transfer of an endpoint group.
#[derive(Clone, Copy, Debug)]
pub struct Transfer<'a> {
    pub group: &'a str,
    pub bytes: u64,
    /// Congestion control of quiche: `cubic`, `reno` or `bbr2`.
    pub cc: &'a str,
    pub pacing: Pacing,
}

/// Use of quiche's departure times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    Ignored,
    /// Each packet departs at its time, but is taken from quiche as soon as the window allows.
    Departure,
    /// As `Departure`, but a packet is taken at most `max_release_into_future` before its time: until then it is not in
    /// flight.
    Release,
}

/// A connection, once there is one, and its end.
struct Host {
    end: End,
    connection: Option<Connection>,
    config: Config,
}

/// Sends bytes from source to sink until the net ends.
pub fn transfer(mut net: Net, transfer: Transfer<'_>) -> Result<Report, Error> {
    let Transfer { group, bytes: total, cc, pacing } = transfer;
    let (source, sink) = net.pair(group)?;
    let (to, seed) = (net.address(sink), net.seed());
    let mut hosts = [source, sink].map(|end| Host { end, connection: None, config: config(cc) });
    let (mut left, mut received) = (total, 0);
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
        } else {
            if hosts[1].read(&mut received) {
                assert_eq!(received, total);
                net.completed(source, sojourn_net::Instant::ZERO, received);
            }
            net.set_standing(sink, Standing { delivered: Some(received), ..Standing::default() });
        }
        hosts[end.side() as usize].send(&mut net, pacing)?;
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
                return true;
            }
        }
        false
    }

    /// Sends until the connection has nothing to send, and sets the deadline.
    fn send(&mut self, net: &mut Net, pacing: Pacing) -> Result<(), Error> {
        let Some(connection) = self.connection.as_mut() else { return Ok(()) };
        let (mut bytes, mut release) = ([0; PAYLOAD], None);
        loop {
            if pacing == Pacing::Release {
                release = release_of(connection, net.std(net.now()));
            }
            let Some((count, info)) = release.is_none().then(|| connection.send(&mut bytes).ok()).flatten() else {
                break;
            };
            let at = (pacing != Pacing::Ignored).then(|| net.from_std(info.at));
            net.send(self.end, &Datagram { at, ..Datagram::to(info.to, &bytes[..count]) })?;
        }
        let next = [connection.timeout_instant(), release].into_iter().flatten().min();
        net.wake(self.end, next.map(|at| net.from_std(at)));
        Ok(())
    }
}

/// Time to take the next packet, if it is in the future.
fn release_of(connection: &Connection, now: Instant) -> Option<Instant> {
    let decision = connection.get_next_release_time().filter(|decision| !decision.can_burst())?;
    let at = decision.time(now)? - connection.max_release_into_future();
    (at > now).then_some(at)
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
