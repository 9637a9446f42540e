//! Turns the words and flags of `run` into a checked plan. latido writes them as TOML and reads that like a plan file. Each part keeps its
//! word for error messages.

use super::{
    Usage,
    flags::Args,
    foreign,
    known::{CATALOGUE, list},
    script::{ARGV, Script, blame},
    vary::Vary,
    words,
};
use crate::lab::board::MULTI_CPU;
use anyhow::Result;
use latido_judge::planning::budget;
use latido_model::{
    catalogue::{Kind, List},
    cell::{Conditions, LAB, RUNNING},
    cpus::CpuSet,
    plan::{
        Group, Plan, Probed,
        around::Around,
        axes::ProbeOption,
        parse::{self, Overrides},
        scale, shipped,
        source::Place,
    },
    suggest::nearest,
    units::Ns,
};
use std::{
    hash::{BuildHasher, Hasher},
    os::unix::fs::PermissionsExt,
    path::Path,
};

/// What latido is to run, as the first word names it.
enum Subject<'a> {
    Probe(&'a str),
    Shipped { name: &'a str, text: &'static str },
    File(&'a Path),
}

/// Returns the plan of a command line, and notes about it: the expectations of its file for which the flags leave no cell, and what a
/// budget changed, estimated from the time that earlier cells took.
///
/// # Errors
/// A usage error, or what is wrong with the plan file.
pub fn plan(args: &Args, earlier: &Around) -> Result<(Plan, Vec<String>)> {
    let (mut plan, dropped) = full(args)?;
    let left_out = |text| format!("the flags leave no cell for the expectation `{text}`; latido leaves it out");
    let mut notes: Vec<String> = dropped.into_iter().map(left_out).collect();
    match args.multi_cpu {
        true => multi_cpu(&mut plan)?,
        false if args.cpus.is_none() => notes.extend(on_the_guests_cpu(&mut plan)),
        false => {}
    }
    if let (Some(deadline), None) = (&args.deadline, &args.limit) {
        let limit: Ns = deadline.parse().map_err(|error| Usage::new(format!("--deadline {deadline}: {error}")))?;
        let groups = std::mem::take(&mut plan.groups);
        plan.groups = groups.into_iter().flat_map(|group| judged_by_deadline(group, limit)).collect();
    }
    if args.plan_power.is_some() && args.repeat.is_none() {
        plan.groups.iter_mut().for_each(|group| group.repeat = PILOT);
    }
    if let Some(factor) = args.scale {
        scale::scale(&mut plan, factor, CATALOGUE)
            .map_err(|error| Usage::new(format!("--scale {factor}: {error:#}")))?;
    }
    if let Some(span) = args.budget {
        let fitted = budget::fit(&mut plan, span, earlier, CATALOGUE);
        notes.extend(fitted.map_err(|error| Usage::new(format!("--budget {span}: {error:#}")))?);
    }
    Ok((plan, notes))
}

/// Gives every kernel of the laboratory the board with several CPUs.
fn multi_cpu(plan: &mut Plan) -> Result<(), Usage> {
    let in_lab = plan.groups.iter_mut().filter(|group| group.target.iter().all(|target| target == LAB));
    let mut kernels = in_lab.flat_map(|group| &mut group.kernel).filter(|kernel| *kernel != RUNNING).peekable();
    if kernels.peek().is_none() {
        return Err(Usage::new(
            "--multi-cpu applies only to a group whose target is the laboratory alone: --on lab --kernel NAME",
        ));
    }
    kernels.for_each(|kernel| kernel.push_str(MULTI_CPU));
    Ok(())
}

/// The size of a plan for guests, which need many times their measured time on the host.
const LABORATORY: &str = "laboratory";

/// Makes the cells of the laboratory measure the guest's one CPU where the plan names others; returns a note about it.
fn on_the_guests_cpu(plan: &mut Plan) -> Option<String> {
    let mut moved = Vec::new();
    for group in plan.groups.iter_mut().filter(|group| group.target.iter().all(|target| target == LAB)) {
        let elsewhere = |cpus: &&mut CpuSet| cpus.iter().all(|cpu| cpu != 0);
        if let Some(cpus) = group.conditions.cpus.as_mut().filter(elsewhere) {
            moved.push(std::mem::replace(cpus, CpuSet::from_iter([0])).to_string());
        }
    }
    moved.dedup();
    (!moved.is_empty()).then(|| {
        format!(
            "a guest of the laboratory has one CPU: latido measures CPU 0 instead of the plan's CPU {}",
            moved.join(", ")
        )
    })
}

/// Uses a deadline from the command line as the limit of the probes that have a deadline. The other probes of a group form a group without
/// the limit.
fn judged_by_deadline(group: Group, limit: Ns) -> Vec<Group> {
    let has_one = |probe: &Probed| probe.item.options.contains_key("deadline");
    let (judged, others): (Vec<_>, Vec<_>) = group.probe.iter().cloned().partition(has_one);
    let conditions = Conditions { limit: Some(limit), ..group.conditions.clone() };
    let judged = Group { probe: judged, conditions, ..group.clone() };
    [judged, Group { probe: others, ..group }].into_iter().filter(|group| !group.probe.is_empty()).collect()
}

/// The repeats of a pilot run.
const PILOT: u32 = 3;

/// Returns the plan at the sizes written in it.
fn full(args: &Args) -> Result<(Plan, Vec<String>)> {
    let (first, options) = named(args);
    if let Some(instead) = foreign::instead(first) {
        return Err(Usage::new(instead).into());
    }
    let options = probe_options(first, options, args)?;
    let subject = subject(first)?;
    if let Some(program) = args.command.first()
        && !takes_program(&subject)
    {
        let text = format!("-- {program}: `{first}` starts no program: `latido run task -- {program}` measures one");
        return Err(Usage::new(text).into());
    }
    match subject {
        Subject::Probe(name) => Ok((of_probe(first, name, &options, args)?, Vec::new())),
        Subject::Shipped { name, text } => {
            let over = overrides(args, options)?;
            parse::read(&format!("plans/{name}.toml"), text, &over, CATALOGUE).map_err(blame)
        }
        Subject::File(path) => {
            if is_program(path) {
                let text =
                    format!("{first} is a program, not a plan: `latido run task --period 1ms -- {first}` measures it");
                return Err(Usage::new(text).into());
            }
            let over = overrides(args, options)?;
            let text = parse::load(path)?;
            parse::read(&path.display().to_string(), &text, &over, CATALOGUE).map_err(blame)
        }
    }
}

/// Returns the word that names a probe or a plan, and the options behind it. Without such a word, latido measures wake-ups.
fn named(args: &Args) -> (&str, &[String]) {
    match args.words.split_first() {
        None => ("wakeup", &[][..]),
        Some((first, _)) if words::is_option(first) => ("wakeup", args.words.as_slice()),
        Some((first, rest)) => (first.as_str(), rest),
    }
}

/// Returns the plan of a single probe, `name`. `first` is the word that names it.
fn of_probe(first: &str, name: &str, options: &[ProbeOption], args: &Args) -> Result<Plan> {
    if let Some(text) = &args.kernel_as {
        return Err(Usage::new(format!("--as {text}: only a plan names kernels, and `{first}` is a probe")).into());
    }
    if let Some(size) = &args.size {
        return Err(Usage::new(format!("--size {size}: only a plan has sizes, and `{first}` is a probe")).into());
    }
    let mut script = Script::default();
    script.probe(first, name, options, &args.command);
    script.flags(args)?;
    let seed = args.seed.unwrap_or_else(random_seed);
    let mut axes = script.axes()?;
    for values in varied(args)? {
        axes.vary(&values, CATALOGUE).map_err(blame).and_then(|known| unknown_option(known, name, &values))?;
    }
    parse::from_axes(name, axes, seed, &Place::word(first), CATALOGUE).map_err(blame)
}

/// Returns what the command line changes in a plan.
fn overrides(args: &Args, options: Vec<ProbeOption>) -> Result<Overrides> {
    let mut script = Script::default();
    script.flags(args)?;
    Ok(Overrides {
        axes: script.axes()?,
        options,
        vary: varied(args)?,
        size: size(args),
        preferred_size: (args.on.as_deref() == Some(LAB)).then(|| LABORATORY.to_owned()),
        seed: args.seed,
        fallback_seed: random_seed(),
        kernel_as: kernel_as(args)?,
        flags: script.flags_typed(),
    })
}

/// Returns whether a file is a program: it is executable, and its name does not end in `.toml`.
fn is_program(path: &Path) -> bool {
    let executable = |meta: std::fs::Metadata| meta.is_file() && meta.permissions().mode() & 0o111 != 0;
    path.extension().is_none_or(|ending| ending != "toml") && std::fs::metadata(path).is_ok_and(executable)
}

/// Returns the options to which `--vary` gives several values.
fn varied(args: &Args) -> Result<Vec<Vec<ProbeOption>>, Usage> {
    Ok(Vary::all(args)?.iter().filter_map(Vary::options).collect())
}

/// Refuses an option that the probe does not have.
fn unknown_option(known: bool, probe: &str, values: &[ProbeOption]) -> Result<()> {
    let Some(ProbeOption { key, place, .. }) = values.first().filter(|_| !known) else { return Ok(()) };
    let options = list(Kind::Probe).options(probe);
    let hint =
        nearest(key, options.iter().map(String::as_str).chain(["load", "tune", "policy", "prio", "kernel", "on"]));
    let text = format!("{}: `{key}` is not an axis, and the probe `{probe}` has no such option{hint}", place.shown());
    Err(Usage::new(text).into())
}

/// Returns whether the words name a probe, and not a plan.
pub fn is_of_probe(args: &Args) -> bool {
    match args.words.first() {
        Some(first) if !words::is_option(first) => matches!(subject(first), Ok(Subject::Probe(_))),
        _ => true,
    }
}

/// The main options of probes that hold a name. On the command line the user may write `name=` for them.
const NAMING: [&str; 2] = ["program", "calls"];

/// Returns whether a probe starts a program of the user.
fn takes_program(subject: &Subject<'_>) -> bool {
    matches!(subject, Subject::Probe(name) if words::takes_argv(list(Kind::Probe), name, ARGV))
}

/// Returns the kernel of the plan that the running kernel stands for (`--as`), with the words of the flag.
fn kernel_as(args: &Args) -> Result<Option<(String, Place)>, Usage> {
    let Some(text) = &args.kernel_as else { return Ok(None) };
    match text.split_once('=') {
        Some(("kernel", name)) if !name.is_empty() => Ok(Some((name.to_owned(), Place::word(&format!("--as {text}"))))),
        _ => Err(Usage::new(format!(
            "--as {text}: write --as kernel=NAME, where NAME is the kernel of the plan that is running"
        ))),
    }
}

/// Returns the requested size, with the words of the flag.
fn size(args: &Args) -> Option<(String, Place)> {
    args.size.as_ref().map(|name| (name.clone(), Place::word(&format!("--size {name}"))))
}

/// Reads and checks a single load or tuning from its word.
///
/// # Errors
/// A usage error.
pub fn item(list: List<'_>, word: &str) -> Result<latido_model::cell::Item> {
    item_with(list, word, Vec::new())
}

/// The same, with options that follow the word.
///
/// # Errors
/// A usage error.
pub fn item_with(list: List<'_>, word: &str, more: Vec<(String, String)>) -> Result<latido_model::cell::Item> {
    if let Some(instead) = foreign::instead_of(list, word) {
        return Err(Usage::new(instead).into());
    }
    let asked = words::asked_with(list, word, more).map_err(|message| Usage::new(format!("{word}: {message}")))?;
    let key = list.kind.word();
    let mut script = Script::default();
    script.add(word, &format!("{key} = {}", asked.toml));
    script.read(|keys| latido_model::plan::items::single(keys.need("the command line", key)?, list))
}

/// Finds what the first word names: a probe, a shipped plan or a path, in this order.
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
        return Err(Usage::new(format!("`{word}` is a time, not a probe or plan: write --wait={word}")));
    }
    let probes = list(Kind::Probe).entries();
    let known = probes.iter().map(|entry| entry.name).chain(shipped::PLANS.iter().map(|(name, _)| *name));
    let hint = nearest(name, known);
    let more = "`latido list` shows them all; the path of a plan file contains `/` or `.toml`";
    Err(Usage::new(format!("there is no probe or plan `{name}`{hint}; {more}")))
}

