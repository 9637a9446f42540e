//! The surroundings of the system: a hypervisor below it, a container around it.

use super::{Root, cpu::field};
use latido_model::machine::Layer;

/// Returns the maker and product, from the device tree or DMI.
pub fn board(root: &Root) -> Option<String> {
    root.read("proc/device-tree/model").filter(|model| !model.is_empty()).or_else(|| {
        let part = |name: &str| root.read(&format!("sys/class/dmi/id/{name}")).filter(|text| !text.is_empty());
        match (part("sys_vendor"), part("product_name")) {
            (Some(vendor), Some(product)) => Some(format!("{vendor} {product}")),
            (vendor, product) => vendor.or(product),
        }
    })
}

/// Names that hypervisors leave in DMI or in the device tree.
const PRODUCTS: &[(&str, &str)] = &[
    ("KVM", "KVM"),
    ("QEMU", "QEMU"),
    ("linux,dummy-virt", "QEMU"),
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("innotek", "VirtualBox"),
    ("Xen", "Xen"),
    ("Parallels", "Parallels"),
    ("BHYVE", "bhyve"),
    ("Amazon EC2", "Amazon EC2"),
    ("Google Compute Engine", "Google Compute Engine"),
    ("Apple Virtualization", "Apple Virtualization"),
    ("Microsoft Corporation Virtual Machine", "Hyper-V"),
];

/// Whether this is a virtual machine. The cpuid flag decides on x86, names decide elsewhere.
pub fn hypervisor(root: &Root, cpuinfo: Option<&str>, board: Option<&str>) -> Option<Layer> {
    let flags = cpuinfo.and_then(|text| field(text, "flags"));
    let flagged = flags.map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    if flagged == Some(false) {
        return Some(Layer::Absent);
    }
    let node =
        root.read("proc/device-tree/hypervisor/compatible").and_then(|c| c.split('\0').next().map(str::to_owned));
    let machine = root.read("proc/device-tree/compatible");
    let clocks = root.read("sys/devices/system/clocksource/clocksource0/available_clocksource").unwrap_or_default();
    let clock = [("kvm-clock", "KVM"), ("hyperv", "Hyper-V"), ("xen", "Xen")];
    let product = [board, machine.as_deref()].into_iter().flatten().find_map(|text| {
        PRODUCTS.iter().find(|(mark, _)| text.contains(mark) && !text.contains(".metal")).map(|(_, name)| *name)
    });
    let name = root
        .read("sys/hypervisor/type")
        .or(node)
        .or_else(|| clock.iter().find(|(mark, _)| clocks.contains(mark)).map(|(_, name)| (*name).into()))
        .or_else(|| product.map(str::to_owned))
        .or_else(|| Some(field(cpuinfo?, "Hypervisor vendor")?.to_owned()));
    match (name, flagged) {
        (Some(name), _) => Some(Layer::Present(name)),
        (None, Some(true)) => Some(Layer::Present("unnamed".into())),
        // A board with a name that is not a virtual one is real hardware.
        (None, _) => board.map(|_| Layer::Absent),
    }
}

/// Whether this process runs in a container: latido checks the marks of container managers, then the control group's name.
pub fn container(root: &Root) -> Option<Layer> {
    let present = |name: &str| Some(Layer::Present(name.into()));
    for marker in ["run/systemd/container", "run/host/container-manager"] {
        if let Some(name) = root.read(marker).filter(|name| !name.is_empty()) {
            return present(&name);
        }
    }
    for (marker, name) in [
        ("run/.containerenv", "podman"),
        ("run/secrets/kubernetes.io", "kubernetes"),
        ("var/run/secrets/kubernetes.io", "kubernetes"),
        (".dockerenv", "docker"),
    ] {
        if root.exists(marker) {
            return present(name);
        }
    }
    let groups = root.read("proc/self/cgroup")?;
    let marks = [
        ("kubepods", "kubernetes"),
        ("libpod", "podman"),
        ("/docker", "docker"),
        ("lxc", "lxc"),
        ("containerd", "containerd"),
        ("crio-", "cri-o"),
    ];
    // The host's daemons run in groups with such names too: docker.service, containerd.service.
    let contained = |mark: &str| groups.lines().any(|line| line.contains(mark) && !line.ends_with(".service"));
    let found = marks.into_iter().find(|(mark, _)| contained(mark));
    Some(found.map_or(Layer::Absent, |(_, name)| Layer::Present(name.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let root = Root::new(dir.path());
        (dir, root)
    }

    #[test]
    fn the_cpuid_flag_decides_on_x86() {
        let (_dir, root) = tree(&[]);
        let asked = |flags: &str| hypervisor(&root, Some(&format!("flags\t: {flags}\n")), Some("Amazon EC2 c5.metal"));
        assert_eq!(asked("fpu tsc"), Some(Layer::Absent));
        assert_eq!(asked("fpu hypervisor"), Some(Layer::Present("unnamed".into())));
        assert_eq!(
            hypervisor(&root, Some("flags : hypervisor"), Some("QEMU Standard PC")).unwrap().to_string(),
            "QEMU"
        );
    }

    #[test]
    fn a_board_is_bare_and_a_virtual_board_is_not() {
        let (_dir, root) = tree(&[]);
        assert_eq!(hypervisor(&root, Some("processor : 0"), Some("Raspberry Pi 3 Model B")), Some(Layer::Absent));
        assert_eq!(hypervisor(&root, None, None), None);
        let (_dir, root) = tree(&[("proc/device-tree/compatible", "linux,dummy-virt\0")]);
        assert_eq!(hypervisor(&root, None, Some("linux,dummy-virt")), Some(Layer::Present("QEMU".into())));
    }

    #[test]
    fn containers_are_known_by_their_marks() {
        for (file, text, name) in [
            (".dockerenv", "", Some("docker")),
            ("run/systemd/container", "systemd-nspawn\n", Some("systemd-nspawn")),
            ("proc/self/cgroup", "0::/kubepods/besteffort/pod1/x", Some("kubernetes")),
            ("proc/self/cgroup", "0::/system.slice/containerd.service", None),
            ("proc/self/cgroup", "0::/user.slice", None),
        ] {
            let (_dir, root) = tree(&[(file, text)]);
            let expected = name.map_or(Layer::Absent, |name| Layer::Present(name.into()));
            assert_eq!(container(&root), Some(expected), "{file}: {text}");
        }
        let (_dir, root) = tree(&[]);
        assert_eq!(container(&root), None);
    }
}
