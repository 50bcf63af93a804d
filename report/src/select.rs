//! Which variants of a study a chart or a claim speaks of.

use host_sim::results::{Manifest, Variant};

/// A setting that is varied to see its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// The weight β of MFT-MES; Continual MF-MES is its β = 0.
    Beta,
    /// The share 1 − c of queries that two-phase MFT-MES spends on transferable knowledge.
    Share,
}

/// How a study is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// A curve per variant over the tasks.
    Lines,
    /// The swept setting against the tasks, as a heat map.
    Surface(Sweep),
    /// The swept setting at some tasks, as curves.
    Slices(Sweep, [u32; 2]),
}

/// A method, and where they matter its particles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Who {
    /// The method as in `study.json`.
    pub method: &'static str,
    /// The number of particles, or any.
    pub particles: Option<u32>,
}

impl Who {
    /// The method with any number of particles.
    pub const fn any(method: &'static str) -> Self {
        Self { method, particles: None }
    }

    /// The method with `particles` particles.
    pub const fn with(method: &'static str, particles: u32) -> Self {
        Self { method, particles: Some(particles) }
    }

    /// The first variant that fits.
    pub fn find(&self, manifest: &Manifest) -> Option<usize> {
        let fits = |v: &Variant| {
            let particles = self.particles.is_none_or(|p| v.number("particles") == Some(f64::from(p)));
            v.method == self.method && particles
        };
        manifest.variants.iter().position(fits)
    }

    /// The words for it where it is missing.
    pub fn describe(&self) -> String {
        match self.particles {
            Some(particles) => format!("{} with {particles} particles", self.method),
            None => self.method.to_string(),
        }
    }
}

impl Sweep {
    /// The variants of the sweep with their values, from the least value on. Of equal values the first one counts.
    pub fn members(self, manifest: &Manifest) -> Vec<(f64, usize)> {
        let value = |v: &Variant| match (self, v.method.as_str()) {
            (Self::Beta, "mft-mes") => v.number("beta"),
            (Self::Beta, "continual") => Some(0.0),
            (Self::Share, "two-phase") => v.number("c").map(|c| 1.0 - c),
            _ => None,
        };
        let mut found: Vec<(f64, usize)> = Vec::new();
        for (i, variant) in manifest.variants.iter().enumerate() {
            if let Some(value) = value(variant)
                && !found.iter().any(|(v, _)| same(*v, value))
            {
                found.push((value, i));
            }
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found
    }

    /// The name of what is varied.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Beta => "β",
            Self::Share => "1 − c",
        }
    }

    /// The value with, for β, what the paper would print.
    pub fn label(self, value: f64) -> String {
        let text = setting(value);
        match self {
            Self::Beta if value != 0.0 => format!("{text} ({})", setting(2.0 * value)),
            _ => text,
        }
    }
}

/// A setting as people write it: settings come from `f32`, whose digits beyond the sixth mean nothing.
pub fn setting(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').replace('-', "−")
}

/// Whether two settings are the same number, up to the precision of `f32`.
pub fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_sim::results::fixture::manifest;

    fn study() -> Manifest {
        let mut m = manifest();
        let base = m.variants[1].clone();
        let variant = |key: &str, method: &str, setting: &str, value: f64| {
            let mut v = Variant { key: key.into(), method: method.into(), ..base.clone() };
            v.settings.insert(setting.into(), value.into());
            v
        };
        m.variants.push(variant("b-big", "mft-mes", "beta", 1.2));
        m.variants.push(variant("b-single", "mft-mes", "beta", f64::from(0.3f32)));
        m.variants.push(variant("cont", "continual", "particles", 5.0));
        m.variants.push(variant("two", "two-phase", "c", 0.6));
        m
    }

    #[test]
    fn sweeps_are_sorted_and_continual_is_beta_zero() {
        let members = Sweep::Beta.members(&study());
        let (values, variants): (Vec<f64>, Vec<usize>) = members.into_iter().unzip();
        assert_eq!(variants, [4, 3, 1, 2]);
        assert!(same(values[1], 0.3) && values[0] == 0.0);
        assert_eq!(Sweep::Share.members(&study()).len(), 1);
    }

    #[test]
    fn variants_are_found_by_method_and_particles() {
        assert_eq!(Who::with("mft-mes", 10).find(&study()), Some(1));
        assert_eq!(Who::with("continual", 10).find(&study()), None);
        assert_eq!(Who::any("continual").find(&study()), Some(4));
    }

    #[test]
    fn labels_show_both_betas() {
        assert_eq!(Sweep::Beta.label(f64::from(0.6f32)), "0.6 (1.2)");
        assert_eq!(Sweep::Beta.label(0.0), "0");
        assert_eq!(Sweep::Share.label(0.4), "0.4");
    }
}
