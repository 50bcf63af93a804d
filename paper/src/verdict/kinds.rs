//! Claims that compare methods with each other, and claims about a setting that is varied; ratios of means and bootstrapped
//! statistics, with how far to trust them.

use std::ops::RangeInclusive;

use super::{Court, Finding, Judged, Verdict, all, signed, three};
use crate::claims::Tasks;
use foretune_report::stats::{CONFIDENCE, Estimate, covariance, mean, student_t};
use foretune_report::{Metric, Sweep, Term, Who, same, setting};

impl Court<'_> {
    pub(super) fn ahead(&self, pairs: &[(Who, Who)], tasks: Tasks) -> Judged {
        let tasks = self.tasks(tasks)?;
        let (mut signs, mut lines) = (Vec::new(), Vec::new());
        for &(a, b) in pairs {
            let (a, b) = (self.find(a)?, self.find(b)?);
            let gain = self.gain(a, b, &tasks)?;
            signs.push(gain.sign());
            let each =
                tasks.clone().filter(|&t| self.gain(a, b, &(t..=t)).is_ok_and(|g| g.mean > 0.0)).count();
            let often = if tasks.clone().count() > 1 {
                format!(", ahead in {each} of {} tasks", tasks.clone().count())
            } else {
                String::new()
            };
            let (a, b) = (self.label(a), self.label(b));
            lines.push(format!("{a} over {b}: {} {}{often}", self.measure(), signed(&gain)));
        }
        Ok(Finding { verdict: all(&signs), figures: lines.join("; ") + &self.remark(&tasks) })
    }

    pub(super) fn factor(&self, a: Who, b: Who, tasks: Tasks, claimed: f64) -> Judged {
        let tasks = self.tasks(tasks)?;
        let (a, b) = (self.find(a)?, self.find(b)?);
        let values = self.paired(&[a, b], &tasks)?;
        let (above, below) = match self.samples.metric() {
            Metric::Regret => (&values[1], &values[0]),
            Metric::Ratio | Metric::Value => (&values[0], &values[1]),
        };
        let ratio = Ratio::of_means(above, below).ok_or("a mean is exactly zero")?;
        let verdict = match ratio.interval {
            Some((_, high)) if high < claimed => Verdict::Fails,
            Some((low, _)) if low >= (1.0 + claimed) / 2.0 => Verdict::Holds,
            _ => Verdict::Undecided,
        };
        let interval =
            ratio.interval.map_or("no interval".into(), |(l, h)| format!("{} to {}", three(l), three(h)));
        let figures = format!(
            "factor {} ({interval}) where {} is claimed: {} {} against {}{}",
            three(ratio.value),
            three(claimed),
            self.measure(),
            three(mean(&values[0])),
            three(mean(&values[1])),
            self.remark(&tasks),
        );
        Ok(Finding { verdict, figures })
    }

    pub(super) fn improves(&self, who: &[Who]) -> Judged {
        let last = self.manifest.tasks;
        if last < 4 {
            return Err(format!("needs 4 tasks; the study has {last}"));
        }
        let better = self.samples.metric().gain(1.0, 0.0);
        let (mut signs, mut lines) = (Vec::new(), Vec::new());
        for &who in who {
            let variant = self.find(who)?;
            let late = Term { variant, tasks: last - 1..=last, weight: better };
            let early = Term { variant, tasks: 1..=2, weight: -better };
            let gain = Estimate::of(&self.samples.contrast(&[late, early]));
            let gain = gain.ok_or("no experiment has finished its tasks")?;
            signs.push(gain.sign());
            lines.push(format!("{}: {} {}", self.label(variant), self.measure(), signed(&gain)));
        }
        let figures = format!("{}, tasks {}–{last} against 1–2", lines.join("; "), last - 1);
        Ok(Finding { verdict: all(&signs), figures })
    }

    pub(super) fn keeps_half_of(&self, a: Who, best: Who, base: Who, tasks: Tasks) -> Judged {
        let tasks = self.tasks(tasks)?;
        self.keeps_half(self.find(a)?, self.find(best)?, self.find(base)?, &tasks)
    }

    /// Whether `a` keeps at least half of the gain of `best` over `base`.
    pub(super) fn keeps_half(
        &self,
        a: usize,
        best: usize,
        base: usize,
        tasks: &RangeInclusive<u32>,
    ) -> Judged {
        let names = (self.label(best), self.label(base));
        if best == base {
            let figures =
                format!("no gain to lose: {} has the best mean itself{}", names.1, self.remark(tasks));
            return Ok(Finding { verdict: Verdict::Undecided, figures });
        }
        let full = self.gain(best, base, tasks)?;
        if full.sign() != 1 {
            let figures = format!(
                "no certain gain to lose: {} over {}: {} {}{}",
                names.0,
                names.1,
                self.measure(),
                signed(&full),
                self.remark(tasks)
            );
            return Ok(Finding { verdict: Verdict::Undecided, figures });
        }
        let better = self.samples.metric().gain(1.0, 0.0);
        let term = |variant, weight: f64| Term { variant, tasks: tasks.clone(), weight: weight * better };
        let surplus = self.samples.contrast(&[term(a, 1.0), term(best, -0.5), term(base, -0.5)]);
        let surplus = Estimate::of(&surplus).ok_or("no experiment has finished its tasks")?;
        let kept = 100.0 * self.gain(a, base, tasks)?.mean / full.mean;
        let figures = format!(
            "{} keeps {} % of the gain of {} over {}{}",
            self.label(a),
            kept.round(),
            names.0,
            names.1,
            self.remark(tasks)
        );
        Ok(Finding { verdict: all(&[surplus.sign()]), figures })
    }

    pub(super) fn best_at(&self, sweep: Sweep, value: f64, tasks: Tasks) -> Judged {
        let tasks = self.tasks(tasks)?;
        let members = self.sweep(sweep)?;
        let claimed = members.iter().position(|(v, _)| same(*v, value));
        let claimed =
            claimed.ok_or_else(|| format!("{} = {} was not run", sweep.symbol(), setting(value)))?;
        let variants: Vec<usize> = members.iter().map(|m| m.1).collect();
        let values = self.paired(&variants, &tasks)?;
        let ranking = self.ranking(&values);
        let rival = if ranking[0] == claimed { ranking[1] } else { ranking[0] };
        let name = |i: usize| format!("{} = {}", sweep.symbol(), sweep.label(members[i].0));
        let gain = self.difference(&values[claimed], &values[rival])?;
        let verdict = match (ranking[0] == claimed, gain.sign()) {
            (true, 1) => Verdict::Holds,
            (false, -1) => Verdict::Fails,
            _ => Verdict::Undecided,
        };
        let best = name(ranking[0]);
        let figures = format!(
            "{best} has the best mean; {} over {}: {} {}{}",
            name(claimed),
            name(rival),
            self.measure(),
            signed(&gain),
            self.remark(&tasks),
        );
        Ok(Finding { verdict, figures })
    }

    pub(super) fn best_grows(&self, sweep: Sweep) -> Judged {
        let members = self.sweep(sweep)?;
        let values = self.by_task(&members)?;
        let experiments = values[0][0].len();
        let half = values.len() / 2;
        let bests = |chosen: &[usize]| -> Vec<f64> {
            values.iter().map(|task| members[self.winner(task, chosen)].0).collect()
        };
        let growth = |chosen: &[usize]| {
            let bests = bests(chosen);
            Some(mean(&bests[bests.len() - half..]) - mean(&bests[..half]))
        };
        let everyone: Vec<usize> = (0..experiments).collect();
        let interval = bootstrap(experiments, growth);
        let verdict = match interval {
            Some((low, _)) if low > 0.0 => Verdict::Holds,
            Some((_, high)) if high < 0.0 => Verdict::Fails,
            _ => Verdict::Undecided,
        };
        let interval =
            interval.map_or("no interval".into(), |(l, h)| format!("{} to {}", three(l), three(h)));
        let listed: Vec<String> = bests(&everyone).into_iter().map(setting).collect();
        let figures = format!(
            "best {} by task: {}; later half minus earlier: {} ({interval})",
            sweep.symbol(),
            listed.join(", "),
            growth(&everyone).map_or("–".into(), three),
        );
        Ok(Finding { verdict, figures })
    }

    /// Values by task, member and experiment, for the experiments that finished everything.
    fn by_task(&self, members: &[(f64, usize)]) -> Result<Vec<Vec<Vec<f64>>>, String> {
        let last = self.manifest.tasks;
        if last < 4 {
            return Err(format!("needs 4 tasks; the study has {last}"));
        }
        let value = |variant, task, e| self.samples.at(variant, task).get(e).copied().flatten();
        let whole = |e: &usize| members.iter().all(|m| (1..=last).all(|t| value(m.1, t, *e).is_some()));
        let experiments: Vec<usize> = (0..self.samples.experiments()).filter(whole).collect();
        if experiments.is_empty() {
            return Err("no experiment has finished all tasks of all values".into());
        }
        let column = |variant, task| experiments.iter().filter_map(|&e| value(variant, task, e)).collect();
        Ok((1..=last).map(|t| members.iter().map(|m| column(m.1, t)).collect()).collect())
    }

    /// The member with the best total over the chosen experiments.
    fn winner(&self, task: &[Vec<f64>], chosen: &[usize]) -> usize {
        let gain = |m: usize| self.samples.metric().gain(chosen.iter().map(|&e| task[m][e]).sum(), 0.0);
        (0..task.len()).max_by(|&a, &b| gain(a).total_cmp(&gain(b))).unwrap_or(0)
    }

    pub(super) fn every_value_ahead(&self, sweep: Sweep, others: &[Who], tasks: &[u32]) -> Judged {
        let members = self.sweep(sweep)?;
        let mut signs = Vec::new();
        for &task in tasks {
            let task = self.tasks(Tasks::At(task))?;
            for &other in others {
                let other = self.find(other)?;
                for &(_, variant) in members.iter().filter(|(value, _)| *value > 0.0) {
                    signs.push(self.gain(variant, other, &task)?.sign());
                }
            }
        }
        let count = |sign: i8| signs.iter().filter(|&&s| s == sign).count();
        let figures = format!(
            "of {} comparisons {} are ahead, {} behind and {} within their interval",
            signs.len(),
            count(1),
            count(-1),
            count(0)
        );
        Ok(Finding { verdict: all(&signs), figures })
    }

    pub(super) fn robust(&self, sweep: Sweep, value: f64, base: Who, tasks: &[u32]) -> Judged {
        let members = self.sweep(sweep)?;
        let base = self.find(base)?;
        let claimed = members.iter().find(|(v, _)| same(*v, value));
        let &(_, claimed) =
            claimed.ok_or_else(|| format!("{} = {} was not run", sweep.symbol(), setting(value)))?;
        let findings = tasks.iter().map(|&task| {
            let range = self.tasks(Tasks::At(task))?;
            let variants: Vec<usize> = members.iter().map(|m| m.1).collect();
            let best = variants[self.ranking(&self.paired(&variants, &range)?)[0]];
            self.keeps_half(claimed, best, base, &range)
        });
        let findings = findings.collect::<Result<Vec<_>, _>>()?;
        let verdict = worst(findings.iter().map(|f| f.verdict));
        let figures = findings.into_iter().map(|f| f.figures).collect::<Vec<_>>().join("; ");
        Ok(Finding { verdict, figures })
    }
}

