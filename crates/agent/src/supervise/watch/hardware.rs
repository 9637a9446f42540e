//! Facts that only the hardware provides: system management interrupts, frequencies, the temperature.
//!
//! Reading a CPU's own counters interrupts that CPU. So latido reads those of the measured CPUs only before and after the loops. Meanwhile
//! it reads another CPU that represents all of them, since a management interrupt stops every CPU of a machine.

use super::PerCpu;
use crate::machine::{Root, heat};
use latido_model::{cpus::CpuSet, record::Evidence};
use std::{collections::BTreeMap, fs::File, os::unix::fs::FileExt};

/// The hardware as it was before the loops.
#[derive(Debug)]
pub struct Hardware {
    root: Root,
    thermal: Root,
    measured: CpuSet,
    smi: PerCpu,
    frequency: Option<(u64, u64)>,
    temperature: Option<i64>,
    /// The counter of a CPU that is not measured, and its last value.
    witness: Option<(File, u64)>,
}

impl Hardware {
    /// Reads it. `housekeeping` are the CPUs that latido may read while others are measured.
    pub fn before(root: Root, thermal: Root, measured: &CpuSet, housekeeping: Option<&CpuSet>) -> Self {
        let smi = smi(&root, measured);
        // If the measured CPUs have no counter, that of a single other CPU proves nothing.
        let witness = housekeeping.filter(|_| !smi.is_empty()).and_then(|cpus| {
            let file = msr(&root, cpus.iter().next()?)?;
            let now = smi_count(&file)?;
            Some((file, now))
        });
        let mut hardware =
            Self { root, thermal, measured: measured.clone(), smi, frequency: None, temperature: None, witness };
        hardware.widen();
        hardware
    }

    /// Returns the management interrupts since the last call, by a CPU that is not measured; 0 if no CPU has a counter.
    pub fn meanwhile(&mut self) -> u64 {
        let Some((file, before)) = &mut self.witness else { return 0 };
        let Some(now) = smi_count(file) else { return 0 };
        now.wrapping_sub(std::mem::replace(before, now)) & SMI_BITS
    }

    /// Reads it again when the loops are over.
    pub fn after(mut self, evidence: &mut Evidence) {
        let after = smi(&self.root, &self.measured);
        let grown = |(cpu, before): (&u32, &u64)| Some(after.get(cpu)?.wrapping_sub(*before) & SMI_BITS);
        evidence.smi = (!after.is_empty() && !self.smi.is_empty()).then(|| self.smi.iter().filter_map(grown).sum());
        self.widen();
        evidence.frequency_khz = self.frequency;
        evidence.temperature_mc = self.temperature.map(|highest| (highest, heat::critical(&self.thermal)));
    }

    /// Extends the ranges of the frequencies and the temperature by their present values.
    fn widen(&mut self) {
        for cpu in self.measured.iter() {
            let path = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
            if let Some(khz) = self.root.value::<u64>(&path) {
                let (low, high) = self.frequency.unwrap_or((khz, khz));
                self.frequency = Some((low.min(khz), high.max(khz)));
            }
        }
        self.temperature = self.temperature.max(heat::hottest(&self.thermal));
    }
}

/// MSR_SMI_COUNT (Intel SDM volume 4). CPUs of other makers fault on it: then latido does not measure it.
const SMI_COUNT: u64 = 0x34;
/// Its bits that count.
const SMI_BITS: u64 = 0xffff_ffff;

fn msr(root: &Root, cpu: u32) -> Option<File> {
    root.open(&format!("dev/cpu/{cpu}/msr")).ok()
}

fn smi_count(file: &File) -> Option<u64> {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, SMI_COUNT).ok()?;
    Some(u64::from_ne_bytes(bytes) & SMI_BITS)
}

/// Returns the counts of each CPU since boot; empty unless every CPU has one.
fn smi(root: &Root, cpus: &CpuSet) -> PerCpu {
    let count = |cpu| Some((cpu, smi_count(&msr(root, cpu)?)?));
    cpus.iter().map(count).collect::<Option<BTreeMap<_, _>>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::machine as fixture;

    fn set(tree: &fixture::FakeMachine, cpu: u32, smi: u32, khz: u32) {
        let mut bytes = vec![0u8; 0x34];
        bytes.extend(u64::from(smi).to_ne_bytes());
        // The text may contain any bytes below 128, and these bytes are.
        tree.write(&format!("dev/cpu/{cpu}/msr"), std::str::from_utf8(&bytes).unwrap());
        tree.write(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"), &format!("{khz}\n"));
    }

    /// The counts of the measured CPUs must cover the time from before to after, without any reading in between. Meanwhile another CPU's
    /// count is used.
    #[test]
    fn measured_cpus_are_asked_before_and_after_and_another_one_meanwhile() {
        let tree = fixture::empty();
        let (measured, rest): (CpuSet, CpuSet) = ("1-2".parse().unwrap(), "0".parse().unwrap());
        let look = |rest: Option<&CpuSet>| Hardware::before(tree.root.clone(), tree.root.clone(), &measured, rest);
        (0..3).for_each(|cpu| set(&tree, cpu, 10, 1_000_000));
        let (mut hardware, mut blind) = (look(Some(&rest)), look(None));
        // The files are gone meanwhile, so latido cannot have read them.
        for cpu in 1..3 {
            for path in
                [format!("dev/cpu/{cpu}/msr"), format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq")]
            {
                std::fs::remove_file(tree.root.path(&path)).unwrap();
            }
        }
        assert_eq!(hardware.meanwhile(), 0);
        set(&tree, 0, 12, 3_000_000);
        assert_eq!((hardware.meanwhile(), hardware.meanwhile(), blind.meanwhile()), (2, 0, 0));
        set(&tree, 1, 12, 2_000_000);
        set(&tree, 2, 13, 1_500_000);
        let mut evidence = Evidence::default();
        hardware.after(&mut evidence);
        assert_eq!((evidence.smi, evidence.frequency_khz), (Some(5), Some((1_000_000, 2_000_000))));
    }

    #[test]
    fn what_does_not_tell_is_unknown() {
        let tree = fixture::empty();
        set(&tree, 0, 3, 900_000);
        let both: CpuSet = "0-1".parse().unwrap();
        let mut hardware = Hardware::before(tree.root.clone(), tree.root.clone(), &both, Some(&"0".parse().unwrap()));
        set(&tree, 0, 9, 900_000);
        assert_eq!(hardware.meanwhile(), 0, "CPU 0 alone proves nothing");
        let mut evidence = Evidence::default();
        hardware.after(&mut evidence);
        assert_eq!((evidence.smi, evidence.temperature_mc), (None, None));
    }
}
