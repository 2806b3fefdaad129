//! The view of a packet's TCP header is enough for an ACK filter: CAKE's rules (Linux 6.1 `cake_ack_filter`,
//! `cake_tcph_sack_compare`, `cake_tcph_may_drop`) in a queue discipline of this test that is a FIFO queue otherwise.

use sojourn_aqm::{Backlog, Dequeued, DropReason, Enqueued, Instant, Meta, Qdisc, Sink, Stats, TcpView};
use std::collections::VecDeque;

/// A FIFO queue that drops acknowledgments which later ones make superfluous.
#[derive(Default)]
struct Filter {
    queue: VecDeque<(Meta, usize)>,
    aggressive: bool,
    stats: Stats,
}

impl Filter {
    /// The queued acknowledgment that the last packet makes superfluous, if any.
    fn superfluous(&self, sink: &dyn Sink<usize>) -> Option<usize> {
        let (last, (meta, newest)) = (self.queue.len() - 1, self.queue.back()?);
        let new = sink.tcp(newest).filter(|new| new.flags & (TcpView::ACK | TcpView::SYN) == TcpView::ACK)?;
        let mut eligible: Option<(usize, u16)> = None;
        for (i, (queued, packet)) in self.queue.iter().enumerate().take(last) {
            let Some(old) = sink
                .tcp(packet)
                .filter(|old| (queued.flow, queued.hosts, old.space) == (meta.flow, meta.hosts, new.space))
            else {
                continue;
            };
            let marks = old.flags & (TcpView::ECE | TcpView::CWR);
            eligible = eligible.filter(|&(_, of_eligible)| of_eligible == marks);
            if !may_drop(&old, &new) {
                continue;
            }
            match eligible {
                Some((first, _)) => return Some(first),
                None => eligible = Some((i, marks)),
            }
        }
        let (i, marks) = eligible?;
        let adjacent = i + 1 == last && marks == new.flags & (TcpView::ECE | TcpView::CWR);
        (self.aggressive && adjacent).then_some(i)
    }
}

/// Whether `old` is a pure acknowledgment that tells nothing beyond `new`.
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
    let told =
        |view: &TcpView| view.sack.as_slice().iter().map(|(from, to)| to.wrapping_sub(*from) as u64).sum::<u64>();
    let inside =
        |block: &(u32, u32)| new.sack.as_slice().iter().any(|of| !later(of.0, block.0) && !later(block.1, of.1));
    let is_duplicate = |block: &(u32, u32)| TcpView::is_before(block.0, old.ack);
    if old.sack.as_slice().iter().any(|block| is_duplicate(block) || !inside(block)) {
        return false;
    }
    old.ack != new.ack || told(new) > told(old)
}

