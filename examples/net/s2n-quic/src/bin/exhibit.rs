//! Records for the page on real stacks: `exhibit WORLDS RECORDS` runs the worlds that the example `real_stacks` of
//! `sojourn-net` has written, with CUBIC, s2n-quic's default, and BBR, and 20 seeds.

use bach::sync::oneshot;
use s2n_quic::client::Connect;
use s2n_quic::provider::io::testing::{Handle, Result, primary, spawn, test_seed};
use s2n_quic::{Client, Server};
use sojourn_net::{End, Net, Report, Standing};
use sojourn_net_s2n_quic::endpoint::{self, Control, Counters};
use sojourn_net_s2n_quic::network::{Link, Shared};
use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Length of the simulation, longer than the run of 30 s.
const LENGTH: Duration = Duration::from_secs(31);

/// Keys of the group: the addresses that s2n-quic's simulation gives its second socket, the client's, and its first
/// one, the server's.
const GROUP: &str = "name = \"stack\"\naddress = [\"1.0.0.1\", \"1.0.0.0\"]";

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [worlds, records] = folders.as_slice() else { return Err("usage: exhibit WORLDS RECORDS".into()) };
    std::fs::create_dir_all(records)?;
    for file in std::fs::read_dir(worlds)? {
        let file = file?.path();
        let text = std::fs::read_to_string(&file)?.replace("name = \"stack\"", GROUP);
        let cell = file.file_stem().unwrap_or_default().to_string_lossy();
        for (name, control) in [("CUBIC", Control::Cubic), ("BBR", Control::Bbr)] {
            for seed in 1..=20 {
                let name = format!("s2n-quic 1.91.0, {name}.{cell}");
                let report = run(Net::parse(&text, seed)?.named(&name), seed, control)?;
                std::fs::write(records.join(format!("{name}-{seed}.json")), report.record().to_string())?;
            }
        }
    }
    Ok(())
}

/// Runs an upload that outlasts the net.
fn run(net: Net, seed: u64, control: Control) -> std::result::Result<Report, Box<dyn Error>> {
    let ends: [End; 2] = net.pair("stack")?.into();
    let net: Shared = Arc::new(Mutex::new(net));
    let (begin, begun) = oneshot::channel();
    let link = Link::new(net.clone(), ends).notify(begin);
    test_seed(link, seed, |handle| start(handle, &net, ends[1], control, begun))?;
    let net = Arc::into_inner(net).expect("the simulation is over").into_inner().expect("one thread");
    Ok(net.finish()?)
}

fn start(handle: &Handle, net: &Shared, sink: End, control: Control, begun: oneshot::Receiver<()>) -> Result<()> {
    let server = endpoint::server(handle)?;
    let to = server.local_addr()?;
    spawn(receive(server, net.clone(), sink));
    let client = endpoint::client(handle, control, Arc::new(Counters::default()))?;
    spawn(async move {
        begun.await.expect("the source begins");
        // The simulation's end closes the connection.
        let result = send(client, to).await;
        assert!(bach::time::Instant::now().elapsed_since_start() >= LENGTH, "an early end: {result:?}");
    });
    primary::spawn(bach::time::sleep(LENGTH));
    Ok(())
}

/// Accepts a connection and counts the bytes of its stream.
async fn receive(mut server: Server, net: Shared, sink: End) -> Option<()> {
    let mut stream = server.accept().await?.accept_receive_stream().await.ok()??;
    let mut received = 0;
    while let Ok(Some(chunk)) = stream.receive().await {
        received += chunk.len() as u64;
        let standing = Standing { delivered: Some(received), ..Standing::default() };
        net.lock().expect("one thread").set_standing(sink, standing);
    }
    None
}

/// Writes to one stream for ever.
async fn send(client: Client, to: SocketAddr) -> Result<()> {
    let mut connection = client.connect(Connect::new(to).with_server_name("sojourn.test")).await?;
    let mut stream = connection.open_send_stream().await?;
    loop {
        stream.send(vec![0; 65_536].into()).await?;
    }
}
