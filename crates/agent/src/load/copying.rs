//! `copying`: a process that copies zeros to nowhere.

use crate::loading::{Launch, Load, Surroundings};
use anyhow::Result;
use latido_model::registry::{self, Def};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "copying",
    about: "a process that copies zeros to nowhere (dd)",
    help: "One dd(1), from /dev/zero to /dev/null.\n\nOptions:\n  block   bytes of one read and one write; default 1M",
    main_option: Some("block"),
    new: |table| Ok(Box::new(registry::with_defaults(table, Copying { block: "1M".into() })?)),
};

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Copying {
    block: String,
}

impl Load for Copying {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn launch(&self, _around: &Surroundings) -> Result<Option<Launch>> {
        let block = format!("bs={}", self.block);
        Ok(Some(Launch::of(["dd", "if=/dev/zero", "of=/dev/null", &block].map(String::from).to_vec())))
    }
}
