//! A fixed rate for all attempts.

use super::{RateControl, RetryChain};
use crate::radio::phy::Bitrate;
use sojourn_aqm::Instant;

/// A fixed rate.
#[derive(Clone, Debug)]
pub struct FixedRate(pub Bitrate);

impl RateControl for FixedRate {
    fn choose(&mut self, _: Instant) -> RetryChain {
        let Self(rate) = *self;
        RetryChain::new([(rate, SHORT_RETRY_LIMIT), (rate, 0), (rate, 0), (rate, 0)])
    }

    fn report(&mut self, _: Instant, _: &RetryChain, _: u8, _: bool) {}
}

/// dot11ShortRetryLimit: attempts of a frame without RTS.
const SHORT_RETRY_LIMIT: u8 = 7;