impl Qdisc<usize> for Filter {
    fn enqueue(&mut self, _: Instant, meta: Meta, packet: usize, sink: &mut dyn Sink<usize>) -> Enqueued {
        self.queue.push_back((meta, packet));
        if let Some((meta, old)) = self.superfluous(sink).and_then(|i| self.queue.remove(i)) {
            sink.dropped(meta, old, DropReason::Early);
        }
        Enqueued::Queued
    }
    fn dequeue(&mut self, _: Instant, _: &mut dyn Sink<usize>) -> Dequeued<usize> {
        self.queue.pop_front().map_or(Dequeued::Empty, |(meta, packet)| Dequeued::Packet(meta, packet))
    }
    fn settle(&mut self, _: Instant) {}
    fn backlog(&self) -> Backlog {
        let bytes = self.queue.iter().map(|(meta, _)| meta.len as u64).sum();
        Backlog { packets: self.queue.len() as u32, bytes }
    }
    fn stats(&self) -> &Stats {
        &self.stats
    }
    fn observe(&self, _: &mut dyn FnMut(&'static str, f64)) {}
}

/// A host whose handles are places in a list of headers.
#[derive(Default)]
struct Host {
    headers: Vec<Option<TcpView>>,
    dropped: Vec<usize>,
}

impl Sink<usize> for Host {
    fn dropped(&mut self, _: Meta, packet: usize, _: DropReason) {
        self.dropped.push(packet);
    }
    fn tcp(&self, packet: &usize) -> Option<TcpView> {
        self.headers[*packet]
    }
}

/// A pure acknowledgment.
fn ack(ack: u32) -> TcpView {
    TcpView { ack, flags: TcpView::ACK, timestamps: Some((ack / 1000, 7)), ..TcpView::default() }
}

/// The positions that are dropped when these arrive, of one flow unless said otherwise.
fn dropped_of(aggressive: bool, packets: &[(u32, Option<TcpView>)]) -> Vec<usize> {
    let (mut filter, mut host) = (Filter { aggressive, ..Filter::default() }, Host::default());
    for (i, &(flow, header)) in packets.iter().enumerate() {
        host.headers.push(header);
        filter.enqueue(Instant::ZERO, Meta::new(52, flow), i, &mut host);
    }
    assert_eq!(filter.backlog().packets as usize + host.dropped.len(), packets.len());
    host.dropped
}

fn dropped(aggressive: bool, packets: &[TcpView]) -> Vec<usize> {
    let packets: Vec<_> = packets.iter().map(|&view| (1, Some(view))).collect();
    dropped_of(aggressive, &packets)
}

#[test]
fn of_three_acknowledgments_the_oldest_goes_and_of_two_only_in_aggressive_mode() {
    assert_eq!(dropped(false, &[ack(1000), ack(2000), ack(3000)]), [0]);
    assert_eq!(dropped(false, &[ack(1000), ack(2000)]), []);
    assert_eq!(dropped(true, &[ack(1000), ack(2000)]), [0]);
    let wrapping = [ack(u32::MAX - 900), ack(99), ack(1099)].map(|view| TcpView { timestamps: None, ..view });
    assert_eq!(dropped(false, &wrapping), [0], "numbers wrap");
}

#[test]
fn what_is_told_by_marks_flags_payload_or_options_stays() {
    let marked = |view: TcpView| TcpView { flags: view.flags | TcpView::ECE, ..view };
    assert_eq!(dropped(false, &[ack(1000), marked(ack(2000)), marked(ack(3000))]), []);
    assert_eq!(dropped(false, &[ack(1000), marked(ack(2000)), marked(ack(3000)), marked(ack(4000))]), [1]);
    for keeps in [
        TcpView { flags: TcpView::ACK | TcpView::PSH, ..ack(1000) },
        TcpView { flags: TcpView::ACK | TcpView::AE, ..ack(1000) },
        TcpView { payload: 1, ..ack(1000) },
        TcpView { other_options: true, ..ack(1000) },
        TcpView { timestamps: Some((9, 7)), ..ack(1000) },
    ] {
        assert_eq!(dropped(true, &[keeps, ack(2000)]), [], "{keeps:?}");
    }
    let with_data = TcpView { payload: 700, ..ack(3000) };
    assert_eq!(dropped(false, &[ack(1000), ack(2000), with_data]), [0], "the new one may carry data");
}

#[test]
fn sack_blocks_stay_until_a_later_acknowledgment_has_them() {
    let duplicate = |blocks: &[(u32, u32)]| TcpView { sack: blocks.iter().copied().collect(), ..ack(1000) };
    assert_eq!(dropped(true, &[duplicate(&[(2000, 3000)]), duplicate(&[(2000, 4000)])]), [0]);
    assert_eq!(dropped(true, &[duplicate(&[(2000, 3000)]), duplicate(&[(2000, 3000)])]), [], "it tells no more");
    assert_eq!(dropped(true, &[duplicate(&[(2000, 3000)]), duplicate(&[(4000, 6000)])]), []);
    assert_eq!(dropped(true, &[duplicate(&[(500, 900)]), ack(4000)]), [], "a D-SACK");
    assert_eq!(dropped(true, &[duplicate(&[(2000, 3000)]), ack(4000)]), [], "Linux keeps it all the same");
}

#[test]
fn other_flows_other_packets_and_other_halves_are_passed_over() {
    let acks =
        |other: (u32, Option<TcpView>)| vec![(1, Some(ack(1000))), other, (1, Some(ack(2000))), (1, Some(ack(3000)))];
    for other in [(2, Some(ack(1500))), (1, None), (1, Some(TcpView { space: 1, ..ack(1500) }))] {
        assert_eq!(dropped_of(false, &acks(other)), [0], "{other:?}");
    }
    let halves = [(1, Some(ack(1000))), (1, Some(TcpView { space: 1, ..ack(2000) }))];
    assert_eq!(dropped_of(true, &halves), []);
    // A host that does not tell: nothing is filtered.
    let (mut filter, mut silent) =
        (Filter { aggressive: true, ..Filter::default() }, |_, _, _| panic!("nothing is dropped"));
    for n in 0..3 {
        filter.enqueue(Instant::ZERO, Meta::new(52, 1), n, &mut silent);
    }
    assert_eq!(filter.backlog(), Backlog { packets: 3, bytes: 156 });
}
