use super::*;
use std::cell::RefCell;
use std::rc::Rc;

/// Writes to a node: time of the step, and the last byte of the frame.
#[derive(Clone, Default)]
struct WriteLog(Rc<RefCell<Vec<(u64, u8)>>>, Rc<RefCell<u64>>);

impl Sink for WriteLog {
    fn write(&mut self, parts: &[IoSlice<'_>]) -> std::io::Result<()> {
        let last = parts.iter().rev().find(|part| !part.is_empty()).and_then(|part| part.last());
        self.0.borrow_mut().push((*self.1.borrow(), *last.unwrap()));
        Ok(())
    }
}

/// A datagram of `length` IP bytes whose last byte is `mark`.
fn frame(pool: &Pool, from: IpAddr, to: IpAddr, length: u16, mark: u8) -> Buffer {
    let (IpAddr::V4(from), IpAddr::V4(to)) = (from, to) else { panic!("the tests are about IPv4") };
    let mut buffer = pool.take();
    let frame = &mut buffer.room()[..10 + usize::from(length)];
    frame.fill(0);
    frame[10..14].copy_from_slice(&[0x45, 0, (length >> 8) as u8, length as u8]);
    (frame[18], frame[19]) = (64, 17);
    frame[22..26].copy_from_slice(&from.octets());
    frame[26..30].copy_from_slice(&to.octets());
    frame[9 + usize::from(length)] = mark;
    buffer.set_len(10 + usize::from(length));
    buffer
}

fn mesh(text: &str) -> (Mesh, TopologyPlan) {
    let text = format!("duration = \"1 s\"\n{text}");
    let scenario = Scenario::parse(&text, &[], Path::new("/")).unwrap();
    let plan = TopologyPlan::of(&scenario).unwrap();
    let mesh = Mesh::new(&scenario, &plan, &MeshConfig::default()).unwrap();
    (mesh, plan)
}

/// Runs a mesh to its end in steps of `step` microseconds; returns the writes by node.
fn run(mesh: &mut Mesh, nodes: usize, step: u64) -> Vec<Vec<(u64, u8)>> {
    let look = Rc::new(RefCell::new(0));
    let mut sinks: Vec<WriteLog> = (0..nodes).map(|_| WriteLog(Rc::default(), look.clone())).collect();
    for us in (0..=200_000).step_by(step as usize) {
        *look.borrow_mut() = us;
        let now = Instant::from_nanos(1000 * us);
        mesh.advance(now);
        mesh.write(now, &mut sinks);
    }
    sinks.iter().map(|sink| sink.0.borrow().clone()).collect()
}

/// 1500 bytes take 12 ms on the first link and 3 ms on the second; delays are 5 and 2 ms.
const ROW: &str = "[link]\nrate = \"1 Mbit/s\"\ndelay = \"5 ms\"\n\
    [[links]]\nname = \"second\"\nrate = \"4 Mbit/s\"\ndelay = \"2 ms\"\nlimit = \"1 packets\"\n\
    [[flows]]\nkind = \"tcp\"\nroute = [\"link\", \"second\"]\nrtt = \"34 ms\"\n";

#[test]
fn a_packet_reaches_the_next_link_when_it_left_the_last_one_however_late_anybody_looks() {
    let (server, client) = Group::addresses(0);
    for step in [100, 7_000, 50_000] {
        let (mut mesh, plan) = mesh(ROW);
        for mark in 1..=3 {
            let buffer = frame(mesh.pool(), server, client, 1500, mark);
            mesh.arrive(Instant::ZERO, buffer);
        }
        let written = run(&mut mesh, plan.nodes.len(), step);
        // 10 ms on the access link, 12 ms per packet and 5 ms on the first link, 3 ms and 2 ms on the second.
        let due = [10 + 12 + 5 + 3 + 2, 10 + 24 + 5 + 3 + 2, 10 + 36 + 5 + 3 + 2];
        let looks: Vec<_> =
            due.iter().zip(1..).map(|(ms, mark)| ((ms * 1000u64).next_multiple_of(step), mark)).collect();
        assert_eq!(written, [vec![], vec![], looks]);
        let (links, exits) = mesh.finish();
        assert_eq!(links.iter().map(|link| link.counters.departed.0).collect::<Vec<_>>(), [3, 0, 3, 0]);
        // Its queue holds one packet and would drop one of a burst of three: the packets arrived 12 ms apart.
        assert_eq!(links[2].counters.dropped, 0);
        assert_eq!(exits[2].counters.departed.0, 3);
    }
}

#[test]
fn the_way_back_ends_with_the_access_link_and_nodes_have_none() {
    let (server, client) = Group::addresses(0);
    let (mut mesh, plan) = mesh(ROW);
    let back = frame(mesh.pool(), client, server, 1500, 1);
    mesh.arrive(Instant::ZERO, back);
    let own = frame(mesh.pool(), addresses(0)[0], addresses(1)[0], 1500, 2);
    mesh.arrive(Instant::ZERO, own);
    let nobody = frame(mesh.pool(), addresses(0)[0], "192.0.2.7".parse().unwrap(), 1500, 3);
    mesh.arrive(Instant::ZERO, nobody);
    let written = run(&mut mesh, plan.nodes.len(), 100);
    // Reverse directions have the same rates and delays: 3 + 2 + 12 + 5 ms, and 10 ms of access delay.
    assert_eq!(written, [vec![(32_000, 1)], vec![(17_000, 2)], vec![]]);
    assert_eq!((mesh.unrouted(), mesh.due()), (1, None));
}

#[test]
fn flows_of_one_pair_of_nodes_take_routes_of_their_own() {
    let (mut mesh, plan) = mesh(
        "[[nodes]]\nname = \"a\"\n[[nodes]]\nname = \"b\"\n\
         [[links]]\nname = \"near\"\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
         [[links]]\nname = \"far\"\nfrom = \"a\"\nto = \"b\"\nrate = \"2 Mbit/s\"\ndelay = \"30 ms\"\n\
         [[flows]]\nkind = \"tcp\"\nfrom = \"a\"\nto = \"b\"\nroute = [\"far\"]\n\
         [[flows]]\nkind = \"tcp\"\nfrom = \"b\"\nto = \"a\"\n",
    );
    let ((server, client), (other, _)) = (Group::addresses(0), Group::addresses(1));
    for (from, to, mark) in [(server, client, 1), (client, server, 2), (other, addresses(0)[0], 3)] {
        let buffer = frame(mesh.pool(), from, to, 1500, mark);
        mesh.arrive(Instant::ZERO, buffer);
    }
    let written = run(&mut mesh, plan.nodes.len(), 100);
    // Over far 6 + 30 ms; its acknowledgments over near, 12 + 1 ms; the third packet queues after them.
    assert_eq!(written, [vec![(13_000, 2), (25_000, 3)], vec![(36_000, 1)]]);
}
