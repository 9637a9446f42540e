//! From the words and flags of `run` to a checked plan: they are written as TOML and read like a plan file, each part
//! remembering its word for complaints.

use super::{
    Usage,
    flags::Args,
    known::{CATALOGUE, list},
    words::{self, asked},
};
use anyhow::Result;
use latido_model::{
    catalogue::{Kind, List},
    plan::{
        Plan,
        axes::{Axes, ProbeOption},
        items::nothing,
        node::Keys,
        parse::{self, Overrides},
        scale,
        scheduling::POLICIES,
        shipped,
        source::{Place, Problem, Source},
    },
    suggest::nearest,
    units::Ns,
    written::{bare, quote, value},
};
use latido_report::planning::budget;
use std::{
    hash::{BuildHasher, Hasher},
    path::Path,
};
use toml::Value;

/// What is to be run, as the first word names it.
enum Subject<'a> {
    Probe(&'a str),
    Shipped { name: &'a str, text: &'static str },
    File(&'a Path),
}

/// A plan from the command line, and what is to be said of it: the expectations of its file that the flags leave without a
/// cell, and what a budget made of it.
///
/// # Errors
/// A usage error, or what is wrong with the plan file.
pub fn plan(args: &Args) -> Result<(Plan, Vec<String>)> {
    let (mut plan, dropped) = full(args)?;
    let left_out = |text| format!("the flags leave no cell for the expectation `{text}`; it is left out");
    let mut notes: Vec<String> = dropped.into_iter().map(left_out).collect();
    if args.plan_power.is_some() && args.repeat.is_none() {
        plan.groups.iter_mut().for_each(|group| group.repeat = PILOT);
    }
    if let Some(factor) = args.scale {
        scale::scale(&mut plan, factor, CATALOGUE)
            .map_err(|error| Usage::new(format!("--scale {factor}: {error:#}")))?;
    }
    if let Some(span) = args.budget {
        let fitted = budget::fit(&mut plan, span, CATALOGUE);
        notes.extend(fitted.map_err(|error| Usage::new(format!("--budget {span}: {error:#}")))?);
    }
    Ok((plan, notes))
}

/// The repeats of a pilot.
const PILOT: u32 = 3;

/// The plan at the sizes that it is written with.
fn full(args: &Args) -> Result<(Plan, Vec<String>)> {
    let (first, options) = match args.words.split_first() {
        None => ("wakeup", &[][..]),
        Some((first, _)) if words::is_option(first) => ("wakeup", args.words.as_slice()),
        Some((first, rest)) => (first.as_str(), rest),
    };
    let options = probe_options(first, options, args.period.as_deref())?;
    let fallback_seed = random_seed();
    let mut script = Script::default();
    match subject(first)? {
        Subject::Probe(name) => {
            if let Some(name) = &args.size {
                return Err(Usage::new(format!("--size {name}: a plan has sizes, and `{first}` is a probe")).into());
            }
            script.probe(first, name, &options);
            script.flags(args)?;
            let seed = args.seed.unwrap_or(fallback_seed);
            let plan = parse::from_axes(name, script.axes()?, seed, &Place::word(first), CATALOGUE).map_err(blame)?;
            Ok((plan, Vec::new()))
        }
        Subject::Shipped { name, text } => {
            script.flags(args)?;
            let over = Overrides {
                axes: script.axes()?,
                options,
                size: size(args),
                seed: args.seed,
                fallback_seed,
                flags: script.flags_typed(),
            };
            parse::read(&format!("plans/{name}.toml"), text, &over, CATALOGUE).map_err(blame)
        }
        Subject::File(path) => {
            script.flags(args)?;
            let over = Overrides {
                axes: script.axes()?,
                options,
                size: size(args),
                seed: args.seed,
                fallback_seed,
                flags: script.flags_typed(),
            };
            let text = parse::load(path)?;
            parse::read(&path.display().to_string(), &text, &over, CATALOGUE).map_err(blame)
        }
    }
}

/// The size asked for, with its words.
fn size(args: &Args) -> Option<(String, Place)> {
    args.size.as_ref().map(|name| (name.clone(), Place::word(&format!("--size {name}"))))
}

/// A single load or tuning, checked, from its word.
///
/// # Errors
/// A usage error.
pub fn item(list: List<'_>, word: &str) -> Result<latido_model::cell::Item> {
    item_with(list, word, Vec::new())
}

/// The same with options that stand behind the word.
///
/// # Errors
/// A usage error.
pub fn item_with(list: List<'_>, word: &str, more: Vec<(String, String)>) -> Result<latido_model::cell::Item> {
    let asked = words::asked_with(list, word, more).map_err(|message| Usage::new(format!("{word}: {message}")))?;
    let key = list.kind.word();
    let mut script = Script::default();
    script.add(word, &format!("{key} = {}", asked.toml));
    script.read(|keys| latido_model::plan::items::single(keys.need("the command line", key)?, list))
}

/// The first word: a probe, a shipped plan or a path, in this order.
fn subject(word: &str) -> Result<Subject<'_>, Usage> {
    let name = word.split_once(':').map_or(word, |(name, _)| name);
    if list(Kind::Probe).entry(name).is_some() {
        return Ok(Subject::Probe(name));
    }
    if let Some(text) = shipped::text(name) {
        return Ok(Subject::Shipped { name, text });
    }
    if word.contains('/') || word.ends_with(".toml") {
        return Ok(Subject::File(Path::new(word)));
    }
    if word.parse::<Ns>().is_ok() {
        return Err(Usage::new(format!(
            "`{word}` is a time and no probe or plan: behind --wait it stands with `=`, --wait={word}"
        )));
    }
    let probes = list(Kind::Probe).entries();
    let known = probes.iter().map(|entry| entry.name).chain(shipped::PLANS.iter().map(|(name, _)| *name));
    let hint = nearest(name, known);
    let more = "`latido list` shows them all, a plan file has a `/` or `.toml` in its name";
    Err(Usage::new(format!("there is no probe or plan `{name}`{hint}; {more}")))
}