/// The verdict on a claim that has several parts.
fn worst(parts: impl Iterator<Item = Verdict> + Clone) -> Verdict {
    let any = |verdict| parts.clone().any(|v| v == verdict);
    match () {
        () if any(Verdict::Fails) => Verdict::Fails,
        () if any(Verdict::Undecided) => Verdict::Undecided,
        () => Verdict::Holds,
    }
}

/// A ratio of two means and its 90 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Mean of the one over mean of the other.
    pub value: f64,
    /// The interval; none when the denominator's mean cannot be told from zero.
    pub interval: Option<(f64, f64)>,
}

impl Ratio {
    /// The ratio of the means of paired values, with Fieller's interval; `None` without pairs or with a zero mean
    /// below the bar.
    pub fn of_means(above: &[f64], below: &[f64]) -> Option<Self> {
        let n = above.len();
        assert_eq!(n, below.len(), "values come in pairs");
        let (a, b) = (mean(above), mean(below));
        if n == 0 || b == 0.0 {
            return None;
        }
        Some(Self { value: a / b, interval: if n > 1 { fieller(above, below) } else { None } })
    }
}

/// All ratios ρ for which the mean of `above - ρ below` cannot be told from zero.
fn fieller(above: &[f64], below: &[f64]) -> Option<(f64, f64)> {
    let n = above.len();
    let (a, b) = (mean(above), mean(below));
    let t2 = student_t(n - 1).powi(2) / n as f64;
    let [aa, ab, bb] = [(above, above), (above, below), (below, below)].map(|(x, y)| t2 * covariance(x, y));
    // (a - ρb)² = aa - 2ρ ab + ρ² bb, a quadratic in ρ.
    let square = b * b - bb;
    let half = a * b - ab;
    let discriminant = half * half - square * (a * a - aa);
    // Rounding can push the discriminant of a sharp ratio just below zero.
    let root = discriminant.max(0.0).sqrt();
    (square > 0.0).then(|| ((half - root) / square, (half + root) / square))
}

