//! Whether a guest has what its kernel's file claims: the preemption model and the real-time core. Only the guest's own kernel knows.

use super::{
    arch::Arch,
    kernel::{Kernel, Origin},
};
use anyhow::{Result, bail, ensure};
use latido_agent::machine::BOOT_PARAMETER;
use latido_model::machine::{Core, Machine, Model, Preemption};

impl Kernel {
    /// Refuses a guest that lacks what the kernel's file claims. Returns a note if the guest has a real-time core that the file does not
    /// claim: as with a preemption model that no file claims, latido measures the guest, and its record has the core.
    ///
    /// # Errors
    /// Both preemption models or both cores; or the kernel does not report its model.
    pub fn granted(&self, machine: &Machine) -> Result<Option<String>> {
        self.has_the_model(machine.preemption.as_ref())?;
        self.has_the_core(machine.core.as_ref())
    }

    /// Refuses a guest with another preemption model than the requested one: a kernel that lacks a mode silently boots with another. The
    /// boot parameters do not count as evidence, since they are the request.
    fn has_the_model(&self, found: Option<&Preemption>) -> Result<()> {
        let Some(wanted) = self.preemption else { return Ok(()) };
        let found = found.filter(|found| found.source != BOOT_PARAMETER);
        let Some(found) = found else {
            bail!(
                "latido requested preemption `{wanted}` of the kernel `{}`, which does not report what it has",
                self.name
            )
        };
        // A PREEMPT_RT kernel with a lazy mode counts as PREEMPT_RT in either mode.
        let rt = found.model == Model::Rt && found.dynamic && matches!(wanted, Model::Full | Model::Lazy);
        ensure!(
            rt || wanted == found.model,
            "latido requested preemption `{wanted}` of the kernel `{}`, which has `{}` (by {})",
            self.name,
            found.model,
            found.source
        );
        Ok(())
    }

    /// Refuses a guest without the claimed core. Returns a note on a core that is not claimed.
    fn has_the_core(&self, found: Option<&Core>) -> Result<Option<String>> {
        let name = &self.name;
        let file = match &self.origin {
            Origin::Typed => "a kernel's file (docs/lab.md)".to_owned(),
            origin => origin.shown(),
        };
        match (self.core, found) {
            (None, None) => Ok(None),
            (Some(wanted), Some(found)) if wanted == found.kind => Ok(None),
            (Some(wanted), Some(found)) => bail!(
                "{file} claims the real-time core `{}` for the kernel `{name}`, but its guest has {found}, as {} shows: write core = \"{}\" \
                 into the file, or boot another kernel",
                wanted.word(),
                found.kind.file(),
                found.kind.word()
            ),
            (Some(wanted), None) => bail!(
                "{file} claims the real-time core `{}` for the kernel `{name}`, but its guest has no core: {} does not exist there. Boot a \
                 kernel with this core, or remove `core` from the file",
                wanted.word(),
                wanted.file()
            ),
            (None, Some(found)) => Ok(Some(format!(
                "the kernel `{name}` has the real-time core {found}, as {} shows, and no file claims it: write core = \"{}\" into {file}",
                found.kind.file(),
                found.kind.word()
            ))),
        }
    }

    /// Returns what may make a guest of this kernel hang, as part of an error; empty if latido knows nothing.
    pub fn why_it_may_hang(&self) -> &'static str {
        match (self.arch, &self.image, self.core) {
            (Arch::X86_64, Some(_), None) => {
                "; if this kernel has a real-time core, write `core` into a file of the kernel (docs/lab.md): without the boot parameters of \
                 a core such a guest can hang"
            }
            _ => "",
        }
    }
}

