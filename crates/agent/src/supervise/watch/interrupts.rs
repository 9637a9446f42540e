//! The interrupts of the measured CPUs, from /proc/interrupts (proc_interrupts(5)).

use crate::machine::Root;
use latido_model::{cpus::CpuSet, record::Interrupt};
use std::collections::BTreeMap;

/// Counts since boot, by line: the description that the kernel prints after them, and their sum over the CPUs.
pub type Counts = BTreeMap<String, (String, u64)>;

/// Returns the interrupts so far on these CPUs; `None` if they cannot be read.
pub fn counts(root: &Root, cpus: &CpuSet) -> Option<Counts> {
    parse(&root.read("proc/interrupts")?, cpus)
}

/// Returns the interrupts between two looks, the most frequent first.
pub fn between(before: &Counts, after: &Counts) -> Vec<Interrupt> {
    let grown = |(line, (action, count)): (&String, &(String, u64))| {
        // A line may have been freed and taken again: its count begins anew.
        let count = count.saturating_sub(before.get(line).map_or(0, |(_, before)| *before));
        (count > 0).then(|| Interrupt { line: line.clone(), action: action.clone(), count })
    };
    let mut found: Vec<Interrupt> = after.iter().filter_map(grown).collect();
    found.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.line.cmp(&b.line)));
    found
}

/// Parses the text. The first line names the online CPUs. Each other line has a name, a count for each of these CPUs, and a description.
/// Lines with one count for the whole machine (`ERR`, `MIS`) belong to no CPU.
fn parse(text: &str, cpus: &CpuSet) -> Option<Counts> {
    let mut lines = text.lines();
    let head: Vec<u32> =
        lines.next()?.split_whitespace().map_while(|word| word.strip_prefix("CPU")?.parse().ok()).collect();
    if head.is_empty() {
        return None;
    }
    let of_line = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        let mut words = rest.split_whitespace();
        let counts: Vec<u64> = words.by_ref().take(head.len()).map_while(|word| word.parse().ok()).collect();
        if counts.len() < head.len() {
            return None;
        }
        let sum = head.iter().zip(counts).filter(|(cpu, _)| cpus.contains(**cpu)).map(|(_, count)| count).sum();
        Some((name.trim().to_string(), (words.collect::<Vec<_>>().join(" "), sum)))
    };
    Some(lines.filter_map(of_line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a board of four Cortex-A53 prints it.
    const BEFORE: &str = "           CPU0       CPU1       CPU2       CPU3       \n \
        11:        754        603        609        568     GICv3  27 Level     arm_timer\n \
        13:          0          0          0          0     GICv3  33 Level     uart-pl011\n\
        IPI0:        21         26         20         30       Rescheduling interrupts\n\
        Err:          0\n";

    #[test]
    fn the_measured_cpus_are_summed_and_what_came_between_is_told() {
        let cpus = "1,3".parse().unwrap();
        let before = parse(BEFORE, &cpus).unwrap();
        assert_eq!(before["11"], ("GICv3 27 Level arm_timer".into(), 603 + 568));
        assert_eq!(before["IPI0"].1, 56);
        assert!(!before.contains_key("Err"), "it belongs to no CPU");
        let after = BEFORE.replace("603", "613").replace(" 26 ", " 99 ").replace("609", "999");
        let came = between(&before, &parse(&after, &cpus).unwrap());
        let told: Vec<(&str, u64)> = came.iter().map(|i| (i.line.as_str(), i.count)).collect();
        assert_eq!(told, [("IPI0", 73), ("11", 10)]);
        assert!(came[1].of_device() && !came[0].of_device());
    }

    #[test]
    fn what_is_no_table_gives_nothing() {
        for text in ["", "junk\n", "1: 2 3\n"] {
            assert_eq!(parse(text, &"0".parse().unwrap()), None, "{text:?}");
        }
        assert_eq!(parse("CPU0\n 1: x\n2\n:\n", &"0".parse().unwrap()), Some(Counts::new()));
    }
}
