//! A header as seen by a queue discipline.

use crate::{Flags, Header};
use sojourn_aqm::TcpView;

impl Header {
    /// The header as on the wire; `None` for packets other than TCP, which have no flags. Sequence numbers lose their
    /// upper half. For a stack without timestamps, those that it would send.
    pub fn view(&self) -> Option<TcpView> {
        if self.flags == Flags::default() {
            return None;
        }
        let bits = [
            (Flags::FIN, TcpView::FIN),
            (Flags::SYN, TcpView::SYN),
            (Flags::PSH, TcpView::PSH),
            (Flags::ACK, TcpView::ACK),
            (Flags::ECE, TcpView::ECE),
            (Flags::CWR, TcpView::CWR),
            (Flags::AE, TcpView::AE),
        ];
        let set = |&(flag, bit): &(Flags, u16)| if self.flags.contains(flag) { bit } else { 0 };
        Some(TcpView {
            seq: self.seq as u32,
            ack: self.ack as u32,
            payload: self.len as u32,
            flags: bits.iter().map(set).sum(),
            timestamps: Some((self.ts_val, self.ts_ecr)),
            // MSS and window scale.
            other_options: self.flags.contains(Flags::SYN),
            space: self.flags.contains(Flags::ANSWER) as u8,
            sack: self.sack.blocks().iter().map(|&(from, to)| (from as u32, to as u32)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sack;

    #[test]
    fn a_view_has_the_bits_of_the_wire() {
        let mut sack = Sack::default();
        sack.push((0x1_0000_0005, 0x1_0000_0009));
        let flags = Flags::ACK.with(Flags::ECE).with(Flags::AE).with(Flags::ANSWER);
        let (ts_val, ts_ecr) = (77, 66);
        let view =
            Header { seq: 3, ack: 0x1_0000_0001, len: 9, flags, ts_val, ts_ecr, window: 0, sack }.view().expect("TCP");
        assert_eq!((view.seq, view.ack, view.payload, view.timestamps), (3, 1, 9, Some((77, 66))));
        assert_eq!(
            (view.flags, view.sack.as_slice(), view.other_options, view.space),
            (0x150, &[(5, 9)][..], false, 1)
        );
        let syn = Header { flags: Flags::SYN.with(Flags::CWR), ..Header::default() }.view().expect("TCP");
        assert_eq!((syn.flags, syn.other_options, syn.space), (0x082, true, 0));
        let rest = Header { flags: Flags::FIN.with(Flags::PSH), ..Header::default() }.view().expect("TCP");
        assert_eq!(rest.flags, 0x009);
        assert_eq!(Header::default().view(), None, "a datagram");
    }
}
