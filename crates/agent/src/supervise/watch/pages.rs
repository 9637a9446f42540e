//! Pages that the kernel moves. A thread that touches a page during the move has a page fault, although the page is locked.

use crate::machine::Root;

/// Returns how many pages the kernel has moved, or has tried to move, since it started (/proc/vmstat, CONFIG_MIGRATION). The page is also
/// unmapped during a failed attempt.
pub fn moved(root: &Root) -> Option<u64> {
    let text = root.read("proc/vmstat")?;
    let count = |name: &str| text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse::<u64>().ok();
    Some(count("pgmigrate_success ")?.saturating_add(count("pgmigrate_fail ").unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::machine::empty;

    #[test]
    fn a_kernel_that_moves_none_counts_none() {
        let tree = empty();
        assert_eq!(moved(&tree.root), None);
        tree.write("proc/vmstat", "pgmigrate_fail 3\n");
        assert_eq!(moved(&tree.root), None);
        tree.write("proc/vmstat", "nr_free_pages 1\npgmigrate_success 92312\npgmigrate_fail 3\n");
        assert_eq!(moved(&tree.root), Some(92_315));
        tree.write("proc/vmstat", "pgmigrate_success 92312\n");
        assert_eq!(moved(&tree.root), Some(92_312));
    }
}
