//! `thp`: transparent huge pages.

use crate::{
    machine::Root,
    setting::{Tuning, Wanted, knob},
    step::{Form, Step},
};
use anyhow::Result;
use latido_model::registry::{self, Def};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "thp",
    about: "transparent huge pages: never, or as requested",
    help: "\
khugepaged collapses small pages into huge ones in the background, and a fault may stop to compact memory: both take
long, at unpredictable moments.

Options:
  enabled   `never` (default), `madvise` or `always`
  defrag    whether a fault may compact memory: `as-is` (default), `never`, `madvise`, `defer`, `defer+madvise`, `always`

Kernel document: Documentation/admin-guide/mm/transhuge.rst",
    main_option: Some("enabled"),
    new: |table| Ok(Box::new(registry::options::<Thp>(table)?)),
};

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Thp {
    enabled: Enabled,
    defrag: Defrag,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Enabled {
    #[default]
    Never,
    Madvise,
    Always,
}

impl Enabled {
    fn word(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Madvise => "madvise",
            Self::Always => "always",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Defrag {
    #[default]
    AsIs,
    Never,
    Madvise,
    Defer,
    #[serde(rename = "defer+madvise")]
    DeferMadvise,
    Always,
}

impl Defrag {
    fn word(self) -> Option<&'static str> {
        match self {
            Self::AsIs => None,
            Self::Never => Some("never"),
            Self::Madvise => Some("madvise"),
            Self::Defer => Some("defer"),
            Self::DeferMadvise => Some("defer+madvise"),
            Self::Always => Some("always"),
        }
    }
}

impl Tuning for Thp {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        const ABSENT: &str = "the kernel was built without CONFIG_TRANSPARENT_HUGEPAGE: leave this tuning out";
        let step = |file: &str, word: &str| {
            knob::step(root, &format!("/sys/kernel/mm/transparent_hugepage/{file}"), word, Form::Choice, ABSENT)
        };
        let enabled = step("enabled", self.enabled.word())?;
        let defrag = self.defrag.word().map(|word| step("defrag", word)).transpose()?;
        // The kernel recalculates its reserve (set_recommended_min_free_kbytes), even if a person had set it.
        let reserve =
            enabled.is_some().then(|| Step::kept(root, "/proc/sys/vm/min_free_kbytes", Form::Plain)).flatten();
        Ok(knob::wanted([reserve, enabled, defrag.flatten()]))
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{
        trees,
        trial::{Proof, refusal},
    };

    #[test]
    fn it_is_applied_and_undone() {
        let proof = Proof {
            name: "thp",
            options: "enabled = 'madvise'\ndefrag = 'defer+madvise'",
            machine: &trees::server,
            after: &[
                ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
                ("sys/kernel/mm/transparent_hugepage/defrag", "always defer [defer+madvise] madvise never\n"),
            ],
            other: ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
            without: &[("sys/kernel/mm/transparent_hugepage/defrag", "CONFIG_TRANSPARENT_HUGEPAGE")],
        };
        proof.holds();
    }

    /// PREEMPT_RT excludes transparent huge pages.
    #[test]
    fn a_kernel_without_them_says_so() {
        assert!(refusal("thp", "", &trees::cgroup_v2()).contains("CONFIG_TRANSPARENT_HUGEPAGE"));
    }
}
