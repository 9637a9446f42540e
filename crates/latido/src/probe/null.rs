//! `null`: a probe that needs no hardware, no permission and no time.

use super::Probe;
use crate::{
    agent::stage::Stage,
    registry::{self, Def},
};
use anyhow::Result;
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "null",
    about: "made-up samples: exercises everything but the machine",
    help: "",
    main_option: None,
    new: |table| Ok(Box::new(registry::options::<Null>(table)?)),
};

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Null {
    samples: u64,
}

impl Default for Null {
    fn default() -> Self {
        Self { samples: 1000 }
    }
}

impl Probe for Null {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn quantities(&self) -> &'static [&'static str] {
        &["latency"]
    }

    fn measure(&self, _stage: &mut Stage) -> Result<()> {
        Ok(())
    }
}
