//! `[[kernel]]`: decides which of a plan's kernels the running one is. A study names its systems; a machine only has a version string. The
//! kernel's preemption model, boot parameters and build options decide which name it gets.

use super::{
    Group, Plan, TABLES_MAX,
    node::{Keys, Node},
    source::Problem,
};
use crate::{
    cell::{LAB, RUNNING, lacks_kernel},
    machine::{Machine, Model},
    suggest::nearest,
};
use serde::{Deserialize, Serialize};

/// A kernel of a plan, described by its properties.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// The level of the kernel axis.
    pub name: String,
    /// The preemption models that it may have; empty if any will do.
    pub preemption: Vec<Model>,
    /// Words of its boot parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boot: Vec<String>,
    /// Options of its configuration, without `CONFIG_`, and whether each is set.
    pub options: Vec<(String, bool)>,
}

/// Which of a plan's kernels the running one is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recognised {
    /// The level that it matches; absent if it matches none.
    pub name: Option<String>,
    /// Its properties, for people: `preemption none, RCU_BOOST off`.
    pub what: String,
}

/// The names of preemption models in a plan.
const MODELS: &[(&str, Model)] = &[
    ("none", Model::None),
    ("voluntary", Model::Voluntary),
    ("lazy", Model::Lazy),
    ("full", Model::Full),
    ("rt", Model::Rt),
];

/// Reads every `[[kernel]]`, each a level of the plan's kernel axis.
pub(super) fn read(node: Node, groups: &[Group]) -> Result<Vec<Named>, Problem> {
    let mut all: Vec<Named> = Vec::new();
    for keys in node.tables("kernel", TABLES_MAX)? {
        let one = one(keys, groups)?;
        if all.iter().any(|known| known.name == one.name) {
            return Err(keys.problem(format!("the kernel `{}` is described twice", one.name)));
        }
        all.push(one);
    }
    Ok(all)
}

fn one(keys: Keys, groups: &[Group]) -> Result<Named, Problem> {
    let what = "a kernel";
    keys.only(what, &["name", "preemption", "boot", "options"])?;
    let node = keys.need(what, "name")?;
    let name = node.text("name")?;
    let levels = || groups.iter().flat_map(|group| &group.kernel).map(String::as_str);
    if name == RUNNING || !levels().any(|level| level == name) {
        let hint = nearest(name, levels().filter(|level| *level != RUNNING));
        return Err(node.problem(format!("no group of the plan uses a kernel `{name}`{hint}")));
    }
    let preemption = match keys.get("preemption") {
        None => Vec::new(),
        Some(node) => node.levels("preemption")?.into_iter().map(model).collect::<Result<_, _>>()?,
    };
    let boot = match keys.get("boot") {
        None => Vec::new(),
        Some(node) => {
            node.levels("boot")?.into_iter().map(|node| node.name("boot parameters")).collect::<Result<Vec<_>, _>>()?
        }
    };
    let mut options = Vec::new();
    for entry in
        keys.get("options").map(|node| node.table("options")).transpose()?.map(Keys::entries).unwrap_or_default()
    {
        match entry.value.plain()? {
            toml::Value::Boolean(set) => options.push((entry.key.trim_start_matches("CONFIG_").to_owned(), set)),
            _ => return Err(entry.value.problem(format!("the kernel option `{}` must be true or false", entry.key))),
        }
    }
    if preemption.is_empty() && boot.is_empty() && options.is_empty() {
        return Err(keys.problem(format!("the kernel `{name}` needs `preemption`, `boot` or `options`")));
    }
    Ok(Named { name: name.to_owned(), preemption, boot, options })
}

fn model(node: Node) -> Result<Model, Problem> {
    let word = node.text("preemption")?;
    MODELS.iter().find(|(name, _)| *name == word).map(|(_, model)| *model).ok_or_else(|| {
        let names = || MODELS.iter().map(|(name, _)| *name);
        let all: Vec<&str> = names().collect();
        node.problem(format!(
            "there is no preemption model `{word}`{}; there are {}",
            nearest(word, names()),
            all.join(", ")
        ))
    })
}

/// Returns the name of a preemption model in a plan.
pub(super) fn word(model: Model) -> Option<&'static str> {
    MODELS.iter().find(|(_, known)| *known == model).map(|(word, _)| *word)
}

