//! The preemption model in force, and the source that shows it.

use super::Root;
use latido_model::machine::{KernelConfig, Model, Preemption};

/// The source that only shows what was requested from the kernel.
pub const BOOT_PARAMETER: &str = "the boot parameter preempt=";

/// Checks in this order: the marks of PREEMPT_RT, the setting in force (debugfs), the boot parameter of a dynamic kernel, the kernel
/// configuration, the version string (`#1 SMP PREEMPT_DYNAMIC ...`, see init/Makefile).
pub fn preemption(
    root: &Root,
    version: Option<&str>,
    command_line: Option<&str>,
    config: Option<&KernelConfig>,
) -> Option<Preemption> {
    let version = version.unwrap_or_default();
    let on = |option: &str| config.and_then(|c| c.is_on(option)).unwrap_or(false);
    let dynamic = version.contains("PREEMPT_DYNAMIC") || on("PREEMPT_DYNAMIC");
    let found = |model, source: &str| Some(Preemption { model, dynamic, source: source.into() });
    // The patch set before the merge wrote a space: "PREEMPT RT".
    if version.contains("PREEMPT_RT") || version.contains("PREEMPT RT") {
        return found(Model::Rt, "the version string");
    }
    if root.flag("sys/kernel/realtime") == Some(true) {
        return found(Model::Rt, "/sys/kernel/realtime");
    }
    if let Some(model) = root.choice("sys/kernel/debug/sched/preempt").as_deref().and_then(by_name) {
        return found(model, "/sys/kernel/debug/sched/preempt");
    }
    if dynamic && let Some(model) = command_line.and_then(|line| parameter(line, "preempt")).and_then(by_name) {
        return found(model, BOOT_PARAMETER);
    }
    if let Some(config) = config {
        let models = [
            ("PREEMPT_RT", Model::Rt),
            ("PREEMPT_RT_FULL", Model::Rt),
            ("PREEMPT_LAZY", Model::Lazy),
            ("PREEMPT_VOLUNTARY", Model::Voluntary),
            ("PREEMPT_NONE", Model::None),
            ("PREEMPT", Model::Full),
        ];
        if let Some((option, model)) = models.into_iter().find(|(option, _)| on(option)) {
            return found(model, &format!("CONFIG_{option} in {}", config.source));
        }
    }
    match version {
        "" => None,
        _ if dynamic => found(Model::Dynamic, "the version string"),
        v if v.split_whitespace().any(|word| word == "PREEMPT") => found(Model::Full, "the version string"),
        _ => found(Model::NoneOrVoluntary, "the version string"),
    }
}

fn by_name(name: &str) -> Option<Model> {
    [Model::None, Model::Voluntary, Model::Full, Model::Lazy].into_iter().find(|model| model.to_string() == name)
}

/// Returns the value of a boot parameter. The last one counts, as in the kernel.
pub fn parameter<'a>(command_line: &'a str, name: &str) -> Option<&'a str> {
    let pairs =
        command_line.split_whitespace().take_while(|word| *word != "--").filter_map(|word| word.split_once('='));
    pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).last()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(version: &str, command_line: &str, config: &[&str]) -> Option<Model> {
        let dir = tempfile::tempdir().unwrap();
        let options = config.iter().map(|option| (option.to_string(), "y".to_string())).collect();
        let config = (!config.is_empty()).then_some(KernelConfig { options, ..KernelConfig::default() });
        let version = Some(version).filter(|v| !v.is_empty());
        preemption(&Root::new(dir.path()), version, Some(command_line), config.as_ref()).map(|p| p.model)
    }

    #[test]
    fn each_source_decides_in_its_turn() {
        assert_eq!(read("#1 SMP PREEMPT_RT Debian", "preempt=none", &[]), Some(Model::Rt));
        assert_eq!(read("#1 SMP PREEMPT RT Debian", "", &[]), Some(Model::Rt));
        assert_eq!(read("#1 SMP PREEMPT_DYNAMIC Debian", "preempt=none preempt=full", &[]), Some(Model::Full));
        assert_eq!(read("#1 SMP PREEMPT_DYNAMIC Debian", "", &["PREEMPT_VOLUNTARY"]), Some(Model::Voluntary));
        assert_eq!(read("#1 SMP PREEMPT_DYNAMIC Debian", "", &[]), Some(Model::Dynamic));
        // Only dynamic kernels obey the parameter.
        assert_eq!(read("#1 SMP PREEMPT Debian", "preempt=none", &[]), Some(Model::Full));
        assert_eq!(read("#1 SMP PREEMPT Debian", "", &["PREEMPT_LAZY"]), Some(Model::Lazy));
        assert_eq!(read("#1 SMP Debian", "", &[]), Some(Model::NoneOrVoluntary));
        assert_eq!(read("", "", &[]), None);
    }

    #[test]
    fn the_setting_in_force_beats_the_boot_parameter() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("sys/kernel/debug/sched")).unwrap();
        std::fs::write(dir.path().join("sys/kernel/debug/sched/preempt"), "none (voluntary) full\n").unwrap();
        let read = preemption(&Root::new(dir.path()), Some("PREEMPT_DYNAMIC"), Some("preempt=full"), None);
        assert_eq!(read.unwrap().model, Model::Voluntary);
    }

    #[test]
    fn parameters_after_the_double_dash_belong_to_init() {
        assert_eq!(parameter("a=1 b a=2 -- a=3", "a"), Some("2"));
        assert_eq!(parameter("quiet", "quiet"), None);
    }
}
