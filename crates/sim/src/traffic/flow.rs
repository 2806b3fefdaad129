//! Any kind of flow: one kind, one line.

use super::dialogue::DialogueFlow;
use super::exchange::Exchange;
use super::host::{Endpoints, Host};
use super::load::LoadFlow;
use super::media::MediaFlow;
use super::quic::QuicFlow;
#[cfg(feature = "quinn")]
use super::quinn;
use super::replay::ReplayFlow;
use super::tcp::TcpFlow;
use super::udp::UdpFlow;
use crate::packet::ReceivedPacket;
use crate::status::Status;
use sojourn_aqm::Instant;
use sojourn_tcp::Header;

/// The first one is what most flows are: it is asked for before the others, and compiled into the caller.
macro_rules! flows {
    ($first:ident($first_type:ty); $( $(#[$only:meta])? $kind:ident($type:ty); )+) => {
        /// Any kind of flow. With a tag of its own: one hidden in another field costs instructions on every packet.
        #[allow(clippy::large_enum_variant)]
        #[repr(u8)]
        pub(crate) enum AnyFlow { $first($first_type), $( $(#[$only])? $kind($type), )+ }

        impl AnyFlow {
            /// A packet reached one of the ends; tells when that end's timer is due. All in one, so that a packet costs
            /// one decision about the kind.
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
                    Self::$first(_) => unreachable!("it has been asked for"),
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

            /// The source's deadline has come, or an earlier one; tells the next one.
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

            /// The sink's deadline has come, or an earlier one.
            pub fn on_sink_timer(&mut self, now: Instant, host: &mut impl Host) {
                match self { Self::$first(flow) => flow.on_sink_timer(now, host), $( $(#[$only])? Self::$kind(flow) => flow.on_sink_timer(now, host), )+ }
            }

            /// The host of one end, the source or the sink, takes data again.
            pub fn on_room(&mut self, now: Instant, at_source: bool, host: &mut impl Host) {
                match self { Self::$first(flow) => flow.on_room(now, at_source, host), $( $(#[$only])? Self::$kind(flow) => flow.on_room(now, at_source, host), )+ }
            }

            /// Something of what the source has sent has left its host's device.
            pub fn on_departure(&mut self, now: Instant, host: &mut impl Host) {
                match self { Self::$first(flow) => flow.on_departure(now, host), $( $(#[$only])? Self::$kind(flow) => flow.on_departure(now, host), )+ }
            }

            /// The client of a connection asks.
            pub fn request(&mut self, now: Instant, exchange: Exchange, host: &mut impl Host) {
                match self { Self::$first(flow) => flow.request(now, exchange, host), $( $(#[$only])? Self::$kind(flow) => flow.request(now, exchange, host), )+ }
            }

            /// The client of a connection closes it.
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

            /// The statistics can begin now.
            pub fn on_window_start(&mut self) {
                match self { Self::$first(flow) => flow.on_window_start(), $( $(#[$only])? Self::$kind(flow) => flow.on_window_start(), )+ }
            }

            /// Datagrams that were received after instant `number` of the window, from 0 on, and sent before it.
            pub fn strays(&self, number: usize) -> u64 {
                match self { Self::$first(flow) => flow.strays(number), $( $(#[$only])? Self::$kind(flow) => flow.strays(number), )+ }
            }

            /// What there is to see.
            pub fn status(&self) -> Status {
                match self { Self::$first(flow) => flow.status(), $( $(#[$only])? Self::$kind(flow) => flow.status(), )+ }
            }
        }
    };
}

flows! {
    Tcp(TcpFlow);
    Quic(Box<QuicFlow>);
    #[cfg(feature = "quinn")]
    Quinn(Box<quinn::QuinnFlow>);
    Dialogue(Box<DialogueFlow>);
    Load(Box<LoadFlow>);
    Udp(UdpFlow);
    Media(Box<MediaFlow>);
    Replay(Box<ReplayFlow>);
}
