//! Decides on which CPUs a cell is measured, which are left for everything else, and which are left out. The decision depends only on the
//! given facts.

use crate::{machine, measure::Probe};
use anyhow::{Result, ensure};
use latido_model::{cpus::CpuSet, protocol::LeftOut};

/// The facts that decide the places of a cell.
pub(super) struct Facts<'a> {
    /// The probe's name.
    pub(super) probe: &'a str,
    /// The CPUs that the cell names.
    pub(super) named: Option<CpuSet>,
    /// The CPUs that a tuning isolates, or that a person has isolated.
    pub(super) isolated: &'a CpuSet,
    /// Every CPU on which a thread can run.
    pub(super) usable: &'a CpuSet,
    /// The same, without the CPUs that only the groups of isolated CPUs can reach.
    pub(super) reach: &'a CpuSet,
    /// The CPUs that this process may use.
    pub(super) own: &'a CpuSet,
    /// The CPUs that were kept free at boot.
    pub(super) kept_free: &'a CpuSet,
}

/// The places of a cell.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Placed {
    /// The measured CPUs.
    pub(super) cpus: CpuSet,
    /// The CPUs for everything else; `None` if all are measured.
    pub(super) housekeeping: Option<CpuSet>,
    /// The CPUs that are not measured although the cell names none.
    pub(super) left_out: Vec<LeftOut>,
}

impl Facts<'_> {
    /// Chooses the CPUs that the cell names, else the isolated ones, else the probe's default. `beyond` returns the CPUs on which no thread
    /// can run.
    ///
    /// # Errors
    /// The probe would take the only CPU.
    pub(super) fn place(
        &self,
        default: impl FnOnce(&CpuSet) -> CpuSet,
        beyond: impl FnOnce() -> Vec<LeftOut>,
    ) -> Result<Placed> {
        let cpus = match &self.named {
            Some(asked) => asked.clone(),
            None if !self.isolated.is_empty() => self.isolated.clone(),
            None => default(self.usable),
        };
        ensure!(
            !cpus.is_empty(),
            "the probe `{}` would occupy the only CPU ({}) until its end: name the CPU with -c to measure all the same",
            self.probe,
            self.usable
        );
        let open = |cpus: &CpuSet| cpus.without(self.isolated);
        let housekeeping = machine::housekeeping(&cpus, &open(self.own), &open(self.reach), self.kept_free);
        let left_out = if self.named.is_some() { Vec::new() } else { self.left_out(&cpus, beyond()) };
        Ok(Placed { cpus, housekeeping, left_out })
    }

    fn left_out(&self, cpus: &CpuSet, beyond: Vec<LeftOut>) -> Vec<LeftOut> {
        let rest = match self.isolated.is_empty() {
            true => format!("left for everything else by `{}`", self.probe),
            false => format!("not isolated, as {} is", self.isolated),
        };
        let beyond = beyond.into_iter().map(|left| LeftOut { cpus: left.cpus.without(cpus), ..left });
        let all = beyond.chain([LeftOut { cpus: self.usable.without(cpus), why: rest }]);
        all.filter(|left| !left.cpus.is_empty()).collect()
    }
}

/// Returns the union of these CPUs.
pub(super) fn together<'a>(these: &CpuSet, those: impl IntoIterator<Item = &'a CpuSet>) -> CpuSet {
    these.iter().chain(those.into_iter().flat_map(CpuSet::iter)).collect()
}

/// Checks that the CPUs to isolate are online.
pub(super) fn available(isolated: &CpuSet, online: &CpuSet) -> Result<()> {
    let missing = isolated.without(online);
    ensure!(missing.is_empty(), "CPU {missing} is not online and cannot be isolated: the online CPUs are {online}");
    Ok(())
}

