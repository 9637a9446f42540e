//! What latido compares the newest run of a history with: the runs before it, or a baseline.

use super::{Usage, stored::Reader};
use crate::store;
use anyhow::{Result, ensure};
use latido_judge::{
    compare::Arms,
    observed::{Observed, coarser},
};
use std::{path::Path, str::FromStr};

/// `last:10`, or the name of a baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Against {
    /// This number of runs before the newest one.
    Last(usize),
    /// The run that a baseline names.
    Baseline(String),
}

impl FromStr for Against {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(number) = text.strip_prefix("last:") else {
            return match text {
                "last" => Err("write last:N, with N runs before the newest".into()),
                name => Ok(Self::Baseline(name.into())),
            };
        };
        match number.parse() {
            Ok(number @ 1..=500) => Ok(Self::Last(number)),
            _ => Err(format!("`last:{number}`: the N of last:N must be from 1 to 500")),
        }
    }
}

impl Against {
    /// Returns two sides: what the newest run is compared with, and the newest run.
    ///
    /// # Errors
    /// There is no run before it, no such baseline, or the baseline is the newest run.
    pub fn arms(&self, store: Option<&Path>, mut runs: Vec<Vec<Observed>>, reader: &mut Reader) -> Result<Arms> {
        let newest = runs.pop().unwrap_or_default();
        let name = |run: &[Observed]| run.first().map(|one| one.run.clone()).unwrap_or_default();
        let (base, before) = match self {
            Self::Last(number) => {
                ensure!(
                    !runs.is_empty(),
                    Usage::new("--against last:N needs at least two runs: name the earlier runs, too")
                );
                let earlier = runs.split_off(runs.len().saturating_sub(*number));
                (format!("the {} before", latido_report::words::many(earlier.len() as u64, "run")), earlier.concat())
            }
            Self::Baseline(baseline) => {
                let root = store::root(store)?;
                let id = store::baselines::run(&root, baseline)?;
                ensure!(id != name(&newest), Usage::new(format!("the baseline `{baseline}` is the newest run itself")));
                let run = store::read(&store::find(&root, &id)?)?;
                (format!("baseline {baseline}"), reader.repeats(&run)?)
            }
        };
        let mut arms = Arms { names: vec![base, name(&newest)], observed: vec![before, newest], factor: None };
        coarser::level(reader.statistic(), arms.observed.iter_mut().flatten());
        Ok(arms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_to_compare_with() {
        assert_eq!("last:10".parse(), Ok(Against::Last(10)));
        assert_eq!("good".parse(), Ok(Against::Baseline("good".into())));
        for wrong in ["last", "last:", "last:0", "last:501", "last:-1", "last:x"] {
            let error = wrong.parse::<Against>().unwrap_err();
            assert!(error.contains("last:N"), "{wrong}: {error}");
        }
    }
}
