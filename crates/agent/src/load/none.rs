//! `none`: a load that does nothing, so that an idle machine is a level like any other.

use crate::loading::{Launch, Load, Surroundings};
use anyhow::Result;
use latido_model::{
    registry::{self, Def},
    units::Ns,
};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "none",
    about: "no load: the machine as it is",
    help: "Starts nothing. It is the baseline for comparisons.\n\nOptions: none.",
    main_option: None,
    new: |table| Ok(Box::new(registry::options::<NoLoad>(table)?)),
};

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoLoad {}

impl Load for NoLoad {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn launch(&self, _around: &Surroundings) -> Result<Option<Launch>> {
        Ok(None)
    }

    fn settle(&self) -> Ns {
        Ns(0)
    }
}
