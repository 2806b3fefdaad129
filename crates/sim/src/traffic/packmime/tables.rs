//! Quantile tables of PackMime, thinned.
//!
//! Source: the tables of `packmime_ranvar.cc` in ns-2.35, made at Bell Labs from traces of 1999 to 2000 (Cao,
//! Cleveland, Gao, Jeffay, Smith, Weigle: "Stochastic models for generating synthetic HTTP source traffic", INFOCOM
//! 2004). Of a hundred points each, only those are kept that change mean or percentiles by about 1 % or more.

/// Points of a piecewise linear function, in order.
pub(super) struct Table(&'static [(f64, f64)]);

impl Table {
    /// The value at `x`, linearly extrapolated beyond the ends.
    pub fn at(&self, x: f64) -> f64 {
        let above = self.0.partition_point(|&(knot, _)| knot < x).clamp(1, self.0.len() - 1);
        let ((x0, y0), (x1, y1)) = (self.0[above - 1], self.0[above]);
        y0 + (x - x0) * (y1 - y0) / (x1 - x0)
    }

    /// The value at `x`, constant beyond the ends.
    pub fn within(&self, x: f64) -> f64 {
        self.at(x.clamp(self.0[0].0, self.0[self.0.len() - 1].0))
    }
}

/// Responses to cache validations (A0): share below, bytes.
#[allow(clippy::approx_constant)] // 0.7071 is a share
pub(super) const VALIDATION: Table = Table(&[
    (0.0001, 4.645),
    (0.0203, 40.80),
    (0.0304, 53.01),
    (0.0405, 61.47),
    (0.0708, 69.69),
    (0.1011, 74.81),
    (0.1314, 93.57),
    (0.1617, 104.58),
    (0.2021, 112.75),
    (0.2627, 120.48),
    (0.6061, 150.49),
    (0.6566, 157.29),
    (0.6869, 165.02),
    (0.7071, 172.70),
    (0.7576, 200.64),
    (0.8081, 214.42),
    (0.8788, 239.95),
    (0.9293, 261.54),
    (0.9596, 268.49),
    (1.0, 272.23),
]);

/// Downloads (B0): binary logarithms of the share above and of the bytes.
pub(super) const DOWNLOAD: Table = Table(&[
    (-18.1793, 25.877),
    (-5.6938, 15.739),
    (-5.1429, 15.378),
    (-4.9593, 15.300),
    (-4.2249, 15.098),
    (-4.0412, 15.004),
    (-3.6740, 14.693),
    (-2.9396, 13.925),
    (-2.2051, 13.344),
    (-2.0215, 13.148),
    (-1.8379, 12.900),
    (-1.6543, 12.601),
    (-1.4707, 12.251),
    (-1.2871, 11.854),
    (-1.1035, 11.413),
    (-0.7362, 10.410),
    (-0.3690, 9.289),
    (-0.0018, 8.108),
]);

/// The smaller half of the requests (A1): share below within this half, bytes.
pub(super) const SMALL_REQUEST: Table = Table(&[
    (0.0, 50.98),
    (0.0101, 93.82),
    (0.0202, 123.30),
    (0.0404, 168.81),
    (0.0505, 184.26),
    (0.0606, 193.95),
    (0.0909, 210.07),
    (0.1010, 217.62),
    (0.1414, 253.06),
    (0.1616, 265.16),
    (0.1818, 273.75),
    (0.3333, 318.04),
    (0.4344, 339.90),
    (0.5657, 360.71),
    (1.0, 421.79),
]);

/// The larger half (B1): binary logarithms of the share above within this half, and of the bytes.
pub(super) const LARGE_REQUEST: Table = Table(&[
    (-17.7791, 19.758),
    (-3.5983, 10.209),
    (-3.0598, 9.935),
    (-2.3418, 9.769),
    (-1.9828, 9.647),
    (-1.8033, 9.547),
    (-1.0853, 9.052),
    (-0.9058, 8.955),
    (-0.5468, 8.827),
    (-0.0083, 8.728),
]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_points_and_beyond_them() {
        let table = Table(&[(0.0, 1.0), (1.0, 3.0), (2.0, 4.0)]);
        for (x, y) in [(0.0, 1.0), (0.5, 2.0), (1.0, 3.0), (1.5, 3.5), (2.0, 4.0), (4.0, 6.0), (-1.0, -1.0)] {
            assert_eq!(table.at(x), y, "{x}");
        }
        assert_eq!((table.within(4.0), table.within(-1.0)), (4.0, 1.0));
    }

    #[test]
    fn every_table_is_in_order_and_monotone() {
        for (Table(points), rises) in
            [(VALIDATION, true), (DOWNLOAD, false), (SMALL_REQUEST, true), (LARGE_REQUEST, false)]
        {
            assert!(points.windows(2).all(|p| p[0].0 < p[1].0 && (p[0].1 < p[1].1) == rises));
        }
    }
}
