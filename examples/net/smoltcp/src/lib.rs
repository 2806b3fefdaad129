//! A host with smoltcp's TCP as a program of a net: whole IP packets in and out.

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{self, ChecksumCapabilities, Device, DeviceCapabilities, Medium};
use smoltcp::socket::tcp;
pub use smoltcp::socket::tcp::CongestionControl;
use smoltcp::time::Instant as Micros;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use sojourn_net::{Cx, Endpoint, Instant, OtherEvent, Received, Standing, Transmit};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

/// Transfer of a host: the source connects and sends so many bytes, the sink receives them.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    pub bytes: usize,
    /// Bytes of each socket's buffers.
    pub buffer: usize,
    pub control: CongestionControl,
    /// Seed of sequence numbers and ports.
    pub seed: u64,
}

/// One host: an interface, one TCP socket, and the packets between them and the net.
pub struct Host {
    transfer: Transfer,
    is_source: bool,
    interface: Option<Interface>,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    device: Packets,
    /// When packets that have arrived are handled.
    poll_at: Option<Instant>,
    begun: Instant,
    /// Bytes sent by the source or received by the sink.
    moved: usize,
}

/// Packets that have arrived, and packets to be sent.
#[derive(Default)]
struct Packets {
    arrived: VecDeque<Vec<u8>>,
    sent: VecDeque<Vec<u8>>,
}

impl Host {
    /// Both ends of a transfer.
    pub fn pair(transfer: Transfer) -> [Self; 2] {
        [true, false].map(|is_source| Self::new(transfer, is_source))
    }

    fn new(transfer: Transfer, is_source: bool) -> Self {
        let buffer = || tcp::SocketBuffer::new(vec![0; transfer.buffer]);
        let mut socket = tcp::Socket::new(buffer(), buffer());
        socket.set_congestion_control(transfer.control);
        let mut sockets = SocketSet::new(vec![]);
        let (socket, device) = (sockets.add(socket), Packets::default());
        let (begun, poll_at) = (Instant::ZERO, None);
        Self { transfer, is_source, interface: None, sockets, socket, device, poll_at, begun, moved: 0 }
    }

    /// Lets the stack handle what has arrived, and the application what the socket accepts or has.
    fn poll(&mut self, cx: &mut Cx<'_>) {
        let Some(interface) = &mut self.interface else { return };
        self.poll_at = None;
        interface.poll(micros(cx.now()), &mut self.device, &mut self.sockets);
        let socket = self.sockets.get_mut::<tcp::Socket>(self.socket);
        let left = self.transfer.bytes - self.moved;
        while self.is_source && socket.can_send() && self.moved < self.transfer.bytes {
            let left = self.transfer.bytes - self.moved;
            self.moved += socket.send(|buffer| (buffer.len().min(left), buffer.len().min(left))).expect("it can send");
        }
        while socket.can_recv() {
            self.moved += socket.recv(|bytes| (bytes.len(), bytes.len())).expect("it can receive");
        }
        if !self.is_source && left > 0 && self.moved == self.transfer.bytes {
            cx.completed(self.begun, self.moved as u64);
        }
    }

    fn open(&mut self, cx: &Cx<'_>) {
        let (own, peer) = (cx.address(), cx.peer());
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = self.transfer.seed << 1 | u64::from(self.is_source);
        let mut interface = Interface::new(config, &mut self.device, micros(cx.now()));
        interface.update_ip_addrs(|list| list.push(IpCidr::new(address(own), 8)).expect("there is room for one"));
        let socket = self.sockets.get_mut::<tcp::Socket>(self.socket);
        match self.is_source {
            true => {
                socket.connect(interface.context(), (address(peer), peer.port()), own.port()).expect("it is closed")
            }
            false => socket.listen(own.port()).expect("it is closed"),
        }
        self.interface = Some(interface);
    }
}

impl Endpoint for Host {
    fn begin(&mut self, cx: &mut Cx<'_>) {
        self.begun = cx.now();
        self.open(cx);
        self.poll(cx);
    }

    fn on_datagram(&mut self, cx: &mut Cx<'_>, packet: Received<'_>) {
        self.device.arrived.push_back(packet.bytes.to_vec());
        // smoltcp counts microseconds: packets that arrive within one are handled by one poll.
        self.poll_at.get_or_insert(Instant::from_nanos(cx.now().as_nanos().next_multiple_of(1_000)));
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.poll(cx);
    }

    fn on_other(&mut self, _: &mut Cx<'_>, _: OtherEvent) {}

    fn poll_transmit(&mut self, _: Instant, into: &mut Vec<u8>) -> Option<Transmit> {
        *into = self.device.sent.pop_front()?;
        Some(Transmit::packet())
    }

    fn wake_at(&mut self) -> Option<Instant> {
        // Time is the caller's; the deadline of the socket does not depend on it.
        let at = self.interface.as_mut()?.poll_at(Micros::ZERO, &self.sockets);
        let at = at.map(|at| Instant::from_nanos(at.total_micros().max(0) as u64 * 1_000));
        [at, self.poll_at].into_iter().flatten().min()
    }

    fn standing(&self) -> Standing {
        Standing { delivered: (!self.is_source).then_some(self.moved as u64), ..Standing::default() }
    }
}

/// smoltcp counts microseconds. Deadlines are whole ones, so rounding the time down never wakes a socket early.
fn micros(at: Instant) -> Micros {
    Micros::from_micros((at.as_nanos() / 1_000) as i64)
}

fn address(of: SocketAddr) -> IpAddress {
    match of.ip() {
        IpAddr::V4(ip) => IpAddress::Ipv4(ip),
        IpAddr::V6(_) => unreachable!("the world has IPv4 addresses"),
    }
}

impl Device for Packets {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Sent<'a>;

    fn receive(&mut self, _: Micros) -> Option<(Arrived, Sent<'_>)> {
        let packet = self.arrived.pop_front()?;
        Some((Arrived(packet), Sent(&mut self.sent)))
    }

    fn transmit(&mut self, _: Micros) -> Option<Sent<'_>> {
        Some(Sent(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = 1_500;
        capabilities.checksum = ChecksumCapabilities::default();
        capabilities
    }
}

/// A packet that the interface consumes.
pub struct Arrived(Vec<u8>);

impl phy::RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, handle: F) -> R {
        handle(&self.0)
    }
}

/// Room for a packet that the interface sends.
pub struct Sent<'a>(&'a mut VecDeque<Vec<u8>>);

impl phy::TxToken for Sent<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        let mut packet = vec![0; length];
        let result = fill(&mut packet);
        self.0.push_back(packet);
        result
    }
}