/// The options of the probe: after its colon, as words, and `--period`.
fn probe_options(first: &str, rest: &[String], period: Option<&str>) -> Result<Vec<ProbeOption>, Usage> {
    let mut taken: Vec<(String, String)> = Vec::new();
    let mut options = Vec::new();
    let mut take = |word: &str, pairs: Vec<(String, String)>| {
        for (key, text) in pairs {
            words::unused(&taken, &key).map_err(|message| Usage::new(format!("{word}: {message}")))?;
            taken.push((key.clone(), text.clone()));
            options.push(ProbeOption { key, word: text, place: Place::word(word) });
        }
        Ok(())
    };
    let wrong = |word: &str, message: String| Usage::new(format!("{word}: {message}"));
    if let Ok(Subject::Probe(_) | Subject::Shipped { .. }) = subject(first) {
        let main = |name: &str| list(Kind::Probe).entry(name).and_then(|entry| entry.main_option);
        take(first, words::split(first, main).map_err(|message| wrong(first, message))?.options)?;
    }
    for word in rest {
        take(word, words::options(word, None).map_err(|message| wrong(word, message))?)?;
    }
    if let Some(period) = period {
        take(&format!("--period {period}"), vec![("period".into(), period.into())])?;
    }
    match options.iter().find_map(|option| elsewhere(first, option)) {
        Some(message) => Err(Usage::new(message)),
        None => Ok(options),
    }
}

/// Where a key belongs that is a flag of `run` and not an option of the probe.
fn elsewhere(first: &str, option: &ProbeOption) -> Option<String> {
    const FLAGS: &[&str] = &[
        "cpus", "duration", "policy", "prio", "nice", "load", "tune", "limit", "stop-on", "max-temp", "warmup",
        "repeat", "seed",
    ];
    let ProbeOption { key, word, .. } = option;
    let flag = FLAGS.iter().find(|flag| **flag == key || flag.replace('-', "_") == *key)?;
    let name = first.split_once(':').map_or(first, |(name, _)| name);
    list(Kind::Probe).objection(name, key, &list(Kind::Probe).value(name, key, word))?;
    Some(format!("{key}={word}: `{key}` is not the probe's: write --{flag} {word}"))
}

