//! The distribution of the gate's statistics in sound data, from a simulation.
//!
//! A parametric bootstrap draws samples of the fitted shape, fits each, and counts how many have a larger statistic. The statistics depend
//! on the shape and a little on the number of excesses, not on the scale. Therefore the example `gate-tables` did this once, with 20,000
//! samples per shape and number (6,000 for the number 4,000), and printed the tables of this file. `gate-tables 20000 1000` and
//! `gate-tables 6000 4000` print them again to the last digit.

use super::Fit;

/// The shapes of the rows.
pub const SHAPES: [f64; 5] = [-0.4, -0.2, 0.0, 0.2, 0.4];
/// The numbers of excesses of the tables. Fewer than 1,000 count as 1,000.
pub const SIZES: [f64; 2] = [1000.0, 4000.0];
/// The probabilities with which statistics exceed the columns.
pub const LEVELS: [f64; 9] = [0.5, 0.25, 0.1, 0.05, 0.025, 0.01, 0.005, 0.0025, 0.001];

/// The values that statistics exceed with these probabilities.
pub type Row = [f64; 9];
/// One row per shape.
pub type Table = [Row; 5];
/// One table per number of excesses.
pub type Tables = [Table; 2];

/// Anderson & Darling's distance of the excesses from their fit.
pub const ANDERSON_DARLING: Tables = [
    [
        [0.448, 0.654, 0.926, 1.139, 1.352, 1.644, 1.910, 2.157, 2.474],
        [0.417, 0.609, 0.856, 1.045, 1.238, 1.492, 1.685, 1.885, 2.157],
        [0.397, 0.570, 0.802, 0.976, 1.168, 1.399, 1.574, 1.732, 2.036],
        [0.375, 0.535, 0.729, 0.893, 1.056, 1.279, 1.447, 1.611, 1.860],
        [0.363, 0.509, 0.707, 0.856, 1.021, 1.223, 1.381, 1.515, 1.733],
    ],
    [
        [0.456, 0.668, 0.960, 1.180, 1.440, 1.791, 2.130, 2.282, 2.756],
        [0.424, 0.603, 0.851, 1.032, 1.216, 1.562, 1.788, 2.078, 2.595],
        [0.401, 0.582, 0.814, 1.005, 1.213, 1.440, 1.641, 1.774, 2.048],
        [0.380, 0.538, 0.743, 0.900, 1.057, 1.349, 1.521, 1.743, 1.998],
        [0.362, 0.505, 0.706, 0.869, 1.013, 1.235, 1.421, 1.660, 1.949],
    ],
];
/// The penalised likelihood ratio of two causes.
pub const TWO_CAUSES: Tables = [
    [
        [0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000],
        [0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000],
        [0.000, 0.000, 0.441, 1.241, 2.223, 3.372, 4.450, 5.406, 6.669],
        [0.034, 1.394, 2.717, 3.663, 4.648, 6.004, 7.322, 8.928, 11.542],
        [0.000, 0.000, 0.551, 2.677, 4.611, 6.832, 8.352, 9.769, 12.275],
    ],
    [
        [0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000],
        [0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000],
        [0.000, 0.000, 0.846, 1.980, 3.259, 4.710, 5.647, 7.194, 8.318],
        [0.000, 0.500, 2.665, 3.905, 5.131, 6.732, 7.861, 8.844, 10.169],
        [0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 1.244, 3.101, 5.221],
    ],
];
/// How unlikely the least likely of the largest excesses is.
pub const TOP: Tables = [
    [
        [1.921, 2.342, 2.793, 3.111, 3.390, 3.755, 3.998, 4.207, 4.539],
        [1.775, 2.291, 2.830, 3.190, 3.509, 3.924, 4.236, 4.471, 4.832],
        [1.706, 2.304, 2.974, 3.462, 3.924, 4.520, 4.966, 5.347, 5.879],
        [1.672, 2.368, 3.150, 3.707, 4.268, 4.934, 5.426, 6.068, 6.937],
        [1.649, 2.404, 3.269, 3.861, 4.464, 5.314, 5.951, 6.549, 7.240],
    ],
    [
        [1.866, 2.384, 2.917, 3.306, 3.668, 4.119, 4.365, 4.580, 4.980],
        [1.746, 2.416, 3.176, 3.627, 4.043, 4.562, 4.900, 5.250, 5.761],
        [1.661, 2.421, 3.333, 3.992, 4.623, 5.272, 5.753, 6.433, 7.014],
        [1.641, 2.451, 3.465, 4.141, 4.896, 5.782, 6.505, 7.004, 7.719],
        [1.656, 2.543, 3.585, 4.297, 4.913, 5.877, 6.569, 7.469, 8.231],
    ],
];
/// Anderson & Darling's distance of times from an exponential distribution with their mean. The shape of the excesses does not matter; the
/// row is the mean of the five.
pub const GAPS: Row = [0.495, 0.733, 1.058, 1.320, 1.596, 1.938, 2.196, 2.483, 2.907];

/// Returns how often a statistic is at least this large in sound data, for the shape and the number of excesses of a fit.
pub fn p(tables: &Tables, fit: &Fit, statistic: f64) -> f64 {
    let [few, many] = tables.each_ref().map(|table| row(table, fit.gpd.xi));
    let [low, high] = SIZES.map(f64::ln);
    let part = ((fit.k as f64).max(1.0).ln() - low) / (high - low);
    p_in(&between(&few, &many, part.clamp(0.0, 1.0)), statistic)
}

/// Returns how often a statistic is at least this large according to a row. It interpolates logarithms between the columns; beyond the last
/// column it extrapolates the decline over the last three.
pub fn p_in(row: &Row, statistic: f64) -> f64 {
    if statistic <= row[0] {
        return if row[0] > 0.0 { 1.0 - (1.0 - LEVELS[0]) * (statistic / row[0]).clamp(0.0, 1.0) } else { 1.0 };
    }
    let line = |(from, high): (f64, f64), (to, low): (f64, f64)| {
        high * (low / high).powf((statistic - from) / (to - from).max(f64::MIN_POSITIVE))
    };
    let columns = || row.iter().copied().zip(LEVELS);
    let between = columns().zip(columns().skip(1)).find(|(_, next)| statistic <= next.0);
    between.map_or_else(|| line((row[6], LEVELS[6]), (row[8], LEVELS[8])), |(one, next)| line(one, next))
}

/// Returns the row of a shape, interpolated linearly between two rows.
fn row(table: &Table, xi: f64) -> Row {
    let xi = xi.clamp(SHAPES[0], SHAPES[4]);
    let rows = || SHAPES.into_iter().zip(table);
    let found = rows().zip(rows().skip(1)).find(|(_, (above, _))| xi <= *above);
    let Some(((below, low), (above, high))) = found else { return table[4] };
    let part = (xi - below) / (above - below);
    between(low, high, part)
}

fn between(low: &Row, high: &Row, part: f64) -> Row {
    let mut mixed = *low;
    mixed.iter_mut().zip(high).for_each(|(low, high)| *low += part * (high - *low));
    mixed
}
