//! TCP headers in a log, for queues that read them (ACK filters): records before the arrival of their packet.

use super::record::{Record, RecordKind};
use sojourn_aqm::{Instant, SackBlocks, TcpView};

/// Records of the TCP header of packet `number`, which arrives at `at`.
pub fn records(at: Instant, number: u32, view: &TcpView) -> impl Iterator<Item = Record> {
    let pair =
        move |kind: RecordKind, flow: u32, bytes: u32| Record { flow, bytes, ..Record::event(at, kind, number, 0) };
    let value = u64::from(view.payload)
        | u64::from(view.flags) << FLAGS
        | u64::from(view.space) << SPACE
        | u64::from(view.other_options) << OTHER;
    let head = Record { value, ..pair(RecordKind::Tcp, view.seq, view.ack) };
    let times = view.timestamps.map(|(val, ecr)| pair(RecordKind::TcpTimes, val, ecr));
    let sack = view.sack;
    let blocks = (0..sack.as_slice().len()).map(move |i| {
        let (from, to) = sack.as_slice()[i];
        pair(RecordKind::TcpSack, from, to)
    });
    std::iter::once(head).chain(times).chain(blocks)
}

/// TCP headers of a log's packets, by packet number.
pub fn views(records: &[Record], packets: usize) -> Vec<Option<TcpView>> {
    let mut views: Vec<Option<TcpView>> = Vec::new();
    for record in records
        .iter()
        .filter(|record| matches!(record.kind, RecordKind::Tcp | RecordKind::TcpTimes | RecordKind::TcpSack))
    {
        views.resize(packets, None);
        // Ignore the header of a packet without an arrival.
        let Some(slot) = views.get_mut(record.number as usize) else { continue };
        let pair = (record.flow, record.bytes);
        match (record.kind, slot) {
            (RecordKind::Tcp, slot) => *slot = Some(head(record)),
            (RecordKind::TcpTimes, Some(view)) => view.timestamps = Some(pair),
            (RecordKind::TcpSack, Some(view)) => {
                view.sack = view.sack.as_slice().iter().copied().chain([pair]).collect::<SackBlocks>();
            }
            _ => {}
        }
    }
    views
}

fn head(record: &Record) -> TcpView {
    let Record { flow: seq, bytes: ack, value, .. } = *record;
    TcpView {
        seq,
        ack,
        payload: value as u32,
        flags: (value >> FLAGS) as u16 & 0x1ff,
        space: (value >> SPACE) as u8,
        other_options: value >> OTHER & 1 == 1,
        ..TcpView::default()
    }
}

/// Bit positions in `value` of the fields after the payload length.
const FLAGS: u32 = 32;
const SPACE: u32 = 48;
const OTHER: u32 = 56;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back_as_they_were() {
        let sack = |count: usize| [(1, 9), (20, 31), (40, 41), (50, 99)][..count].iter().copied().collect();
        let plain = TcpView { seq: u32::MAX, ack: 7, flags: TcpView::ACK | TcpView::AE, ..TcpView::default() };
        let given = [
            Some(plain),
            None,
            Some(TcpView { payload: 1448, timestamps: Some((u32::MAX, 3)), ..plain }),
            Some(TcpView { sack: sack(4), space: 0xff, ..plain }),
            Some(TcpView { sack: sack(2), timestamps: Some((0, 0)), other_options: true, ..plain }),
        ];
        let mut log = Vec::new();
        for (number, view) in given.iter().enumerate() {
            let at = Instant::from_nanos(number as u64);
            log.extend(view.iter().flat_map(|view| records(at, number as u32, view)));
            log.push(Record::event(at, RecordKind::Arrival, number as u32, 0));
        }
        let read: Vec<Record> =
            log.iter().map(|record| Record::from_bytes(&record.to_bytes()).expect("it is a record")).collect();
        assert_eq!(views(&read, given.len()), given);
        assert!(views(&read[1..2], 0).is_empty(), "a log without headers costs nothing");
    }
}
