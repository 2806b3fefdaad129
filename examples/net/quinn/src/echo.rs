//! A server that returns what each stream brings, and a client with a hundred streams: plain quinn, for any runtime.

use quinn::{Connection, Endpoint, RecvStream, Runtime, SendStream};
use std::sync::Arc;

/// Streams of the client, and bytes of each.
pub const STREAMS: u32 = 100;
pub const BYTES: usize = 4_000;

/// Accepts connections and returns the bytes of their streams.
pub async fn serve(endpoint: Endpoint, runtime: Arc<dyn Runtime>) {
    while let Some(incoming) = endpoint.accept().await {
        let connection = incoming.await.expect("the handshake succeeds");
        while let Ok((send, recv)) = connection.accept_bi().await {
            runtime.spawn(Box::pin(echo(send, recv)));
        }
    }
}

async fn echo(mut send: SendStream, mut recv: RecvStream) {
    let bytes = recv.read_to_end(BYTES).await.expect("the stream ends");
    send.write_all(&bytes).await.expect("the client reads");
    send.finish().expect("it is finished once");
}

/// Opens the streams at once, and calls `done` for each that has come back whole.
pub async fn ask(connection: &Connection, mut done: impl FnMut(u32)) {
    let mut open = Vec::new();
    for number in 0..STREAMS {
        let (mut send, recv) = connection.open_bi().await.expect("the server accepts streams");
        send.write_all(&content(number)).await.expect("the server reads");
        send.finish().expect("it is finished once");
        open.push(recv);
    }
    for (number, mut recv) in (0..).zip(open) {
        assert!(recv.read_to_end(BYTES).await.expect("the stream ends") == content(number), "stream {number}");
        done(number);
    }
}

fn content(number: u32) -> Vec<u8> {
    (0..BYTES as u32).map(|index| (index.wrapping_mul(number + 1) >> 3) as u8).collect()
}
