//! A catalogue for tests: two items with every kind of option, in each of the three lists.

use super::{Catalogue, Entry, Kind, List};
use crate::{
    cell::{Cell, Item},
    quantity::{Measurand, Quantity},
    registry::{self, Def, find},
    units::Ns,
};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use toml::Table;

/// Returns the two items as a list.
pub fn trial() -> List<'static> {
    (&Trial as &dyn Catalogue).list(Kind::Load)
}

/// The catalogue of the two items.
#[derive(Clone, Copy, Debug)]
pub struct Trial;

/// What an entry of the list makes: its options after defaults.
trait Read {
    fn options(&self) -> Table;
}

const TRIALS: &[Def<dyn Read>] = &[
    Def {
        name: "trial",
        about: "for tests",
        help: "",
        main_option: Some("period"),
        new: |table| Ok(Box::new(registry::options::<Options>(table)?)),
    },
    Def {
        name: "command",
        about: "for tests",
        help: "",
        main_option: Some("argv"),
        new: |mut table| {
            table.insert("period".into(), "1ms".into());
            Ok(Box::new(registry::options::<Options>(table)?))
        },
    },
];

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    #[serde(default)]
    argv: Vec<String>,
    #[serde(default)]
    sleep: u32,
    #[serde(default)]
    cpus: String,
    period: Ns,
}

impl Read for Options {
    fn options(&self) -> Table {
        registry::resolved(self)
    }
}

impl Catalogue for Trial {
    fn entries(&self, _kind: Kind) -> Vec<Entry> {
        TRIALS.iter().map(Entry::from).collect()
    }

    fn read(&self, kind: Kind, item: &Item) -> Result<Table> {
        Ok((find(kind.word(), TRIALS, &item.name)?.new)(item.options.clone())?.options())
    }

    fn measurand(&self, probe: &Item) -> Result<Measurand> {
        self.read(Kind::Probe, probe)?;
        Ok(Measurand {
            title: "Trial".into(),
            quantities: vec![Quantity::time("latency", "Latency")],
            counts: vec!["sleep".into()],
            ..Measurand::default()
        })
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        self.read(Kind::Probe, &cell.probe).map(|_| ())
    }
}
