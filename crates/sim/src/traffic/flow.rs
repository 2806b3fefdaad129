//! Flows of any kind; adding a kind takes one line.

use super::dialogue::DialogueFlow;
use super::endpoint::EndpointFlow;
use super::exchange::Exchange;
use super::host::{Endpoints, Host};
use super::load::LoadFlow;
use super::media::MediaFlow;
use super::quic::QuicFlow;
use super::replay::ReplayFlow;
use super::tcp::TcpFlow;
use super::udp::UdpFlow;
use crate::packet::ReceivedPacket;
use crate::status::Status;
use sojourn_aqm::Instant;
use sojourn_tcp::Header;

/// The first kind is that of most flows: it is matched before the others and inlined into the caller.
macro_rules! flows {
    ($first:ident($first_type:ty); $( $(#[$only:meta])? $kind:ident($type:ty); )+) => {
        /// Any kind of flow. An explicit tag, because one hidden in a niche of another field costs instructions on
        /// every packet.
        #[allow(clippy::large_enum_variant)]
        #[repr(u8)]
        pub(crate) enum AnyFlow { $first($first_type), $( $(#[$only])? $kind($type), )+ }

        impl AnyFlow {
            /// Delivers a packet to one of the ends; returns when that end's timer is due. One function, so that a
            /// packet is matched by kind once.
            #[inline(always)]
            pub fn on_packet(&mut self, now: Instant, header: &Header, packet: ReceivedPacket, host: &mut impl Host) -> Instant {
                match self {
                    Self::$first(flow) if packet.to_sink => {
                        flow.on_sink_packet(now, header, packet, host);
                        flow.sink_deadline()
                    }
                    Self::$first(flow) => {
                        flow.on_source_packet(now, header, packet, host);
                        flow.source_deadline()
                    }
                    _ => self.on_packet_of_others(now, header, packet, host),
                }
            }

            #[inline(never)]
            fn on_packet_of_others(
                &mut self,
                now: Instant,
                header: &Header,
                packet: ReceivedPacket,
                host: &mut impl Host,
            ) -> Instant {
                match self {
                    Self::$first(_) => unreachable!("it was matched before"),
                    $( $(#[$only])? Self::$kind(flow) if packet.to_sink => {
                        flow.on_sink_packet(now, header, packet, host);
                        flow.sink_deadline()
                    }
                    $(#[$only])? Self::$kind(flow) => {
                        flow.on_source_packet(now, header, packet, host);
                        flow.source_deadline()
                    } )+
                }
            }

            /// Runs the source's timers, which may not be due yet; returns when the next one is.
            #[inline(always)]
            pub fn on_source_timer(&mut self, now: Instant, host: &mut impl Host) -> Instant {
                match self {
                    Self::$first(flow) => {
                        flow.on_source_timer(now, host);
                        flow.source_deadline()
                    }
                    $( $(#[$only])? Self::$kind(flow) => {
                        flow.on_source_timer(now, host);
                        flow.source_deadline()
                    } )+
                }
            }

            /// Runs the sink's timers, which may not be due yet.
            pub fn on_sink_timer(&mut self, now: Instant, host: &mut impl Host) {
                match self { Self::$first(flow) => flow.on_sink_timer(now, host), $( $(#[$only])? Self::$kind(flow) => flow.on_sink_timer(now, host), )+ }
            }

            /// Notifies one end, the source or the sink, that its host accepts data again.
            pub fn on_room(&mut self, now: Instant, at_source: bool, host: &mut impl Host) {
                match self { Self::$first(flow) => flow.on_room(now, at_source, host), $( $(#[$only])? Self::$kind(flow) => flow.on_room(now, at_source, host), )+ }
            }

            /// Notifies the source of a departure from its host's device.
            pub fn on_departure(&mut self, now: Instant, host: &mut impl Host) {
                match self { Self::$first(flow) => flow.on_departure(now, host), $( $(#[$only])? Self::$kind(flow) => flow.on_departure(now, host), )+ }
            }

            /// Sends a request on a client's connection.
            pub fn request(&mut self, now: Instant, exchange: Exchange, host: &mut impl Host) {
                match self { Self::$first(flow) => flow.request(now, exchange, host), $( $(#[$only])? Self::$kind(flow) => flow.request(now, exchange, host), )+ }
            }

            /// Closes a client's connection.
            pub fn close(&mut self, now: Instant, host: &mut impl Host) {
                match self { Self::$first(flow) => flow.close(now, host), $( $(#[$only])? Self::$kind(flow) => flow.close(now, host), )+ }
            }

            /// When the source's timer is due.
            pub fn source_deadline(&self) -> Instant {
                match self { Self::$first(flow) => flow.source_deadline(), $( $(#[$only])? Self::$kind(flow) => flow.source_deadline(), )+ }
            }

            /// When the sink's timer is due.
            pub fn sink_deadline(&self) -> Instant {
                match self { Self::$first(flow) => flow.sink_deadline(), $( $(#[$only])? Self::$kind(flow) => flow.sink_deadline(), )+ }
            }

            /// Takes a snapshot at a possible window start.
            pub fn on_window_start(&mut self) {
                match self { Self::$first(flow) => flow.on_window_start(), $( $(#[$only])? Self::$kind(flow) => flow.on_window_start(), )+ }
            }

            /// Datagrams received after window start `number`, counted from 0, and sent before it.
            pub fn strays(&self, number: usize) -> u64 {
                match self { Self::$first(flow) => flow.strays(number), $( $(#[$only])? Self::$kind(flow) => flow.strays(number), )+ }
            }

            /// Counters and current state.
            pub fn status(&self) -> Status {
                match self { Self::$first(flow) => flow.status(), $( $(#[$only])? Self::$kind(flow) => flow.status(), )+ }
            }
        }
    };
}

flows! {
    Tcp(TcpFlow);
    Quic(Box<QuicFlow>);
    Dialogue(Box<DialogueFlow>);
    Load(Box<LoadFlow>);
    Udp(UdpFlow);
    Media(Box<MediaFlow>);
    Replay(Box<ReplayFlow>);
    Endpoint(Box<EndpointFlow>);
}
