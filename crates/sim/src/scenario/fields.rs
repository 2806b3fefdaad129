//! [`Field`] for types of single keys: words and custom forms.

use super::flow::{DIRECTIONS, MIDDLEBOXES};
use super::keys::{Datum, Field, fields, of_word, word_of};
use super::sender::{Dscp, read_class};
use super::traffic::HTTPS;
use super::{Direction, Http, Ladder, Middlebox, SizeDistribution};
use sojourn_aqm::class::ClassId;

fields! {
    Http: Text(x) => of_word(HTTPS, &x), self => word_of(HTTPS, self);
    Middlebox: Text(x) => of_word(MIDDLEBOXES, &x), self => word_of(MIDDLEBOXES, self);
    Direction: Text(x) => of_word(DIRECTIONS, &x), self => word_of(DIRECTIONS, self);
    Dscp: Custom(x) => Dscp::read(&x).expect("the key has checked it"), self => self.write();
    Ladder: Custom(x) => Ladder::read(&x).expect("the key has checked it"), self => self.write();
    SizeDistribution: Custom(x) => SizeDistribution::read(&x).expect("the key has checked it"), self => self.write();
    ClassId: Custom(x) => read_class(&x).expect("the key has checked it"), self => self.to_string().into();
}