impl Named {
    /// Whether a machine's kernel matches this one. An option that the machine does not report counts as not set.
    fn is(&self, machine: &Machine) -> bool {
        let model = machine.preemption.as_ref().map(|preemption| preemption.model);
        let fits = self.preemption.is_empty() || model.is_some_and(|model| self.preemption.contains(&model));
        let boots = |word: &String| {
            machine.command_line.as_ref().is_some_and(|line| line.split_whitespace().any(|known| known == word))
        };
        fits && self.boot.iter().all(boots)
            && self.options.iter().all(|(option, wanted)| is_set(machine, option).unwrap_or(false) == *wanted)
    }
}

fn is_set(machine: &Machine, option: &str) -> Option<bool> {
    machine.config.as_ref()?.is_on(option)
}

/// Returns which of these a machine's kernel is: the first one that it matches.
pub fn recognised(all: &[Named], machine: &Machine) -> Recognised {
    let name = all.iter().find(|one| one.is(machine)).map(|one| one.name.clone());
    let model = machine.preemption.as_ref().map_or_else(|| "unknown".to_owned(), |known| known.model.to_string());
    let mut told = vec![format!("preemption {model}")];
    for (option, _) in all.iter().flat_map(|one| &one.options) {
        let set = match is_set(machine, option) {
            Some(true) => "on",
            Some(false) => "off",
            None => "not readable, taken as off",
        };
        let text = format!("{option} {set}");
        if !told.contains(&text) {
            told.push(text);
        }
    }
    Recognised { name, what: told.join(", ") }
}

/// Returns why latido skips a group's cells of this target and kernel, as far as the plan shows. A target has one of the kernels that a
/// plan describes. Only its machine shows which one; until then latido assumes `kernel_as`, else the first one.
pub fn lacks(plan: &Plan, group: &Group, target: &str, kernel: &str) -> Option<String> {
    let has = |name: &String| group.kernel.contains(name);
    let taken = plan.kernel_as.as_ref().filter(|name| has(name));
    let first = || plan.kernels.iter().map(|one| &one.name).find(|name| has(name));
    match taken.or_else(first) {
        Some(name) if target != LAB => {
            (kernel != name).then(|| "a target measures only the one of the plan's kernels that it runs".to_owned())
        }
        _ => lacks_kernel(target, kernel),
    }
}

/// Returns the plan without the kernels that no target of their group has.
pub fn had(plan: &Plan) -> Plan {
    let mut had = plan.clone();
    for (group, whole) in had.groups.iter_mut().zip(&plan.groups) {
        group.kernel.retain(|kernel| whole.target.iter().any(|target| lacks(plan, whole, target, kernel).is_none()));
    }
    had
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{KernelConfig, Preemption};

    fn machine(model: Model, boost: Option<&str>) -> Machine {
        let preemption = Some(Preemption { model, dynamic: false, source: String::new() });
        let options = boost.map(|value| ("RCU_BOOST".to_owned(), value.to_owned())).into_iter().collect();
        Machine { preemption, config: Some(KernelConfig { options, ..KernelConfig::default() }), ..Machine::default() }
    }

    fn studies() -> Vec<Named> {
        let named = |name: &str, preemption: &[Model], boost| Named {
            name: name.into(),
            preemption: preemption.to_vec(),
            boot: Vec::new(),
            options: vec![("RCU_BOOST".into(), boost)],
        };
        let others = [Model::None, Model::Voluntary, Model::Lazy, Model::Full];
        vec![
            named("stock", &others, false),
            named("rcu", &others, true),
            named("rt", &[Model::Rt], false),
            named("rt+rcu", &[Model::Rt], true),
        ]
    }

    #[test]
    fn a_kernel_is_what_it_says_of_itself() {
        let of = |machine: &Machine| recognised(&studies(), machine).name;
        for (model, boost, expected) in [
            (Model::None, Some("n"), Some("stock")),
            (Model::Full, Some("y"), Some("rcu")),
            (Model::Rt, Some("n"), Some("rt")),
            (Model::Rt, Some("y"), Some("rt+rcu")),
            // The model is chosen at boot, and latido could not read which one.
            (Model::Dynamic, Some("n"), None),
        ] {
            assert_eq!(of(&machine(model, boost)).as_deref(), expected, "{model}");
        }
        assert_eq!(of(&Machine::default()), None);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let found = recognised(&studies(), &machine(Model::Rt, None));
        assert_eq!(found.name.as_deref(), Some("rt"));
        assert_eq!(found.what, "preemption PREEMPT_RT, RCU_BOOST not readable, taken as off");
    }
}