#[cfg(test)]
#[path = "../../../agent/tests/trees/plant.rs"]
mod plant;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::kernels::named_with;
    use latido_agent::machine::{Root, read};
    use latido_model::machine::CoreKind;

    /// The kernels that every user has.
    fn named(name: &str) -> Result<Kernel> {
        named_with(name, None)
    }

    #[test]
    fn a_mode_that_was_not_granted_is_refused() {
        let lazy = named("6.12-lazy").unwrap();
        let found = |model, source: &str| Preemption { model, dynamic: true, source: source.into() };
        let granted =
            |model, source: &str| lazy.has_the_model(Some(&found(model, source))).map_err(|error| error.to_string());
        assert_eq!(granted(Model::Lazy, "/sys/kernel/debug/sched/preempt"), Ok(()));
        assert!(granted(Model::Voluntary, "the version string").unwrap_err().contains("has `voluntary`"));
        assert!(granted(Model::Lazy, BOOT_PARAMETER).unwrap_err().contains("does not report"));
        assert!(lazy.has_the_model(None).unwrap_err().to_string().contains("does not report"));
        let own = named("linux-image-6.12.1-amd64:quiet preempt=full preempt=none").unwrap();
        let own = |model, dynamic| {
            let found = Preemption { model, dynamic, source: "debugfs".into() };
            own.has_the_model(Some(&found)).is_ok()
        };
        assert!(
            own(Model::None, true) && !own(Model::Full, true) && !own(Model::Rt, true),
            "asked for by the last word"
        );
        let lazy_rt = Preemption { model: Model::Rt, dynamic: true, source: "debugfs".into() };
        assert!(lazy.has_the_model(Some(&lazy_rt)).is_ok());
        assert!(named("6.12-rt-arm64").is_ok_and(|any| Kernel { preemption: None, ..any }.has_the_model(None).is_ok()));
    }

    /// What the agent reads in a recorded guest.
    fn recorded(tree: &str) -> Machine {
        let dir = plant::directory();
        plant::plant(tree, dir.path());
        read(&Root::new(dir.path()))
    }

    /// A kernel that its user described in a file.
    fn claiming(core: Option<CoreKind>) -> Kernel {
        let origin = Origin::Own { file: "/k/mine.toml".into(), image: None };
        Kernel { core, origin, preemption: None, ..named("6.12-full").unwrap() }
    }

    /// A recorded guest has the core that its file claims, or latido refuses it and names the file, both cores and the remedy.
    #[test]
    fn a_core_that_is_not_there_is_refused() {
        let none = Machine::default();
        for (kind, other, guest, told) in [
            (CoreKind::Evl, CoreKind::Cobalt, recorded(plant::EVL), "EVL (ABI 36)"),
            (CoreKind::Cobalt, CoreKind::Evl, recorded(plant::COBALT), "Cobalt 3.3.1"),
        ] {
            assert_eq!(claiming(Some(kind)).granted(&guest).unwrap(), None);
            let wrong = claiming(Some(other)).granted(&guest).unwrap_err().to_string();
            let remedy = format!("write core = \"{}\"", kind.word());
            for word in ["/k/mine.toml claims", other.word(), told, kind.file(), &remedy] {
                assert!(wrong.contains(word), "{word}: {wrong}");
            }
            let missing = claiming(Some(kind)).granted(&none).unwrap_err().to_string();
            for word in ["/k/mine.toml claims", kind.word(), "has no core", kind.file(), "remove `core`"] {
                assert!(missing.contains(word), "{word}: {missing}");
            }
        }
    }

    /// A core that no file claims is reported and measured. A kernel without a core and without a claim has no note.
    #[test]
    fn a_core_that_is_not_claimed_is_reported() {
        let note = claiming(None).granted(&recorded(plant::EVL)).unwrap().unwrap();
        assert!(note.contains("EVL (ABI 36)") && note.ends_with("write core = \"evl\" into /k/mine.toml"), "{note}");
        let typed = Kernel { origin: Origin::Typed, ..claiming(None) };
        let note = typed.granted(&recorded(plant::COBALT)).unwrap().unwrap();
        assert!(note.ends_with("write core = \"cobalt\" into a kernel's file (docs/lab.md)"), "{note}");
        assert_eq!(claiming(None).granted(&Machine::default()).unwrap(), None);
    }

    /// Only a PC's kernel from a file of the user, without a claim, may hang for lack of a core's boot parameters.
    #[test]
    fn a_hang_names_the_key_that_may_be_missing() {
        let own = Kernel { image: Some("/k/bzImage".into()), ..claiming(None) };
        assert!(own.why_it_may_hang().contains("`core`"));
        assert_eq!(Kernel { core: Some(CoreKind::Evl), ..own }.why_it_may_hang(), "");
        assert_eq!(claiming(None).why_it_may_hang(), "");
    }
}
