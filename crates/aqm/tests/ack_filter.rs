//! CAKE's ACK filter, on the TCP headers that a host provides.

use sojourn_aqm::registry::parse;
use sojourn_aqm::{
    Backlog, DropReason, Host as QueueHost, Instant, Limits, Link, Meta, Qdisc, Rate, Rng, Sink, TcpView,
};

/// One queue for all flows, so that the filter has to classify them.
fn cake<P: Send + 'static>(aggressive: bool) -> Box<dyn Qdisc<P> + Send> {
    let filter = if aggressive { "ack-filter-aggressive" } else { "ack-filter" };
    let config = parse(&format!("cake besteffort flowblind {filter}")).expect("tc's words");
    let link = Link::new(Rate::from_bps(10_000_000), 1514);
    config.build(Limits::default(), QueueHost { link, rng: Rng::from_state(3) })
}

/// A host whose handles are indices into a list of headers.
#[derive(Default)]
struct Host {
    headers: Vec<Option<TcpView>>,
    dropped: Vec<usize>,
}

impl Sink<usize> for Host {
    fn dropped(&mut self, _: Meta, packet: usize, _: DropReason) {
        self.dropped.push(packet);
    }
    fn tcp_header(&self, packet: &usize) -> Option<TcpView> {
        self.headers[*packet]
    }
}

/// A pure acknowledgment.
fn ack(ack: u32) -> TcpView {
    TcpView { ack, flags: TcpView::ACK, timestamps: Some((ack / 1000, 7)), ..TcpView::default() }
}

/// No packet is dropped.
const NONE: [usize; 0] = [];

/// Indices of the packets dropped when these arrive; all belong to one flow unless noted.
fn dropped_of(aggressive: bool, packets: &[(u32, Option<TcpView>)]) -> Vec<usize> {
    let (mut filter, mut host) = (cake(aggressive), Host::default());
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
    assert_eq!(dropped(false, &[ack(1000), ack(2000)]), NONE);
    assert_eq!(dropped(true, &[ack(1000), ack(2000)]), [0]);
    let wrapping = [ack(u32::MAX - 900), ack(99), ack(1099)].map(|view| TcpView { timestamps: None, ..view });
    assert_eq!(dropped(false, &wrapping), [0], "numbers wrap");
}

#[test]
fn what_is_told_by_marks_flags_payload_or_options_stays() {
    let marked = |view: TcpView| TcpView { flags: view.flags | TcpView::ECE, ..view };
    assert_eq!(dropped(false, &[ack(1000), marked(ack(2000)), marked(ack(3000))]), NONE);
    assert_eq!(dropped(false, &[ack(1000), marked(ack(2000)), marked(ack(3000)), marked(ack(4000))]), [1]);
    for keeps in [
        TcpView { flags: TcpView::ACK | TcpView::PSH, ..ack(1000) },
        TcpView { flags: TcpView::ACK | TcpView::AE, ..ack(1000) },
        TcpView { payload: 1, ..ack(1000) },
        TcpView { other_options: true, ..ack(1000) },
        TcpView { timestamps: Some((9, 7)), ..ack(1000) },
    ] {
        assert_eq!(dropped(true, &[keeps, ack(2000)]), NONE, "{keeps:?}");
    }
    let with_data = TcpView { payload: 700, ..ack(3000) };
    assert_eq!(dropped(false, &[ack(1000), ack(2000), with_data]), [0], "the new one may carry data");
}

#[test]
fn sack_blocks_stay_until_a_later_acknowledgment_has_them() {
    let duplicate = |blocks: &[(u32, u32)]| TcpView { sack: blocks.iter().copied().collect(), ..ack(1000) };
    assert_eq!(dropped(true, &[duplicate(&[(2000, 3000)]), duplicate(&[(2000, 4000)])]), [0]);
    assert_eq!(dropped(true, &[duplicate(&[(2000, 3000)]), duplicate(&[(2000, 3000)])]), NONE, "it tells no more");
    assert_eq!(dropped(true, &[duplicate(&[(2000, 3000)]), duplicate(&[(4000, 6000)])]), NONE);
    assert_eq!(dropped(true, &[duplicate(&[(500, 900)]), ack(4000)]), NONE, "a D-SACK");
    assert_eq!(dropped(true, &[duplicate(&[(2000, 3000)]), ack(4000)]), NONE, "Linux keeps it all the same");
}

#[test]
fn other_flows_other_packets_and_other_halves_are_passed_over() {
    let acks =
        |other: (u32, Option<TcpView>)| vec![(1, Some(ack(1000))), other, (1, Some(ack(2000))), (1, Some(ack(3000)))];
    for other in [(2, Some(ack(1500))), (1, None), (1, Some(TcpView { space: 1, ..ack(1500) }))] {
        assert_eq!(dropped_of(false, &acks(other)), [0], "{other:?}");
    }
    let halves = [(1, Some(ack(1000))), (1, Some(TcpView { space: 1, ..ack(2000) }))];
    assert_eq!(dropped_of(true, &halves), NONE);
    // A host without TCP headers: nothing is filtered.
    let (mut filter, mut silent) = (cake(true), |_: Meta, _: usize, _: DropReason| panic!("nothing is dropped"));
    for n in 0..3 {
        filter.enqueue(Instant::ZERO, Meta::new(52, 1), n, &mut silent);
    }
    assert_eq!(filter.backlog(), Backlog { packets: 3, bytes: 156 });
}
