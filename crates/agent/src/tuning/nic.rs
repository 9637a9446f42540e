//! `nic`: interrupts and receive threads of a network device.

use crate::{
    machine::Root,
    setting::{
        Tuning, Wanted,
        knob::{self, OffOn},
    },
    step::{Form, Step, ethtool},
};
use anyhow::{Result, bail, ensure};
use latido_model::registry::{self, Def, Objection};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "nic",
    about: "a network device: interrupt coalescing off (ethtool), receiving in threads",
    help: "\
A device gathers packets before it interrupts, and so trades latency for bandwidth. Threaded receiving (NAPI) turns
unbounded softirq work into kernel threads, which can be kept off a CPU or below a priority.

Options:
  device    for example eth0; required
  coalesce  `off` (default): no delay, no adapting, an interrupt for each packet, by the program ethtool; or `as-is`
  threaded  `on`, `off` or `as-is` (default)

Kernel documents: Documentation/networking/napi.rst, threaded NAPI; ethtool(8), --coalesce",
    main_option: Some("device"),
    new: |table| {
        let read = registry::options::<Nic>(table)?;
        // The name becomes part of a path and an argument of a program.
        let odd = |c: char| c.is_whitespace() || matches!(c, '/' | '\0');
        if read.device.is_empty() || read.device.starts_with(['-', '.']) || read.device.contains(odd) {
            return Err(Objection::Value(format!("`device` is the name of a device, not `{}`", read.device)).into());
        }
        Ok(Box::new(read))
    },
};

/// The parameters that delay an interrupt, and their values without delay: one packet, no time (include/uapi/linux/ethtool.h, struct
/// ethtool_coalesce). The adaptive ones come first, since they would change the others. The packets come before the time: with neither
/// there would be no interrupt.
const COALESCE: &[(&str, &str)] = &[
    ("adaptive-rx", "off"),
    ("adaptive-tx", "off"),
    ("rx-frames", "1"),
    ("tx-frames", "1"),
    ("rx-usecs", "0"),
    ("tx-usecs", "0"),
];

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nic {
    device: String,
    #[serde(default)]
    coalesce: Coalesce,
    #[serde(default)]
    threaded: Threaded,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Coalesce {
    #[default]
    Off,
    AsIs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Threaded {
    Off,
    On,
    #[default]
    AsIs,
}

impl Tuning for Nic {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        let device = &self.device;
        if !root.exists(&format!("sys/class/net/{device}")) {
            bail!("there is no network device `{device}`; there are {}", root.list("sys/class/net").join(", "));
        }
        let mut steps = Vec::new();
        if self.coalesce == Coalesce::Off {
            steps.extend(coalescing(root, device)?);
        }
        let threaded = match self.threaded {
            Threaded::On => Some(OffOn::On),
            Threaded::Off => Some(OffOn::Off),
            Threaded::AsIs => None,
        };
        if let Some(threaded) = threaded {
            let path = format!("/sys/class/net/{device}/threaded");
            steps.push(knob::step(root, &path, threaded.digit(), Form::Plain, "kernels before 5.12 have none")?);
        }
        Ok(knob::wanted(steps))
    }
}

fn coalescing(root: &Root, device: &str) -> Result<Vec<Option<Step>>> {
    let mut steps = Vec::new();
    let mut known = false;
    for (key, off) in COALESCE {
        // A device has only some of them.
        let original = ethtool::get(root, device, key)?;
        if original == "n/a" {
            continue;
        }
        known = true;
        // Zero packets: the device does not count them, only the time decides.
        let is_off = original == *off || key.ends_with("-frames") && original == "0";
        let (device, key) = (device.to_string(), (*key).to_string());
        steps.push((!is_off).then(|| Step::Coalesce { device, key, original, new: (*off).into() }));
    }
    ensure!(known, "{device} does not coalesce interrupts, or does not report it: use coalesce=as-is");
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use crate::{
        fixture::{
            trees::{self, by_hand},
            trial::{Proof, applied, refusal},
        },
        journal::Journal,
    };

    const THREADED: &str = "sys/class/net/eth0/threaded";

    /// The output of ethtool -c for an e1000e, with its delay.
    #[test]
    fn it_is_applied_and_undone() {
        let before = std::fs::read_to_string(trees::cgroup_v2().root.path("ethtool/eth0")).unwrap();
        let after = before.replace("\nrx-usecs: 3\n", "\nrx-usecs: 0\n");
        assert_ne!(before, after);
        let proof = Proof {
            name: "nic",
            options: "device = 'eth0'\nthreaded = 'on'",
            machine: &trees::cgroup_v2,
            after: &[("ethtool/eth0", &after), (THREADED, "1\n")],
            other: (THREADED, "2\n"),
            without: &[(THREADED, "5.12"), ("ethtool/eth0", "ethtool -c eth0 failed"), ("sys/class/net", "no network")],
        };
        proof.holds();
    }

    /// Written by hand, since no emulated device adapts: the output of `ethtool -c` of version 6.
    #[test]
    fn adapting_ends_before_the_delay() {
        let before = "Coalesce parameters for eth0:\nAdaptive RX: on  TX: off\n\nrx-usecs:\t3\ntx-usecs:\tn/a\n";
        let after = "Coalesce parameters for eth0:\nAdaptive RX: off  TX: off\n\nrx-usecs:\t0\ntx-usecs:\tn/a\n";
        let files = [("ethtool/eth0", before), (THREADED, "0\n")];
        let proof = Proof {
            name: "nic",
            options: "device = 'eth0'\nthreaded = 'on'",
            machine: &|| by_hand(&files),
            after: &[("ethtool/eth0", after), (THREADED, "1\n")],
            other: (THREADED, "2\n"),
            without: &[],
        };
        proof.holds();
        let (_dir, mut journal) = Journal::scratch();
        let record = applied(proof.name, proof.options, &by_hand(&files).root, &mut journal).unwrap();
        let order: Vec<&str> = record.changes.iter().map(|change| change.knob.as_str()).collect();
        assert_eq!(order, ["eth0 adaptive-rx", "eth0 rx-usecs", "/sys/class/net/eth0/threaded"]);
    }

    /// A virtual device does not coalesce interrupts.
    #[test]
    fn what_is_so_already_is_left_alone() {
        let (_dir, mut journal) = Journal::scratch();
        let record = applied("nic", "device = 'eth0'", &trees::server().root, &mut journal).unwrap();
        assert!(record.changes.is_empty() && record.note.unwrap().contains("already"));
    }

    #[test]
    fn a_name_is_a_name() {
        for name in ["", "../../x", "-C", "a b"] {
            let table = toml::Table::from_iter([("device".to_string(), name.into())]);
            assert!((super::DEF.new)(table).is_err(), "{name}");
        }
        let error = refusal("nic", "device = 'eth1'", &trees::cgroup_v2());
        assert!(error.contains("no network device `eth1`; there are ") && error.contains("eth0"), "{error}");
        let error = refusal("nic", "device = 'eth0'", &trees::cgroup_v1());
        assert!(error.contains("there are lo"), "{error}");
    }
}
