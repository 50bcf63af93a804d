//! From values to pixels, and where to put the ticks.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScaleKind {
    /// Equal steps are equal differences.
    #[default]
    Linear,
    /// Equal steps are equal factors; values at or below zero lie on the lower edge.
    Log,
}

/// A mapping of an interval of values onto an interval of pixels. Values outside lie on the edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub kind: ScaleKind,
    pub domain: (f64, f64),
    pub range: (f64, f64),
}

impl Scale {
    pub fn map(&self, value: f64) -> f64 {
        let (low, high) = self.domain;
        let share = match self.kind {
            ScaleKind::Linear => (value - low) / (high - low),
            ScaleKind::Log => (value.max(low) / low).ln() / (high / low).ln(),
        };
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        self.range.0 + share * (self.range.1 - self.range.0)
    }

    /// Round values inside the domain, about `wanted` of them.
    pub fn ticks(&self, wanted: usize) -> Vec<f64> {
        match self.kind {
            ScaleKind::Linear => linear_ticks(self.domain, wanted),
            ScaleKind::Log => log_ticks(self.domain, wanted),
        }
    }
}

/// The interval of an axis for the given means and their intervals. Wide intervals (of few experiments) are allowed
/// to run off the chart, so that they do not squeeze the curves; `limits` are values that cannot be passed.
pub(super) fn domain(
    kind: ScaleKind,
    samples: impl Iterator<Item = (f64, f64, f64)> + Clone,
    limits: (f64, f64),
) -> (f64, f64) {
    let usable = |v: &f64| v.is_finite() && (kind == ScaleKind::Linear || *v > 0.0);
    let extent = |values: &mut dyn Iterator<Item = f64>| {
        values
            .filter(|v| usable(v))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)))
    };
    let means = extent(&mut samples.clone().map(|s| s.0));
    if means.0 > means.1 {
        return (if kind == ScaleKind::Log { 0.1 } else { 0.0 }, 1.0);
    }
    let all = extent(&mut samples.flat_map(|s| [s.0, s.1, s.2]));
    let (low, high) = match kind {
        ScaleKind::Log => (all.0.max(means.0 / 3.0) / 1.08, all.1.min(means.1 * 3.0) * 1.08),
        ScaleKind::Linear => {
            let span = (means.1 - means.0).max(0.05 * means.1.abs()).max(1e-9);
            let (low, high) = (all.0.max(means.0 - span), all.1.min(means.1 + span));
            let pad = 0.06 * (high - low).max(1e-9);
            (low - pad, high + pad)
        }
    };
    let (low, high) = (low.max(limits.0), high.min(limits.1));
    match kind {
        _ if low < high => (low, high),
        ScaleKind::Linear => (means.0 - 0.5, means.0 + 0.5),
        ScaleKind::Log => (means.0 / 2.0, means.0 * 2.0),
    }
}

fn linear_ticks((low, high): (f64, f64), wanted: usize) -> Vec<f64> {
    let rough = (high - low) / wanted.max(1) as f64;
    if !(rough.is_finite() && rough > 0.0) {
        return vec![low];
    }
    let power = 10f64.powf(rough.log10().floor());
    let off = |step: &f64| ((high - low) / step - wanted as f64).abs();
    let steps = [1.0, 2.0, 5.0, 10.0].map(|f| f * power);
    let step = steps.into_iter().min_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(power);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|i| i as f64 * step).collect()
}

fn log_ticks((low, high): (f64, f64), wanted: usize) -> Vec<f64> {
    const DIVISIONS: [&[f64]; 4] =
        [&[1.0], &[1.0, 3.0], &[1.0, 2.0, 5.0], &[1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0]];
    let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let ticks = |division: &[f64]| -> Vec<f64> {
        let all = decades.clone().flat_map(|d| division.iter().map(move |f| f * 10f64.powi(d)));
        all.filter(|v| (low * 0.999..=high * 1.001).contains(v)).collect()
    };
    let choices = DIVISIONS.map(ticks);
    match choices.into_iter().find(|t| t.len() >= wanted.min(4)) {
        Some(found) => found,
        None => linear_ticks((low, high), wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_ends_to_ends_and_clamps() {
        let linear = Scale { kind: ScaleKind::Linear, domain: (0.0, 2.0), range: (100.0, 0.0) };
        assert_eq!([0.0, 1.0, 2.0, 9.0, -9.0].map(|v| linear.map(v)), [100.0, 50.0, 0.0, 0.0, 100.0]);
        let log = Scale { kind: ScaleKind::Log, domain: (0.1, 10.0), range: (0.0, 10.0) };
        assert_eq!(log.map(1.0), 5.0);
        assert_eq!([0.0, -3.0, f64::NAN].map(|v| log.map(v)), [0.0; 3]);
    }

    #[test]
    fn ticks_are_round() {
        let check = |kind, domain, expected: &[f64]| {
            let ticks = Scale { kind, domain, range: (0.0, 1.0) }.ticks(5);
            let same = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
            assert!(ticks.len() == expected.len() && ticks.iter().zip(expected).all(same), "{ticks:?}");
        };
        check(ScaleKind::Linear, (0.0, 1.0), &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        check(ScaleKind::Linear, (-3.0, 19.0), &[0.0, 5.0, 10.0, 15.0]);
        check(ScaleKind::Log, (0.01, 10.0), &[0.01, 0.1, 1.0, 10.0]);
        check(ScaleKind::Log, (0.3, 2.2), &[0.3, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0]);
        check(ScaleKind::Log, (0.52, 0.57), &[0.52, 0.53, 0.54, 0.55, 0.56, 0.57]);
    }

    #[test]
    fn any_data_gives_a_proper_domain() {
        let all = (f64::NEG_INFINITY, f64::INFINITY);
        let cases: [&[f64]; 6] = [&[], &[0.0], &[1.0, 1.0], &[-1.0, 5.0], &[f64::NAN], &[1e-300, 1e300]];
        for means in cases {
            for kind in [ScaleKind::Linear, ScaleKind::Log] {
                let samples = means.iter().map(|&m| (m, m - 100.0, m + 100.0));
                let (low, high) = domain(kind, samples, all);
                assert!(
                    low < high && low.is_finite() && high.is_finite(),
                    "{means:?} {kind:?}: {low} {high}"
                );
                assert!(kind == ScaleKind::Linear || low > 0.0);
            }
        }
    }
}
