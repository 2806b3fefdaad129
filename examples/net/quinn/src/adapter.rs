//! quinn 0.11's runtime on the executor of `sojourn-net`.

use quinn::udp::{EcnCodepoint, RecvMeta, Transmit};
use quinn::{AsyncTimer, AsyncUdpSocket, Runtime, UdpPoller};
use sojourn_net::{Datagram, Ecn, runtime};
use std::{future::Future, net::SocketAddr, pin::Pin, sync::Arc, time::Instant};
use std::{
    io::{Error, IoSliceMut, Result},
    task::{Context, Poll},
};

#[derive(Clone, Debug)]
pub struct Adapter(pub runtime::Runtime);

#[derive(Debug)]
pub struct Socket(pub runtime::UdpSocket);

#[derive(Debug)]
struct Timer(runtime::Sleep);

#[derive(Debug)]
struct Poller(Arc<Socket>);

impl Runtime for Adapter {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        Box::pin(Timer(self.0.sleep_until(self.0.from_std(at))))
    }
    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.0.spawn(future);
    }
    fn wrap_udp_socket(&self, _: std::net::UdpSocket) -> Result<Arc<dyn AsyncUdpSocket>> {
        Err(Error::other("no real sockets here; use Endpoint::new_with_abstract_socket"))
    }
    fn now(&self) -> Instant {
        self.0.std_now()
    }
}

impl AsyncTimer for Timer {
    fn reset(mut self: Pin<&mut Self>, at: Instant) {
        self.0.reset_std(at);
    }
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl UdpPoller for Poller {
    fn poll_writable(self: Pin<&mut Self>, cx: &mut Context) -> Poll<Result<()>> {
        self.0.0.poll_writable(cx).map(Ok)
    }
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Poller(self))
    }
    fn try_send(&self, t: &Transmit) -> Result<()> {
        let ecn = t.ecn.map_or(Ecn::NotEct, |codepoint| Ecn::ALL[codepoint as usize]);
        let datagram = Datagram { ecn, segment_size: t.segment_size, ..Datagram::to(t.destination, t.contents) };
        Ok(self.0.try_send(&datagram)?)
    }
    fn poll_recv(&self, cx: &mut Context, bufs: &mut [IoSliceMut<'_>], meta: &mut [RecvMeta]) -> Poll<Result<usize>> {
        self.0.poll_recv(cx).map(|incoming| {
            let len = incoming.bytes.len().min(bufs[0].len());
            bufs[0][..len].copy_from_slice(&incoming.bytes[..len]);
            let (ecn, dst_ip) = (EcnCodepoint::from_bits(incoming.ecn as u8), Some(incoming.local.ip()));
            meta[0] = RecvMeta { addr: incoming.from, len, stride: len, ecn, dst_ip };
            Ok(1)
        })
    }
    fn local_addr(&self) -> Result<SocketAddr> {
        Ok(self.0.local_addr())
    }
    fn may_fragment(&self) -> bool {
        false
    }
}
