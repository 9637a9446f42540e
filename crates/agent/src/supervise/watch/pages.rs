//! Pages of memory on the move: who touches one meanwhile has a page fault, although it is locked.

use crate::machine::Root;

/// How many pages the kernel has moved since it started, for whatever reason (/proc/vmstat, CONFIG_MIGRATION).
pub fn moved(root: &Root) -> Option<u64> {
    let text = root.read("proc/vmstat")?;
    text.lines().find_map(|line| line.strip_prefix("pgmigrate_success "))?.trim().parse().ok()
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
        assert_eq!(moved(&tree.root), Some(92_312));
    }
}
