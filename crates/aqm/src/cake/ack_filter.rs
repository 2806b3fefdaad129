//! Filter for redundant acknowledgments (`cake_ack_filter`, `cake_tcph_sack_compare`, `cake_tcph_may_drop`).

use super::config::AckFilter;
use crate::flow::packet_list::{PacketList, Slab};
use crate::packet::Meta;
use crate::qdisc::Sink;
use crate::tcp_view::TcpView;

/// Handle of a queued acknowledgment that the last packet of `line` makes redundant, if any: the older of two in normal
/// mode, in aggressive mode also the one right before the last packet.
pub(super) fn redundant_ack<P>(
    line: &PacketList,
    packets: &Slab<P>,
    filter: AckFilter,
    sink: &dyn Sink<P>,
) -> Option<u32> {
    let last = line.tail().filter(|_| filter != AckFilter::Off && line.packets > 1)?;
    let meta = packets.meta(last);
    let new = sink.tcp_header(packets.packet(last))?;
    if new.flags & (TcpView::ACK | TcpView::SYN) != TcpView::ACK {
        return None;
    }
    let mut eligible: Option<(u32, u16)> = None;
    let mut at = line.head().filter(|&at| at != last);
    while let Some(i) = at {
        at = packets.next_of(i).filter(|&at| at != last);
        let Some(old) =
            sink.tcp_header(packets.packet(i)).filter(|old| is_one_connection(packets.meta(i), meta, old, &new))
        else {
            continue;
        };
        // The receiver's echo of congestion marks must not be lost.
        eligible = eligible.filter(|&(_, echoes)| echoes == echoes_of(&old));
        if !may_drop(&old, &new) {
            continue;
        }
        match eligible {
            Some((first, _)) => return Some(first),
            None => eligible = Some((i, echoes_of(&old))),
        }
    }
    let (i, echoes) = eligible?;
    let adjacent = packets.next_of(i) == Some(last) && echoes == echoes_of(&new);
    (filter == AckFilter::Aggressive && adjacent).then_some(i)
}

fn is_one_connection(old: &Meta, new: &Meta, old_view: &TcpView, new_view: &TcpView) -> bool {
    (old.flow, old.hosts, old_view.space) == (new.flow, new.hosts, new_view.space)
}

/// Flags ECE and CWR.
const fn echoes_of(view: &TcpView) -> u16 {
    view.flags & (TcpView::ECE | TcpView::CWR)
}

/// Whether `old` is a pure acknowledgment without information beyond `new`.
fn may_drop(old: &TcpView, new: &TcpView) -> bool {
    let pure = old.flags & !(TcpView::ECE | TcpView::CWR) == TcpView::ACK && old.payload == 0 && !old.other_options;
    let later = |a: u32, b: u32| TcpView::is_before(b, a);
    let in_time = match (old.timestamps, new.timestamps) {
        (Some(old), Some(new)) => !later(old.0, new.0) && !later(old.1, new.1),
        (old, _) => old.is_none(),
    };
    if !pure || !in_time || later(old.ack, new.ack) {
        return false;
    }
    let sacked_bytes =
        |view: &TcpView| view.sack.as_slice().iter().map(|(from, to)| to.wrapping_sub(*from) as u64).sum::<u64>();
    let inside =
        |block: &(u32, u32)| new.sack.as_slice().iter().any(|of| !later(of.0, block.0) && !later(block.1, of.1));
    let is_duplicate = |block: &(u32, u32)| TcpView::is_before(block.0, old.ack);
    if old.sack.as_slice().iter().any(|block| is_duplicate(block) || !inside(block)) {
        return false;
    }
    old.ack != new.ack || sacked_bytes(new) > sacked_bytes(old)
}
