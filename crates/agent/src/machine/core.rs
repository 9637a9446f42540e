//! The real-time core of the kernel, by the file that only a kernel with this core shows.

use super::Root;
use latido_model::machine::{Core, CoreKind};

/// Returns the real-time core, if the kernel has one.
pub fn core(root: &Root) -> Option<Core> {
    let kind = CoreKind::ALL.into_iter().find(|kind| root.exists(kind.file()))?;
    Some(Core { kind, version: root.read(kind.file()).filter(|text| !text.is_empty()) })
}

/// Returns how much earlier than requested the core sets a timer of a program, in ns. EVL writes `0i 3000k 3000u` (interrupt, kernel, user),
/// Cobalt the gravity of programs alone.
pub fn gravity_ns(root: &Root, kind: CoreKind) -> Option<u64> {
    match kind {
        CoreKind::Evl => {
            let text = root.read("/sys/devices/virtual/clock/monotonic/gravity")?;
            text.split_whitespace().find_map(|part| part.strip_suffix('u'))?.parse().ok()
        }
        CoreKind::Cobalt => root.read("/proc/xenomai/latency")?.trim().parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture::trees, machine::read};
    use latido_model::machine::Model;

    /// The recorded guests show their cores and versions, and a kernel without a core shows none.
    #[test]
    fn a_core_is_read_where_a_kernel_has_one() {
        let told = |tree: trees::Tree| core(&tree.root).map(|core| core.to_string());
        assert_eq!(told(trees::evl()).as_deref(), Some("EVL (ABI 36)"));
        assert_eq!(told(trees::cobalt()).as_deref(), Some("Cobalt 3.3.1"));
        assert_eq!(told(trees::by_hand(&[("sys/devices/virtual/net/lo/mtu", "65536\n")])), None);
        assert_eq!(told(trees::by_hand(&[("proc/xenomai/version", "\n")])).as_deref(), Some("Cobalt"));
    }

    #[test]
    fn gravity_is_that_of_programs() {
        assert_eq!(gravity_ns(&trees::evl().root, CoreKind::Evl), Some(3_000));
        assert_eq!(gravity_ns(&trees::cobalt().root, CoreKind::Cobalt), Some(2_000));
        let odd = trees::by_hand(&[("sys/devices/virtual/clock/monotonic/gravity", "0i\n")]);
        assert_eq!(gravity_ns(&odd.root, CoreKind::Evl), None);
    }

    /// Dovetail's kernels name their preemption model as others do, and their description of the machine has the core beside it.
    #[test]
    fn a_machine_has_its_core_beside_the_preemption_model() {
        for (tree, kind) in [(trees::evl(), CoreKind::Evl), (trees::cobalt(), CoreKind::Cobalt)] {
            let machine = read(&tree.root);
            assert_eq!(machine.core.as_ref().map(|core| core.kind), Some(kind));
            assert_eq!(machine.preemption.as_ref().map(|found| found.model), Some(Model::Full), "{kind:?}");
        }
    }
}
