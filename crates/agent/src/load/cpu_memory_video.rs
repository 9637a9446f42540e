//! `cpu-memory-video`: a substitute for the load of the scheduling-latency study, a benchmark and a 1080p film at once.

use super::{stress_ng, video};
use crate::loading::{Load, Parts, Surroundings};
use crate::program;
use anyhow::Result;
use latido_model::{
    cell::Item,
    record::Skip,
    registry::{self, Def},
};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "cpu-memory-video",
    about: "a benchmark together with a film: matrices on every CPU, memory traffic, 1080p decoded in software",
    help: "\
A preset: several loads at once, each with its own entry in the record, its version and exact command. It stands in for
Geekbench together with a 1080p film (scheduling-latency study, 2019), and is made of what is installed:
  stress-ng   --matrix, one worker per CPU (those to be isolated count too), and --vm 1 --vm-bytes 256M; without stress-ng the built-in `spin`
  video       1080p at its own speed, by ffmpeg; left out without ffmpeg, and the record says so

Options: none.",
    main_option: None,
    new: |table| Ok(Box::new(registry::options::<CpuMemoryVideo>(table)?)),
};

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CpuMemoryVideo {}

impl Load for CpuMemoryVideo {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn parts(&self, around: &Surroundings) -> Option<Parts> {
        let workers = i64::try_from(around.counted.len()).unwrap_or(1).max(1);
        Some(parts(workers, !program::is_missing(stress_ng::PROGRAM), !program::is_missing(video::PROGRAM)))
    }

    fn launch(&self, _around: &Surroundings) -> Result<Option<crate::loading::Launch>> {
        Ok(None)
    }
}

fn parts(workers: i64, stress_ng: bool, ffmpeg: bool) -> Parts {
    let mut parts = Parts::default();
    let mut skip = |what: &str, why: &str| {
        parts.skipped.push(Skip { what: format!("cpu-memory-video: {what}"), why: why.into() });
    };
    let mut items = Vec::new();
    if stress_ng {
        items.push(("stress-ng", toml::toml! { matrix = workers vm = 1 vm-bytes = "256M" }));
    } else {
        skip("stress-ng", "it is not installed: the built-in `spin` stands in (apt-get install stress-ng)");
        items.push(("spin", toml::toml! { cpu = workers memory = 1 size = 256 fork = false }));
    }
    if ffmpeg {
        items.push(("video", toml::Table::new()));
    } else {
        skip("video", "ffmpeg is not installed (apt-get install ffmpeg): no film was decoded");
    }
    parts.items = items.into_iter().map(|(name, options)| Item { name: name.into(), options }).collect();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::LOADS;

    /// Whatever is installed, each part is a load that exists and accepts its options, and latido reports what is missing.
    #[test]
    fn every_part_is_a_load() {
        for (stress_ng, ffmpeg) in [(true, true), (true, false), (false, true), (false, false)] {
            let parts = parts(4, stress_ng, ffmpeg);
            assert_eq!(parts.items.len(), 1 + usize::from(ffmpeg));
            assert_eq!(parts.skipped.len(), usize::from(!stress_ng) + usize::from(!ffmpeg));
            for item in &parts.items {
                registry::build("load", LOADS, item).unwrap();
            }
        }
    }
}
