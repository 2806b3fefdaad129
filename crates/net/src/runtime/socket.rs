//! UDP sockets of an executor: a port of an end each.

use super::{Runtime, finished};
use crate::error::Error;
use crate::net::{Datagram, End};
use sojourn_aqm::Ecn;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::task::{Context, Poll, Waker};

/// A UDP socket of an end. Dropping it closes its port.
#[derive(Debug)]
pub struct UdpSocket {
    pub(super) runtime: Runtime,
    pub(super) end: End,
    pub(super) local: SocketAddr,
}

impl UdpSocket {
    /// Its local address.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Sends a datagram, or several of one size, from the socket's address unless `datagram` has a local one.
    ///
    /// # Errors
    ///
    /// As [`Net::send`]; after [`Error::would_block`] wait for [`UdpSocket::poll_writable`].
    pub fn try_send(&self, datagram: &Datagram<'_>) -> Result<(), Error> {
        let local = datagram.local.or(Some(self.local));
        self.runtime.with(|net| net.send(self.end, &Datagram { local, ..*datagram })).ok_or_else(finished)?
    }

    /// Whether the host accepts a datagram; if not, the task is woken when it does.
    pub fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.runtime.lock();
        if state.net.as_mut().is_none_or(|net| net.has_room(self.end)) {
            return Poll::Ready(());
        }
        add_waker(state.room.entry(self.end).or_default(), cx);
        Poll::Pending
    }

    /// The next datagram; if there is none, the task is woken when one arrives. Datagrams wait without a limit.
    pub fn poll_recv(&self, cx: &mut Context<'_>) -> Poll<Incoming> {
        let mut state = self.runtime.lock();
        let inbox = state.sockets.entry((self.end, self.local.port())).or_default();
        if let Some(datagram) = inbox.datagrams.pop_front() {
            return Poll::Ready(datagram);
        }
        add_waker(&mut inbox.readers, cx);
        Poll::Pending
    }

    /// The next datagram.
    pub async fn recv(&self) -> Incoming {
        std::future::poll_fn(|cx| self.poll_recv(cx)).await
    }
}

impl Drop for UdpSocket {
    fn drop(&mut self) {
        self.runtime.lock().sockets.remove(&(self.end, self.local.port()));
    }
}

/// A datagram as a socket receives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// Payload.
    pub bytes: Vec<u8>,
    /// Source address on the wire.
    pub from: SocketAddr,
    /// The local address that it was sent to.
    pub local: SocketAddr,
    /// ECN field as received.
    pub ecn: Ecn,
    /// Tag that its sender gave it; 0 for none.
    pub tag: u8,
}

/// Datagrams that a socket has not received yet, and the tasks that wait for one.
#[derive(Default)]
pub(super) struct Inbox {
    pub datagrams: VecDeque<Incoming>,
    pub readers: Vec<Waker>,
}

fn add_waker(wakers: &mut Vec<Waker>, cx: &Context<'_>) {
    if !wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
        wakers.push(cx.waker().clone());
    }
}