/// Percentile interval of a statistic over resampled experiments; `None` below three experiments or when the
/// statistic is undefined. The resampling is seeded, so that the same data give the same interval.
pub fn bootstrap(experiments: usize, statistic: impl Fn(&[usize]) -> Option<f64>) -> Option<(f64, f64)> {
    const RESAMPLES: usize = 1000;
    if experiments < 3 {
        return None;
    }
    let mut state = 0x5eed_u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % experiments
    };
    let mut values = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let chosen: Vec<usize> = (0..experiments).map(|_| draw()).collect();
        values.push(statistic(&chosen)?);
    }
    values.sort_by(f64::total_cmp);
    let at = |p: f64| values[((RESAMPLES - 1) as f64 * p).round() as usize];
    Some((at(0.5 - CONFIDENCE / 2.0), at(0.5 + CONFIDENCE / 2.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b}");
    }

    #[test]
    fn ratio_interval_agrees_with_hand_computation() {
        // above 1, 2, 3; below 3, 4, 5: a = 2, b = 4, all (co)variances 1, t² / n = 2.92² / 3 = 2.842.
        // 13.158 ρ² - 2 · 5.158 ρ + 1.158 = 0: ρ = 0.1351 or 0.6489.
        let r = Ratio::of_means(&[1.0, 2.0, 3.0], &[3.0, 4.0, 5.0]).unwrap();
        assert_eq!(r.value, 0.5);
        let (low, high) = r.interval.unwrap();
        close(low, 0.1351, 1e-3);
        close(high, 0.6489, 1e-3);
    }

    #[test]
    fn exact_ratios_have_sharp_intervals_and_noisy_denominators_none() {
        let exact = Ratio::of_means(&[2.0, 4.0, 6.0], &[1.0, 2.0, 3.0]).unwrap().interval.unwrap();
        close(exact.0, 2.0, 1e-6);
        close(exact.1, 2.0, 1e-6);
        assert_eq!(Ratio::of_means(&[1.0, 2.0], &[-5.0, 6.0]).unwrap().interval, None);
        assert_eq!(Ratio::of_means(&[1.0, 2.0], &[-5.0, 5.0]), None);
    }

    #[test]
    fn bootstrap_of_the_mean_resembles_students_interval() {
        let values: Vec<f64> = (0..40).map(|i| f64::from(i * 17 % 40)).collect();
        let resampled = |chosen: &[usize]| Some(chosen.iter().map(|&i| values[i]).sum::<f64>() / 40.0);
        let (low, high) = bootstrap(40, resampled).unwrap();
        let e = Estimate::of(&values).unwrap();
        close(low, e.low(), 0.6);
        close(high, e.high(), 0.6);
        assert_eq!(bootstrap(2, |_| Some(1.0)), None);
        assert_eq!(bootstrap(5, |_| None), None);
    }
}
