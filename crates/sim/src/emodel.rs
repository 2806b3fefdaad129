//! Call quality from delay and loss: the E-model of ITU-T G.107 (06/2015) for G.711.
//!
//! Source: the formulas as Flent implements them, with its constants; the echo terms use the one-way delay for the echo
//! path as well. Callers pass the mean one-way delay plus twice its mean variation, without coding time: Flent's
//! approximation of a jitter buffer.

/// Transmission rating R for a mouth-to-ear delay in ms and random loss in per cent, without loss concealment.
pub fn r_factor(delay_ms: f64, loss_percent: f64) -> f64 {
    let ro = 15.0 - 1.5 * (8.0 + NOISE);
    let loss = 95.0 * loss_percent / (loss_percent + LOSS_ROBUSTNESS);
    ro - SIMULTANEOUS - absolute_delay(delay_ms) - listener_echo(ro, delay_ms) - talker_echo(delay_ms) - loss
}

/// Mean opinion score, 1 (bad) to 4.5 (excellent), for transmission rating `r`.
pub fn mos(r: f64) -> f64 {
    match r {
        r if r < 0.0 => 1.0,
        r if r > 100.0 => 4.5,
        r => 1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r),
    }
}

/// Idd: impairment by absolute delay.
fn absolute_delay(t: f64) -> f64 {
    if t <= 100.0 {
        return 0.0;
    }
    let x = libm::log2(t / 100.0);
    let root = |x: f64| libm::pow(1.0 + libm::pow(x, 6.0), 1.0 / 6.0);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

/// Idle: the listener's echo, after 2 t.
fn listener_echo(ro: f64, t: f64) -> f64 {
    let rle = 10.5 * 117.0 * libm::pow(2.0 * t + 1.0, -0.25);
    let half = (ro - rle) / 2.0;
    half + (half * half + 169.0).sqrt()
}

/// Idte: the talker's echo.
fn talker_echo(t: f64) -> f64 {
    if t < 1.0 {
        return 0.0;
    }
    let terv = 65.0 - 40.0 * libm::log10((1.0 + t / 10.0) / (1.0 + t / 150.0)) + 6.0 * libm::exp(-0.3 * t * t);
    let (roe, re) = (-1.5 * (NOISE - 2.0), 80.0 + 2.5 * (terv - 14.0));
    let half = (roe - re) / 2.0;
    (half + (half * half + 100.0).sqrt() - 1.0) * (1.0 - libm::exp(-t))
}

/// No: the sum of all circuit noise with the recommendation's default values, in dBm0p.
const NOISE: f64 = -61.179_214_386_241_69;

/// Is: simultaneous impairments (quantisation, sidetone, loudness), at the default values.
const SIMULTANEOUS: f64 = 1.413_568_081_343_861_6;

/// Bpl of G.711 without loss concealment.
const LOSS_ROBUSTNESS: f64 = 4.3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratings_and_scores_are_the_tabulated_ones() {
        for (delay_ms, loss, r, score) in [
            (0.0, 0.0, 93.2062, 4.4094),
            (20.0, 0.0, 92.5313, 4.3960),
            (50.0, 0.0, 91.7562, 4.3796),
            (100.0, 0.0, 90.6637, 4.3549),
            (150.0, 0.0, 89.5391, 4.3275),
            (200.0, 0.0, 85.8047, 4.2232),
            (400.0, 0.0, 62.2468, 3.2156),
            (50.0, 1.0, 73.8316, 3.7712),
            (50.0, 5.0, 40.6809, 2.0975),
        ] {
            let found = r_factor(delay_ms, loss);
            assert!((found - r).abs() < 5e-5, "{delay_ms} ms, {loss} %: R = {found}, expected {r}");
            assert!((mos(found) - score).abs() < 5e-5, "{delay_ms} ms, {loss} %: {}, expected {score}", mos(found));
        }
    }

    #[test]
    fn scores_stay_on_their_scale() {
        assert_eq!((mos(-1.0), mos(101.0)), (1.0, 4.5));
        assert_eq!(mos(r_factor(2000.0, 50.0)), 1.0);
    }
}
