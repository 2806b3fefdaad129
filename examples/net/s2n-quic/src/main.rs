//! s2n-quic 1.91.0 in its own simulation, whose network is a net: 8 MB behind DualPI2, beside TCP Prague.
//! `sojourn-net-s2n-quic 7` runs it with the seed 7.

use s2n_quic::client::Connect;
use s2n_quic::provider::io::testing::{Handle, Result, primary, spawn, test_seed};
use s2n_quic::{Client, Server};
use sojourn_net::{Ecn, End, Instant, Net, Report, Side, expect};
use sojourn_net_s2n_quic::endpoint::{self, Control, Counters};
use sojourn_net_s2n_quic::network::{Link, Shared};
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

/// Bytes of the upload.
const BYTES: usize = 8_000_000;

fn main() {
    let seed = std::env::args().nth(1).map_or(1, |text| text.parse().expect("the seed is a number"));
    let net = Net::load(concat!(env!("CARGO_MANIFEST_DIR"), "/world.toml"), seed).expect("the world is valid");
    let ends: [End; 2] = net.pair("upload").expect("the group is there").into();
    let net: Shared = Arc::new(Mutex::new(net));
    let counters = Arc::new(Counters::default());
    test_seed(Link::new(net.clone(), ends), seed, |handle| start(handle, &net, ends, &counters)).expect("it starts");
    let net = Arc::into_inner(net).expect("the simulation is over").into_inner().expect("one thread");
    let report = net.finish().expect("the run has ended");
    println!(
        "seed {seed}: {} datagrams, decisions {}, run {}",
        report.datagrams(),
        report.decisions(),
        report.fingerprint()
    );
    assert_eq!(counters.ce.load(Relaxed), received_ce(&report), "CE that s2n-quic counts, and the net");
    expect!(report, "6 s <= mean(completion, upload) <= 9.5 s and share(flows.1) >= 75 %");
    // Propagation takes 15 ms, the classic queue's target is 15 ms too; the first slow start overshoots.
    expect!(report, "p75(delay, upload) <= 40 ms and p95(delay, upload) <= 120 ms");
    expect!(report, "marks(upload) >= 0.2 % and loss(upload) <= 0.5 % and note(upload.source.marked) >= 10");
}

fn start(handle: &Handle, net: &Shared, [source, sink]: [End; 2], counters: &Arc<Counters>) -> Result<()> {
    let server = endpoint::server(handle)?;
    let to = server.local_addr()?;
    spawn(receive(server, net.clone(), sink));
    let client = endpoint::client(handle, Control::Cubic, counters.clone())?;
    let (net, counters) = (net.clone(), counters.clone());
    primary::spawn(async move {
        send(client, to).await.expect("the upload is acknowledged");
        let mut net = net.lock().expect("one thread");
        net.note(source, "marked", counters.marked.load(Relaxed) as f64);
        net.note(source, "lost", counters.lost.load(Relaxed) as f64);
    });
    Ok(())
}

/// Accepts a connection and counts its streams as transfers, from the start of the run.
async fn receive(mut server: Server, net: Shared, sink: End) {
    while let Some(mut connection) = server.accept().await {
        while let Ok(Some(mut stream)) = connection.accept_receive_stream().await {
            let mut received = 0;
            while let Ok(Some(chunk)) = stream.receive().await {
                received += chunk.len() as u64;
            }
            net.lock().expect("one thread").completed(sink, Instant::ZERO, received);
        }
    }
}

/// Uploads over one stream, until all of it is acknowledged.
async fn send(client: Client, to: SocketAddr) -> Result<()> {
    let mut connection = client.connect(Connect::new(to).with_server_name("sojourn.test")).await?;
    let mut stream = connection.open_send_stream().await?;
    stream.send(vec![0; BYTES].into()).await?;
    stream.close().await?;
    Ok(())
}

/// Datagrams of the source that arrived with CE: marked by the queue, or sent so by s2n-quic (RFC 9002 §8.3: marking
/// occasional packets detects a path or a peer that suppresses reports).
fn received_ce(report: &Report) -> u64 {
    let probes = report.log().iter().filter(|datagram| datagram.end.side == Side::Source && datagram.ecn == Ecn::Ce);
    let program = report.summary().groups[0].endpoint.as_ref().expect("the first group has endpoints");
    probes.count() as u64 + program.source.marked
}
