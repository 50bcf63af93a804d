//! Claims that compare methods with each other.

use std::ops::RangeInclusive;

use super::sweeps::Ratio;
use super::{Court, Finding, Judged, Verdict, all, signed, three};
use crate::claims::Tasks;
use foretune_report::stats::{Estimate, mean};
use foretune_report::{Metric, Term, Who};

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
        let verdict = match surplus.sign() {
            1 => Verdict::Holds,
            -1 => Verdict::Fails,
            _ => Verdict::Undecided,
        };
        let figures = format!(
            "{} keeps {} % of the gain of {} over {}{}",
            self.label(a),
            kept.round(),
            names.0,
            names.1,
            self.remark(tasks)
        );
        Ok(Finding { verdict, figures })
    }
}
