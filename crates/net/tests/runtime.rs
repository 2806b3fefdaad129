//! The executor: order of wake-ups, timers, sockets, cancellation, errors, equal decisions. Only with the feature `async`.
#![cfg(feature = "async")]

use crate::common::{Echo, Paced, Programs, pulled};
use sojourn_net::runtime::{Incoming, Runtime, block_on};
use sojourn_net::{Datagram, Duration, Ecn, Instant, Net, Report};
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

const WORLD: &str = r#"
duration = "4 s"
[link]
rate = "10 Mbit/s"
delay = "15 ms"
aqm = "codel"
[[flows]]
kind = "endpoint"
name = "call"
rtt = "40 ms"
tags = ["rtp"]
"#;

fn net() -> Net {
    Net::parse(WORLD, 3).expect("the world is valid")
}

fn ms(ms: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// A log of tasks in the order of their runs.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(u64, u32)>>>);

impl Log {
    fn add(&self, runtime: &Runtime, number: u32) {
        self.0.lock().expect("no task panicked").push((runtime.now().as_nanos(), number));
    }

    fn numbers(&self) -> Vec<u32> {
        self.0.lock().expect("no task panicked").iter().map(|&(_, number)| number).collect()
    }
}

/// Gives the other ready tasks their turn.
async fn pass() {
    let mut is_first = true;
    std::future::poll_fn(|cx| {
        cx.waker().wake_by_ref();
        if std::mem::take(&mut is_first) { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
}

#[test]
fn tasks_run_in_the_order_of_waking() {
    let log = Log::default();
    let (order, report) = block_on(net(), |runtime| {
        let log = log.clone();
        async move {
            let join = |number: u32| {
                let (log, inner) = (log.clone(), runtime.clone());
                runtime.spawn(async move {
                    log.add(&inner, number);
                    pass().await;
                    log.add(&inner, 10 + number);
                    number
                })
            };
            let handles = [join(1), join(2), join(3)];
            let mut sum = 0;
            for handle in handles {
                sum += handle.await;
            }
            sum
        }
    })
    .expect("main finishes");
    assert_eq!(order, 6);
    assert_eq!(log.numbers(), [1, 2, 3, 11, 12, 13]);
    assert_eq!(report.datagrams(), 0);
}

#[test]
fn timers_of_one_instant_fire_in_the_order_of_registration() {
    let log = Log::default();
    let runtime = Runtime::new(net());
    // Registered first at another instant, then moved: it comes last.
    for (number, at) in [(4, 9), (1, 5), (2, 5), (3, 5), (5, 5)] {
        let (log, inner) = (log.clone(), runtime.clone());
        runtime.spawn(async move {
            let mut timer = pin!(inner.sleep_until(ms(at)));
            if number == 4 {
                assert!(std::future::poll_fn(|cx| Poll::Ready(timer.as_mut().poll(cx).is_pending())).await);
                pass().await;
                timer.as_mut().reset(ms(5));
            }
            timer.await;
            log.add(&inner, number);
        });
    }
    runtime.block_on(runtime.sleep_until(ms(6))).expect("it fires");
    assert_eq!(log.numbers(), [1, 2, 3, 5, 4]);
    assert_eq!(runtime.now(), ms(6));
    assert!(log.0.lock().expect("no task panicked").iter().all(|&(at, _)| at == ms(5).as_nanos()));
    // In the past, the present, and at the last instant of the run.
    for at in [ms(1), ms(6), ms(4_000)] {
        runtime.block_on(runtime.sleep_until(at)).expect("it fires");
    }
    assert_eq!(runtime.now(), ms(4_000));
}

#[test]
fn a_dropped_future_waits_for_nothing() {
    let log = Log::default();
    let runtime = Runtime::new(net());
    let dropped = {
        let (log, inner) = (log.clone(), runtime.clone());
        runtime.spawn(async move {
            inner.sleep_until(ms(3)).await;
            log.add(&inner, 1);
        })
    };
    let main = async {
        runtime.sleep_until(ms(1)).await;
        dropped.cancel();
        let mut cx = Context::from_waker(Waker::noop());
        // Polled once and dropped.
        assert!(pin!(runtime.sleep_until(ms(2))).poll(&mut cx).is_pending());
        runtime.sleep_until(ms(100)).await;
    };
    runtime.block_on(main).expect("it finishes");
    assert!(log.numbers().is_empty());
    // A timer left behind would make this error one about timers.
    let error = runtime.block_on(std::future::pending::<()>()).expect_err("nothing wakes it");
    let text = "the run ended at 4000000000 ns before the main future: nothing is left that wakes it (0 other tasks and \
                0 timers wait); wait for a timer too, or let a peer send";
    assert_eq!(error.to_string(), text);
}

#[test]
fn errors_have_a_remedy() {
    let late = Runtime::new(net());
    let error = late.block_on(late.sleep_until(ms(4_001))).expect_err("the run is shorter");
    assert!(error.to_string().ends_with("(0 other tasks and 1 timers wait); raise the key duration"), "{error}");

    let busy = Runtime::new(net());
    let error = busy
        .block_on(async {
            loop {
                pass().await;
            }
        })
        .expect_err("it never waits");
    assert_eq!(
        error.to_string(),
        "0 ns: tasks wake each other again and again at one instant; let one wait for a timer"
    );

    let runtime = Runtime::new(net());
    let (end, _) = runtime.with(|net| net.pair("call")).expect("it runs").expect("the group is there");
    let socket = runtime.bind(end, None).expect("the port is free");
    let error = runtime.bind(end, None).expect_err("the port is taken");
    assert!(error.to_string().ends_with("the end has a socket at this port; give another one"), "{error}");
    drop(socket);
    runtime.bind(end, None).expect("the port is free again");
    runtime.finish().expect("it finishes");
    let error = runtime.finish().expect_err("it is finished");
    assert_eq!(error.to_string(), "the run is finished; make another runtime with Runtime::new");
}

#[test]
#[should_panic(expected = "a task fails at 7 ms")]
fn a_panic_of_a_task_ends_the_run_with_its_message() {
    let runtime = Runtime::new(net());
    let inner = runtime.clone();
    runtime.spawn(async move {
        inner.sleep_until(ms(7)).await;
        panic!("a task fails at {} ms", inner.now().as_nanos() / 1_000_000);
    });
    let _ = runtime.block_on(runtime.sleep_until(ms(50)));
}

#[test]
fn ten_thousand_timers_and_sockets_wait_at_once() {
    let log = Log::default();
    let runtime = Runtime::new(net());
    let ends = runtime.with(|net| net.pair("call")).expect("it runs").expect("the group is there");
    let mut expected = Vec::new();
    let mut tasks = Vec::new();
    for number in 0..10_000_u32 {
        let at = Instant::from_nanos(u64::from(number.wrapping_mul(2_654_435_761) % 1_000_000));
        expected.push((at.as_nanos(), number));
        let (log, inner) = (log.clone(), runtime.clone());
        let socket = runtime.bind(ends.1, Some(10_000 + number as u16)).expect("the port is free");
        tasks.push(runtime.spawn(async move {
            inner.sleep_until(at).await;
            log.add(&inner, number);
            let incoming = socket.recv().await;
            (number, incoming.local.port(), incoming.bytes)
        }));
    }
    expected.sort_unstable();
    let received = runtime.block_on(async {
        let source = runtime.bind(ends.0, None).expect("the port is free");
        let to = runtime.with(|net| net.address(ends.1)).expect("it runs");
        for (number, round) in (0..10_000_u16).zip(1..) {
            // Spaced by more than a datagram takes on the link, so that none is dropped.
            runtime.sleep_until(ms(2) + Duration::from_micros(100) * round).await;
            let to = std::net::SocketAddr::new(to.ip(), 10_000 + number);
            source.try_send(&Datagram::to(to, &number.to_be_bytes())).expect("the host has room");
        }
        let mut received = Vec::new();
        for task in tasks {
            received.push(task.await);
        }
        received
    });
    for (number, port, bytes) in received.expect("all arrive") {
        assert_eq!((port, bytes), (10_000 + number as u16, (number as u16).to_be_bytes().to_vec()));
    }
    assert_eq!(*log.0.lock().expect("no task panicked"), expected);
}

/// A paced sender and an echo as tasks.
fn conversation() -> (Vec<Incoming>, Report) {
    block_on(net(), |runtime| async move {
        let (source, sink) = runtime.with(|net| net.pair("call")).expect("it runs").expect("the group is there");
        let (client, server) = (runtime.bind(source, None).expect("free"), runtime.bind(sink, None).expect("free"));
        let to = server.local_addr();
        runtime.spawn(async move {
            loop {
                let Incoming { bytes, from, ecn, tag, .. } = server.recv().await;
                server.try_send(&Datagram { ecn, tag, ..Datagram::to(from, &bytes) }).expect("the host has room");
            }
        });
        let client = Arc::new(client);
        let (sender, inner) = (client.clone(), runtime.clone());
        runtime.spawn(async move {
            loop {
                sender.try_send(&Datagram::to(to, &[0; 1_172])).expect("the host has room");
                inner.sleep_until(inner.now() + GAP).await;
            }
        });
        let mut received = Vec::new();
        while runtime.now() < ms(2_000) {
            received.push(client.recv().await);
        }
        runtime.sleep_until(ms(4_000)).await;
        received
    })
    .expect("main finishes")
}

const GAP: Duration = Duration::from_nanos(1_234_567);

#[test]
fn equal_programs_make_equal_decisions_also_by_pull() {
    let (received, report) = conversation();
    assert!(received.len() > 1_500, "{}", received.len());
    let (again, repeated) = conversation();
    assert_eq!(received, again);
    assert_eq!((report.fingerprint(), report.decisions()), (repeated.fingerprint(), repeated.decisions()));
    let net = net();
    let ends: Vec<_> = net.ends().collect();
    let programs: Programs =
        [(ends[0], Box::new(Paced::new(1_172, GAP)) as _), (ends[1], Box::new(Echo::default()) as _)].into();
    let pulled = pulled(net, programs).expect("no program fails");
    assert_eq!(report.decisions(), pulled.decisions());
    assert_eq!(report.fingerprint(), pulled.fingerprint());
}

#[test]
fn sockets_of_one_end_receive_by_port_with_ecn_and_tag() {
    block_on(net(), |runtime| async move {
        let (source, sink) = runtime.with(|net| net.pair("call")).expect("it runs").expect("the group is there");
        let tag = runtime.with(|net| net.tag("call", "rtp")).expect("it runs").expect("the tag is there");
        let client = runtime.bind(source, Some(5_000)).expect("free");
        let servers = [7_000, 7_001].map(|port| runtime.bind(sink, Some(port)).expect("free"));
        for port in [7_001, 7_002, 7_000] {
            let mut to = servers[0].local_addr();
            to.set_port(port);
            client
                .try_send(&Datagram { ecn: Ecn::Ect1, tag, ..Datagram::to(to, &port.to_be_bytes()) })
                .expect("the host has room");
        }
        for server in &servers {
            let Incoming { bytes, from, local, ecn, tag: received } = server.recv().await;
            assert_eq!((from, local), (client.local_addr(), server.local_addr()));
            assert_eq!((bytes, ecn, received), (local.port().to_be_bytes().to_vec(), Ecn::Ect1, tag));
        }
    })
    .expect("main finishes");
}

#[test]
fn a_full_host_wakes_its_sender() {
    let world = WORLD.replace("rtt = ", "access_rate = \"2 Mbit/s\"\nsocket_buffer = \"9 kB\"\nrtt = ");
    let net = Net::parse(&world, 1).expect("the world is valid");
    let (sent, report) = block_on(net, |runtime| async move {
        let (source, sink) = runtime.with(|net| net.pair("call").expect("it is there")).expect("the run goes on");
        let remote = runtime.with(|net| net.address(sink)).expect("the run goes on");
        let socket = runtime.bind(source, None).expect("the port is free");
        let mut sent = 0_u64;
        while runtime.now() < ms(3_900) {
            match socket.try_send(&Datagram::to(remote, &[0; 972])) {
                Ok(()) => sent += 1,
                Err(error) if error.would_block() => std::future::poll_fn(|cx| socket.poll_writable(cx)).await,
                Err(error) => panic!("{error}"),
            }
        }
        sent
    })
    .expect("no fault");
    // 1,000 B at 2 Mbit/s for 3.9 s, and ten in the buffer.
    assert!((975..=990).contains(&sent), "{sent}");
    assert_eq!(report.datagrams(), sent);
}
