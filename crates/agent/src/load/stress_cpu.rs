//! `stress-cpu`: processor, memory and process creation, by stress-ng where installed, else built in.

use super::{spin::SpinLoad, stress_ng};
use crate::loading::{Launch, Load, Surroundings};
use anyhow::Result;
use latido_model::registry::{self, Def};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "stress-cpu",
    about: "processor, memory and forks: by stress-ng where installed, else the built-in `spin`",
    help: "\
A general load for a first look: one computing worker per CPU, one worker that writes and reads 64 MiB, one
that creates processes. It is stress-ng where that is installed, otherwise the built-in `spin`; the record names it.
The two are not the same load: do not compare results across them.

Options:
  workers   computing workers; default one per CPU",
    main_option: Some("workers"),
    new: |table| Ok(Box::new(registry::options::<StressCpu>(table)?)),
};

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct StressCpu {
    #[serde(skip_serializing_if = "Option::is_none")]
    workers: Option<u16>,
}

impl Load for StressCpu {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn launch(&self, around: &Surroundings) -> Result<Option<Launch>> {
        let workers = self.workers.map_or(around.counted.len(), usize::from).max(1);
        let table = |pairs: &[(&str, toml::Value)]| -> toml::Table {
            pairs.iter().map(|(key, value)| ((*key).to_string(), value.clone())).collect()
        };
        let count = toml::Value::Integer(i64::try_from(workers).unwrap_or(1));
        if let Some(there) = stress_ng::version()? {
            let one = toml::Value::Integer(1);
            let bytes = toml::Value::String("64M".into());
            let options = table(&[("cpu", count), ("vm", one.clone()), ("vm-bytes", bytes), ("fork", one)]);
            return Ok(Some(stress_ng::launch(&options, around.seed, there)));
        }
        let spin: SpinLoad = registry::options(table(&[("cpu", count)]))?;
        let launch = spin.launch(around)?;
        Ok(launch.map(|launch| Launch {
            note: Some("stress-ng is not installed: the built-in `spin` stands in (apt-get install stress-ng)".into()),
            ..launch
        }))
    }
}
