//! The rings: their size, the size of their pages, and the interrupts that their readers cause.

use super::Spec;
use crate::machine::{self, Reach, Root, own_cpus};
use latido_model::cpus::CpuSet;
use std::{fs, path::Path};

/// The most bytes of a ring that is read during the recording: half a second and more of the busiest CPU, at 30 bytes per event and a
/// million events per second.
const WHILE: u64 = 16 << 20;

/// The most bytes of a ring that is read when the recording is over: it must contain the whole recording.
const AFTERWARDS: u64 = 256 << 20;

/// The least bytes of a ring: a smaller one is useless.
const LEAST: u64 = 256 << 10;

/// The ring of a tracer that keeps one value, in bytes per CPU. The kernel allocates it twice.
const LITTLE: u64 = 1 << 18;

/// Returns the size of each CPU's ring, in bytes. All rings together take a sixteenth of the available memory, or a quarter where latido
/// reads them at the end.
pub fn room(available: u64, cpus: usize, while_written: bool) -> u64 {
    let (part, most) = if while_written { (16, WHILE) } else { (4, AFTERWARDS) };
    let share = available / part / cpus.max(1) as u64;
    share.clamp(LEAST, most) / 4096 * 4096
}

/// Returns the CPUs that read the rings during the recording, if any, and the size of each CPU's ring in bytes.
pub fn rings(spec: &Spec, cpus: &CpuSet) -> (Option<CpuSet>, u64) {
    let maxima = spec.wanted.tracer.as_ref().is_some_and(|tracer| tracer.maxima);
    // If every CPU must be left alone, no CPU reads the rings. A tracer of maxima swaps its rings, so latido does not read them meanwhile
    // either.
    let readers = machine::housekeeping(&spec.quiet, &own_cpus(), &Reach::ask().usable, &machine::kept_free())
        .filter(|_| !maxima);
    let ring = spec.ring.unwrap_or_else(|| room(available(), cpus.len(), readers.is_some()));
    (readers, if maxima { ring.min(LITTLE) } else { ring })
}

/// Returns the available memory, in bytes (proc_meminfo(5)).
pub fn available() -> u64 {
    let text = Root::default().read("proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0).saturating_mul(1024)
}

/// Returns the length of a ring's page in bytes. Kernels before 6.8 always use the size of a memory page.
pub fn sub_buffer(instance: &Path) -> u32 {
    let text = fs::read_to_string(instance.join("buffer_subbuf_size_kb")).unwrap_or_default();
    let stated = text.trim().parse::<u32>().ok().and_then(|kib| kib.checked_mul(1024)).filter(|bytes| *bytes > 0);
    stated.unwrap_or_else(|| u32::try_from(rustix::param::page_size()).unwrap_or(4096))
}

/// Formats CPUs as in `tracing_cpumask`: hexadecimal words of 32 bits, the highest first, separated by commas.
pub fn mask(cpus: &CpuSet) -> String {
    let highest = cpus.iter().max().unwrap_or(0);
    let mut words = vec![0u32; highest as usize / 32 + 1];
    for cpu in cpus.iter() {
        if let Some(word) = words.get_mut(cpu as usize / 32) {
            *word |= 1 << (cpu % 32);
        }
    }
    words.iter().rev().map(|word| format!("{word:08x}")).collect::<Vec<_>>().join(",")
}

/// Counts the irq-work interrupts of these CPUs since boot, where the machine counts them: `IWI` on x86, `IPI…: IRQ work interrupts` on
/// others.
pub fn irq_work(cpus: &CpuSet) -> Option<u64> {
    parse_irq_work(&Root::default().read("proc/interrupts")?, cpus)
}

fn parse_irq_work(text: &str, cpus: &CpuSet) -> Option<u64> {
    let mut lines = text.lines();
    let head: Vec<u32> =
        lines.next()?.split_whitespace().map_while(|word| word.strip_prefix("CPU")?.parse().ok()).collect();
    let line = lines.find(|line| line.trim_start().starts_with("IWI:") || line.contains("IRQ work interrupts"))?;
    let counts = line.split_once(':')?.1.split_whitespace().map_while(|word| word.parse::<u64>().ok());
    Some(head.iter().zip(counts).filter(|(cpu, _)| cpus.contains(**cpu)).map(|(_, count)| count).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_takes_a_share_of_the_free_memory_and_no_more() {
        assert_eq!(room(64 << 30, 2, true), WHILE);
        assert_eq!(room(64 << 30, 2, false), AFTERWARDS);
        assert_eq!(room(1 << 30, 64, true), 1 << 20, "a sixteenth of it for all");
        assert_eq!(room(0, 4096, true), LEAST);
    }

    #[test]
    fn masks_are_the_kernels() {
        let mask = |text: &str| mask(&text.parse().unwrap());
        assert_eq!(mask("0"), "00000001");
        assert_eq!(mask("1,31"), "80000002");
        assert_eq!(mask("0,32-33"), "00000003,00000001");
    }

    #[test]
    fn irq_work_is_counted_where_it_is_told() {
        let x86 = "            CPU0       CPU1       \n IWI:         88          2   IRQ work interrupts\n";
        let arm = "           CPU0       CPU1\n IPI5:       7        9       IRQ work interrupts\n";
        assert_eq!(parse_irq_work(x86, &"0".parse().unwrap()), Some(88));
        assert_eq!(parse_irq_work(arm, &"0-1".parse().unwrap()), Some(16));
        assert_eq!(parse_irq_work("   CPU0\n 1:  3 timer\n", &"0".parse().unwrap()), None);
    }
}
