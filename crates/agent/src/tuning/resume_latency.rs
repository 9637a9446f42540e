//! `resume-latency`: how long single CPUs may take to leave an idle state.

use crate::{
    machine::Root,
    setting::{Tuning, Wanted, knob},
    step::Form,
};
use anyhow::Result;
use latido_model::{
    cpus::CpuSet,
    registry::{self, Def, Objection},
    units::Ns,
};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "resume-latency",
    about: "bound the exit latency of idle states on single CPUs (pm_qos_resume_latency_us)",
    help: "\
As `cstates`, for the given CPUs alone: the others may sleep deeply and leave the power and thermal budget to these.
It lasts without a process that holds it. A run also holds all CPUs awake, unless you give --tune cstates:as-is.

Options:
  latency   whole microseconds with unit; default 0us: the CPU polls and does not sleep at all
  cpus      default all that are online

Kernel document: Documentation/admin-guide/pm/cpuidle.rst, power management quality of service",
    main_option: Some("latency"),
    new: |table| {
        let read = registry::options::<ResumeLatency>(table)?;
        if read.latency.0 % 1000 != 0 || read.latency.0 / 1000 > i32::MAX as u64 {
            let given = read.latency;
            return Err(Objection::Value(format!("`latency` is whole microseconds, not {given}")).into());
        }
        Ok(Box::new(read))
    },
};

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ResumeLatency {
    latency: Ns,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpus: Option<CpuSet>,
}

impl Default for ResumeLatency {
    fn default() -> Self {
        Self { latency: Ns(0), cpus: None }
    }
}

impl Tuning for ResumeLatency {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        const ABSENT: &str =
            "the kernel has no such CPU or was built without CONFIG_PM and CONFIG_CPU_IDLE: use cstates";
        // 0 means no bound in that file. "n/a" means no latency at all.
        let value = match self.latency.0 / 1000 {
            0 => "n/a".to_string(),
            us => us.to_string(),
        };
        let cpus = self.cpus.clone().map_or_else(|| knob::online(root), Ok)?;
        let steps = cpus.iter().map(|cpu| {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us");
            knob::step(root, &path, &value, Form::Plain, ABSENT)
        });
        Ok(knob::wanted(steps.collect::<Result<Vec<_>>>()?))
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{trees, trial::Proof};

    #[test]
    fn it_is_applied_and_undone() {
        let proof = Proof {
            name: "resume-latency",
            options: "cpus = '2-3'",
            machine: &trees::arm,
            after: &[
                ("sys/devices/system/cpu/cpu2/power/pm_qos_resume_latency_us", "n/a\n"),
                ("sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us", "n/a\n"),
            ],
            other: ("sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us", "50\n"),
            without: &[("sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us", "CONFIG_CPU_IDLE")],
        };
        proof.holds();
    }

    #[test]
    fn part_of_a_microsecond_is_refused() {
        let error = (super::DEF.new)("latency = '500ns'".parse().unwrap()).err().unwrap();
        assert!(error.to_string().contains("whole microseconds"), "{error}");
    }
}
