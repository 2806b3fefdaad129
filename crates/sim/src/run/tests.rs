use super::*;
use crate::network::Dumbbell;
use sojourn_aqm::{Backlog, DequeueResult, Ecn, EnqueueResult, Meta, Qdisc, Sink, Stats, TcpView};
use sojourn_tcp::{Flags, Header};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Slots used, slots laid out, and connections opened by pages of `size` every 20 ms for 40 s.
fn slots(size: &str) -> (usize, usize, u64) {
    let text = format!(
        "duration = \"60 s\"\n[link]\nrate = \"8 Mbit/s\"\n[[flows]]\nkind = \"web\"\nstack = \"linux-2.6.29\"\n\
         cc = \"reno\"\ninterval = \"20 ms\"\n\
         size = \"{size}\"\nrtt = \"50 ms\"\nstop = \"40 s\"\n[[flows]]\nkind = \"cbr\"\nrate = \"80 kbit/s\""
    );
    let scenario = Scenario::parse(&text, &[], Path::new("/")).unwrap();
    let mut run = Run::<(), Dumbbell>::new(&scenario, 1, (), &|_, _| None);
    while !run.advance(u64::MAX) {}
    let (used, laid_out) = (run.flows.slots(), run.network.layout.flows() as usize);
    (used, laid_out, run.report().summary.groups[0].opened)
}

#[test]
fn slots_follow_the_connections_at_a_time() {
    // A page of two packets takes four round trips, so at most eleven are open.
    let (used, laid_out, opened) = slots("2 kB");
    assert_eq!((laid_out, opened), (17, 2000));
    assert!((9..=13).contains(&used), "{used} slots");
    // The load is twice the link's rate: connections pile up and the layout grows with them.
    let (used, laid_out, opened) = slots("40 kB");
    assert_eq!(opened, 2000);
    assert!((200..2000).contains(&used) && (used..2 * used).contains(&laid_out), "{used} of {laid_out} slots");
}

/// A FIFO queue that records the TCP headers of arrivals.
#[derive(Default)]
struct Spy {
    queue: VecDeque<(Meta, Handle)>,
    seen: Arc<Mutex<Vec<Option<TcpView>>>>,
    stats: Stats,
}

impl Qdisc<Handle> for Spy {
    fn enqueue(&mut self, now: Instant, meta: Meta, packet: Handle, sink: &mut dyn Sink<Handle>) -> EnqueueResult {
        self.seen.lock().unwrap().push(sink.tcp_header(&packet));
        self.queue.push_back((Meta { enqueued: now, ..meta }, packet));
        EnqueueResult::Queued
    }
    fn dequeue(&mut self, _: Instant, _: &mut dyn Sink<Handle>) -> DequeueResult<Handle> {
        self.queue.pop_front().map_or(DequeueResult::Empty, |(meta, packet)| DequeueResult::Packet(meta, packet))
    }
    fn settle(&mut self, _: Instant) {}
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.queue.len() as u32, ..Backlog::default() }
    }
    fn stats(&self) -> &Stats {
        &self.stats
    }
    fn observe(&self, _: &mut dyn FnMut(&'static str, f64)) {}
}

#[test]
fn a_queue_discipline_sees_the_tcp_headers_of_packets() {
    let text = "duration = \"9 s\"\n[link]\nrate = \"1.3 Mbit/s\"\n[[flows]]\nkind = \"tcp\"\nsize = \"77 kB\"\n\
                [[flows]]\nkind = \"cbr\"\nrate = \"80 kbit/s\"";
    let scenario = Scenario::parse(text, &[], Path::new("/")).unwrap();
    let mut run = Run::<(), Dumbbell>::new(&scenario, 1, (), &|_, _| None);
    let seen = [(); 2].map(|()| Arc::<Mutex<Vec<_>>>::default());
    for (link, seen) in seen.iter().enumerate() {
        run.network.link(link).replace_qdisc(Box::new(Spy { seen: Arc::clone(seen), ..Spy::default() }));
    }
    while !run.advance(u64::MAX) {}
    let [data, acks] = seen.map(|seen| std::mem::take(&mut *seen.lock().unwrap()));
    let payload: u32 = data.iter().flatten().map(|view| view.payload).sum();
    assert_eq!(payload, 77_000, "nothing is lost, and nothing sent twice");
    assert!(data.iter().filter(|view| view.is_none()).count() > 50, "datagrams have no TCP header");
    let numbers: Vec<u32> = acks.iter().map(|view| view.expect("only TCP answers").ack).collect();
    assert!(numbers.is_sorted() && numbers.last() == Some(&77_002), "all, the SYN and the FIN: {numbers:?}");
}

#[test]
fn a_packet_of_a_connection_that_is_no_more_reaches_nobody() {
    let text = "duration = \"20 s\"\n[link]\nrate = \"8 Mbit/s\"\n[[flows]]\nkind = \"web\"\n\
                stack = \"linux-2.6.29\"\ncc = \"reno\"\ninterval = \"1 s\"\n\
                size = \"100 kB\"\nrtt = \"50 ms\"\nstop = \"9.5 s\"";
    let scenario = Scenario::parse(text, &[], Path::new("/")).unwrap();
    let mut run = Run::<(), Dumbbell>::new(&scenario, 1, (), &|_, _| None);
    while run.now.as_secs_f64() < 3.2 {
        run.advance(1);
    }
    let (slot, old, present) = (0, 0, 3);
    assert_eq!((run.flows.slots(), run.network.current_flow(slot).0), (1, present), "the fourth page is under way");
    // A late segment that would end the response after its first thousand bytes.
    let flags = Flags::ANSWER.with(Flags::ACK).with(Flags::FIN);
    let header = Header { seq: 1, len: 1000, flags, ..Header::default() };
    run.network.assign(slot, old);
    run.network.send_from_source(run.now, slot, &header, (header.ip_len(), Ecn::NotEct));
    run.network.assign(slot, present);
    while !run.advance(u64::MAX) {}
    let summary = run.report().summary;
    let group = &summary.groups[0];
    assert_eq!(
        (group.opened, group.closed, group.transfers, group.payload.bytes),
        (10, 10, 10, 1_000_000),
        "{group:?}"
    );
}