/// TOML under construction, with the word that each part was made from.
#[derive(Default)]
struct Script {
    toml: String,
    marks: Vec<(usize, String)>,
}

impl Script {
    fn add(&mut self, word: &str, toml: &str) {
        self.marks.push((self.toml.len(), word.into()));
        self.toml.push_str(toml);
    }

    fn probe(&mut self, word: &str, name: &str, options: &[ProbeOption]) {
        self.add(word, &format!("probe = [{{ name = {}", quote(name)));
        for ProbeOption { key, word, place } in options {
            let typed = value(&list(Kind::Probe).value(name, key, word));
            self.add(place.shown(), &format!(", {} = {typed}", bare(key)));
        }
        self.add(word, " }]\n");
    }

    fn flags(&mut self, args: &Args) -> Result<(), Usage> {
        self.level(list(Kind::Load), "load", "--load", &args.load)?;
        self.level(list(Kind::Tuning), "tuning", "--tune", &args.tune)?;
        self.scheduling(args)?;
        if let Some(target) = &args.on {
            self.add(&format!("--on {target}"), &format!("target = [{}]\n", quote(target)));
        }
        if !args.kernel.is_empty() {
            let names: Vec<String> = args.kernel.iter().map(|name| quote(name)).collect();
            self.add("--kernel", &format!("kernel = [{}]\n", names.join(", ")));
        }
        for (flag, key, text) in [
            ("--cpus", "cpus", &args.cpus),
            ("--duration", "duration", &args.duration),
            ("--warmup", "warmup", &args.warmup),
            ("--limit", "limit", &args.limit),
            ("--stop-on", "stop_on", &args.stop_on),
        ] {
            if let Some(text) = text {
                self.add(&format!("{flag} {text}"), &format!("{key} = {}\n", quote(text)));
            }
        }
        if let Some(events) = &args.trace {
            let names: Vec<String> = events.split(',').map(quote).collect();
            let toml = if events.is_empty() { "true".into() } else { format!("[{}]", names.join(", ")) };
            self.add("--trace", &format!("trace = {toml}\n"));
        }
        for (flag, key, text) in [("--max-temp", "max_temp", &args.max_temp), ("--repeat", "repeat", &args.repeat)] {
            if let Some(text) = text {
                self.add(&format!("{flag} {text}"), &format!("{key} = {}\n", number(text)));
            }
        }
        Ok(())
    }

    /// All words of a flag together are one level.
    fn level(&mut self, list: List<'_>, key: &str, flag: &str, words: &[String]) -> Result<(), Usage> {
        let none = nothing(list.kind);
        if words.is_empty() {
            return Ok(());
        }
        if let [only] = words
            && only == none
        {
            self.add(&format!("{flag} {only}"), &format!("{key} = [\"{none}\"]\n"));
            return Ok(());
        }
        let mut ids = Vec::new();
        let mut items = Vec::new();
        for word in words {
            let shown = format!("{flag} {word}");
            if word == none {
                return Err(Usage::new(format!("{shown}: `{none}` does not go with another {}", list.kind.word())));
            }
            let asked = asked(list, word).map_err(|message| Usage::new(format!("{shown}: {message}")))?;
            ids.push(asked.id);
            items.push((shown, asked.toml));
        }
        let id: String = ids.join(" + ").chars().take(200).collect();
        let first = items.first().map_or(flag, |(shown, _)| shown).to_string();
        self.add(&first, &format!("{key} = [{{ id = {}, use = [", quote(id.trim())));
        for (shown, toml) in items {
            self.add(&shown, &format!("{toml}, "));
        }
        self.add(&first, "] }]\n");
        Ok(())
    }

