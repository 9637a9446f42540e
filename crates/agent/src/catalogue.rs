//! The probes, loads and tunings of this version, as plans and the command line ask for them.

use crate::{load::LOADS, probe::PROBES, tuning::TUNINGS};
use anyhow::Result;
use latido_model::{
    catalogue::{self, Catalogue, Entry, Kind},
    cell::{Cell, Item},
    quantity::Measurand,
    registry::{build, find},
};
use toml::Table;

/// The probes, loads and tunings of this version.
#[derive(Clone, Copy, Debug)]
pub struct Installed;

impl Catalogue for Installed {
    fn entries(&self, kind: Kind) -> Vec<Entry> {
        match kind {
            Kind::Probe => PROBES.iter().map(Entry::from).collect(),
            Kind::Load => LOADS.iter().map(Entry::from).collect(),
            Kind::Tuning => TUNINGS.iter().map(Entry::from).collect(),
        }
    }

    fn read(&self, kind: Kind, item: &Item) -> Result<Table> {
        let options = item.options.clone();
        Ok(match kind {
            Kind::Probe => (find("probe", PROBES, &item.name)?.new)(options)?.options(),
            Kind::Load => (find("load", LOADS, &item.name)?.new)(options)?.options(),
            Kind::Tuning => (find("tuning", TUNINGS, &item.name)?.new)(options)?.options(),
        })
    }

    fn measurand(&self, probe: &Item) -> Result<Measurand> {
        let built = (find("probe", PROBES, &probe.name)?.new)(probe.options.clone())?;
        let chosen = Some(catalogue::chosen(self, probe)?);
        Ok(Measurand { looks_on: built.looks_on(), chosen, ..built.measurand() })
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        build("probe", PROBES, &cell.probe)?.admit(cell)
    }
}
