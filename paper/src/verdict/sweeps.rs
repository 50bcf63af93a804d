//! Claims about a setting that is varied.

use super::ratio::bootstrap;
use super::{Court, Finding, Judged, Verdict, all, signed, three};
use crate::claims::Tasks;
use foretune_report::Sweep;
use foretune_report::Who;
use foretune_report::stats::mean;
use foretune_report::{same, setting};

impl Court<'_> {
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
