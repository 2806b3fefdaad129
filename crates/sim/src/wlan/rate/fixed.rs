//! One rate for every attempt.

use super::{Chain, RateControl};
use crate::radio::phy::Bitrate;
use sojourn_aqm::Instant;

/// A rate that never changes.
#[derive(Clone, Debug)]
pub struct Fixed(pub Bitrate);

impl RateControl for Fixed {
    fn choose(&mut self, _: Instant) -> Chain {
        let Self(rate) = *self;
        Chain::new([(rate, SHORT_RETRY_LIMIT), (rate, 0), (rate, 0), (rate, 0)])
    }

    fn report(&mut self, _: Instant, _: &Chain, _: u8, _: bool) {}
}

/// dot11ShortRetryLimit: attempts of a frame that is sent without RTS.
const SHORT_RETRY_LIMIT: u8 = 7;