/// Returns the options of the probe: after its colon, as separate words, `--period` and `--deadline`.
fn probe_options(first: &str, rest: &[String], args: &Args) -> Result<Vec<ProbeOption>, Usage> {
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
    // The probe's name comes first, so `name=` names what the probe watches.
    let main_of = |name: &str| list(Kind::Probe).entry(name).and_then(|entry| entry.main_option);
    let probe = first.split_once(':').map_or(first, |(name, _)| name);
    let names = |main: &&str| NAMING.contains(main);
    let shortened = first.replacen(":name=", ":", 1);
    let first = if main_of(probe).filter(names).is_some() { shortened.as_str() } else { first };
    if let Ok(Subject::Probe(_) | Subject::Shipped { .. }) = subject(first) {
        let main = |name: &str| list(Kind::Probe).entry(name).and_then(|entry| entry.main_option);
        take(first, words::split(first, main).map_err(|message| wrong(first, message))?.options)?;
    }
    for word in rest {
        let named = main_of(probe).filter(names).zip(word.strip_prefix("name="));
        let of_it = named.map(|(main, value)| format!("{main}={value}"));
        let word = of_it.as_ref().unwrap_or(word);
        take(word, words::options(word, None).map_err(|message| wrong(word, message))?)?;
    }
    for (key, value) in [("period", &args.period), ("deadline", &args.deadline)] {
        if let Some(value) = value {
            take(&format!("--{key} {value}"), vec![(key.into(), value.clone())])?;
        }
    }
    match options.iter().find_map(|option| elsewhere(first, option)) {
        Some(message) => Err(Usage::new(message)),
        None => Ok(options),
    }
}

/// Returns where a key belongs that is a flag of `run` and not an option of the probe.
fn elsewhere(first: &str, option: &ProbeOption) -> Option<String> {
    const FLAGS: &[&str] = &[
        "cpus", "duration", "policy", "prio", "nice", "load", "tune", "limit", "stop-on", "max-temp", "warmup",
        "repeat", "seed",
    ];
    let ProbeOption { key, word, .. } = option;
    let flag = FLAGS.iter().find(|flag| **flag == key || flag.replace('-', "_") == *key)?;
    let name = first.split_once(':').map_or(first, |(name, _)| name);
    list(Kind::Probe).objection(name, key, &list(Kind::Probe).value(name, key, word))?;
    Some(format!("{key}={word}: `{key}` is not an option of the probe: write --{flag} {word}"))
}

/// Returns a seed short enough to type again. The operating system seeds the hasher of the standard library.
fn random_seed() -> u64 {
    std::collections::hash_map::RandomState::new().build_hasher().finish() >> 32
}