    fn scheduling(&mut self, args: &Args) -> Result<(), Usage> {
        let main = |name: &str| POLICIES.iter().find(|(policy, _)| *policy == name)?.1.first().copied();
        let mut parts: Vec<(String, String, String)> = Vec::new();
        let mut policy = None;
        let mut taken = Vec::new();
        if let Some(word) = &args.policy {
            let shown = format!("--policy {word}");
            let split = words::split(word, main).map_err(|message| Usage::new(format!("{shown}: {message}")))?;
            taken.clone_from(&split.options);
            parts.extend(split.options.into_iter().map(|(key, text)| (shown.clone(), key, text)));
            policy = Some((shown, split.name));
        }
        for (flag, key, text, implied) in [
            ("--prio", "prio", &args.prio, "fifo"),
            ("--nice", "nice", &args.nice, "other"),
            ("--runtime", "runtime", &args.runtime, "deadline"),
            ("--dl-deadline", "deadline", &args.dl_deadline, "deadline"),
            ("--dl-period", "period", &args.dl_period, "deadline"),
        ] {
            let Some(text) = text else { continue };
            let shown = format!("{flag} {text}");
            words::unused(&taken, key).map_err(|message| Usage::new(format!("{shown}: {message}")))?;
            policy.get_or_insert((shown.clone(), implied.into()));
            parts.push((shown, key.into(), text.clone()));
        }
        let Some((shown, policy)) = policy else { return Ok(()) };
        self.add(&shown, &format!("scheduling = [{{ policy = {}", quote(&policy)));
        for (shown, key, text) in parts {
            self.add(&shown, &format!(", {} = {}", bare(&key), number(&text)));
        }
        self.add(&shown, " }]\n");
        Ok(())
    }

    /// The words that the script was made from.
    fn flags_typed(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for (_, word) in &self.marks {
            if !words.contains(word) {
                words.push(word.clone());
            }
        }
        words
    }

    fn axes(&self) -> Result<Axes> {
        self.read(|keys| Axes::read(keys, CATALOGUE))
    }

    fn read<T>(&self, read: impl FnOnce(Keys) -> Result<T, Problem>) -> Result<T> {
        let source = Source::words(&self.toml, &self.marks);
        let document = parse::document("the command line", &source)?;
        read(Keys::document(&source, document.get_ref())).map_err(blame)
    }
}

/// A whole number as such, anything else as a string, so that the reader can say what it wants instead.
fn number(text: &str) -> String {
    text.parse().map_or_else(|_| quote(text), |number| value(&Value::Integer(number)))
}

/// What was typed wrongly is a usage error; what is wrong in a file is not.
fn blame(problem: Problem) -> anyhow::Error {
    if problem.typed() { Usage::new(problem.to_string()).into() } else { problem.into() }
}

/// A seed short enough to type again. The standard library's hasher is seeded by the operating system.
fn random_seed() -> u64 {
    std::collections::hash_map::RandomState::new().build_hasher().finish() >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(words: &[&str]) -> Result<String, String> {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        let mut script = Script::default();
        script.level(latido_model::catalogue::trial(), "load", "--load", &words).map_err(|usage| usage.to_string())?;
        Ok(script.toml.trim_end().into())
    }

    #[test]
    fn words_of_one_flag_act_together() {
        let together = level(&["trial:2ms,sleep=3", "command:make -j4"]).unwrap();
        let expected = r#"load = [{ id = "trial 2ms sleep=3 + command make -j4", use = [{ name = "trial", period = "2ms", sleep = 3 }, { name = "command", argv = ["make", "-j4"] }, ] }]"#;
        assert_eq!(together, expected);
        assert_eq!(level(&["none"]).unwrap(), r#"load = ["none"]"#);
        assert_eq!(level(&[]).unwrap(), "");
        assert!(level(&["trial:1ms", "none"]).is_err());
    }
}