/// Returns the CPUs that a probe measures if the cell names none. A guest of the laboratory exists only for its cell: nothing else needs
/// its only CPU.
pub(super) fn default_cpus(probe: &dyn Probe, usable: &CpuSet, guest: bool) -> CpuSet {
    let own = probe.default_cpus(usable);
    if own.is_empty() && guest { usable.clone() } else { own }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe;
    use latido_model::{cell::Item, machine::none_or_list, registry};
    use proptest::{prelude::*, test_runner::RngSeed};

    fn set(text: &str) -> CpuSet {
        none_or_list::parse(text).unwrap()
    }

    /// Loops that never sleep must leave a machine's only CPU alone unless it is named, but take that of a guest.
    #[test]
    fn what_never_sleeps_takes_the_only_cpu_of_a_guest_alone() {
        let one: CpuSet = [0].into_iter().collect();
        for name in ["mutex", "priority", "gap"] {
            let probe = Item { name: name.into(), options: toml::Table::new() };
            let probe = registry::build("probe", probe::PROBES, &probe).unwrap();
            assert!(default_cpus(probe.as_ref(), &one, false).is_empty(), "{name}");
            assert_eq!(default_cpus(probe.as_ref(), &one, true), one, "{name}");
        }
    }

    /// A machine of four CPUs: the last is kept free at boot, and a fifth is offline.
    fn placed(named: Option<&str>, isolated: &str, default: &str) -> Result<(String, Option<String>, Vec<String>)> {
        let (isolated, all) = (set(isolated), set("0-3"));
        let reach = all.without(&isolated);
        let facts = Facts {
            probe: "gap",
            named: named.map(set),
            isolated: &isolated,
            usable: &all,
            reach: &reach,
            own: &reach,
            kept_free: &set("3"),
        };
        let beyond = || vec![LeftOut { cpus: set("4"), why: "offline".into() }];
        let Placed { cpus, housekeeping, left_out } = facts.place(|_| set(default), beyond)?;
        let left_out = left_out.iter().map(|left| format!("{}: {}", left.cpus, left.why)).collect();
        Ok((cpus.to_string(), housekeeping.map(|cpus| cpus.to_string()), left_out))
    }

    #[test]
    fn named_cpus_come_before_isolated_ones_and_these_before_the_probes_own() {
        let offline = || "4: offline".to_owned();
        let (cpus, rest, left) = placed(Some("1"), "2", "0-3").unwrap();
        assert_eq!(
            (cpus.as_str(), rest.as_deref(), left),
            ("1", Some("0,3"), vec![]),
            "who names CPUs leaves none out"
        );
        let (cpus, rest, left) = placed(None, "2", "0-3").unwrap();
        assert_eq!((cpus.as_str(), rest.as_deref()), ("2", Some("0,1,3")));
        assert_eq!(left, [offline(), "0,1,3: not isolated, as 2 is".to_owned()]);
        let (cpus, rest, left) = placed(None, "", "1-3").unwrap();
        assert_eq!((cpus.as_str(), rest.as_deref()), ("1-3", Some("0")));
        assert_eq!(left, [offline(), "0: left for everything else by `gap`".to_owned()]);
        let (_, rest, left) = placed(None, "", "0-3").unwrap();
        assert_eq!((rest, left), (None, vec![offline()]), "all are measured");
    }

    #[test]
    fn the_only_cpu_is_not_taken_unasked() {
        let error = placed(None, "", "").unwrap_err().to_string();
        assert!(error.contains("`gap` would occupy the only CPU (0-3)") && error.contains("-c"), "{error}");
    }

    #[test]
    fn what_is_to_be_isolated_must_be_there() {
        assert!(available(&set("1"), &set("0-1")).is_ok());
        let error = available(&set("1,7"), &set("0-1")).unwrap_err().to_string();
        assert_eq!(error, "CPU 7 is not online and cannot be isolated: the online CPUs are 0,1");
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(28), failure_persistence: None, ..ProptestConfig::default() })]

        /// No CPU may be both measured and left for the rest, no measured CPU may be left out, and only measured threads may use isolated
        /// CPUs.
        #[test]
        fn every_cpu_has_one_use(
            named in prop::option::of(prop::collection::btree_set(0u32..6, 1..4)),
            isolated in prop::collection::btree_set(0u32..6, 0..3),
            default in prop::collection::btree_set(0u32..6, 1..6),
        ) {
            let (isolated, all) = (CpuSet(isolated), set("0-5"));
            let named = named.map(CpuSet);
            let facts = Facts {
                probe: "gap", named: named.clone(), isolated: &isolated, usable: &all, reach: &all, own: &all,
                kept_free: &CpuSet::default(),
            };
            let Placed { cpus, housekeeping, left_out } = facts.place(|_| CpuSet(default), Vec::new).unwrap();
            let rest = housekeeping.unwrap_or_default();
            prop_assert_eq!(rest.without(&cpus), rest.clone());
            prop_assert_eq!(rest.without(&isolated), rest);
            let out: CpuSet = left_out.iter().flat_map(|left| left.cpus.iter()).collect();
            prop_assert_eq!(out.without(&cpus), out.clone());
            prop_assert_eq!(out.is_empty(), named.is_some() || cpus == all);
        }
    }
}
