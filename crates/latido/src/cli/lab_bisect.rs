//! `latido lab bisect`: the first kernel of an ordered list in which an expectation does not hold.

use super::{Usage, assemble, flags};
use crate::{
    host::{self, options::How},
    lab::kernels::named,
    output::{tell, write_out},
};
use anyhow::{Context, Result, bail, ensure};
use latido_model::{
    cell::LAB,
    exit::Exit,
    plan::{Expect, Group, Plan, around::Around, expect, node::Keys, parse, source::Source},
    written::quote,
};

/// Find the first kernel of an ordered list in which an expectation does not hold
#[derive(clap::Args, Clone, Debug)]
#[command(
    override_usage = "latido lab bisect --good KERNEL --bad KERNEL --expect EXPECTATION [--kernels LIST] [RUN...]"
)]
#[group(id = "bisect")]
pub struct Args {
    /// A kernel in which the expectation holds
    #[arg(long, value_name = "KERNEL")]
    good: String,
    /// A kernel in which the expectation does not hold
    #[arg(long, value_name = "KERNEL")]
    bad: String,
    /// The expectation, for example 'wakeup.max < 100us': a metric of plans, or one without its quantity
    #[arg(long, value_name = "EXPECTATION")]
    expect: String,
    /// The kernels from good to bad in their order: names of the laboratory, of Debian's packages, or files
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    kernels: Vec<String>,
    /// What to run in each kernel, as for `latido run` [default: the probe of the expectation]
    #[command(flatten)]
    run: flags::Args,
}

/// The default number of replicates per kernel.
const MEMBERS: &str = "5";

/// Carries out `latido lab bisect`.
///
/// # Errors
/// A usage error, a kernel that is not available or does not boot, a good kernel that fails or a bad kernel that passes.
pub fn run(args: Args) -> Result<u8> {
    let kernels = between(&args.kernels, &args.good, &args.bad)?;
    // latido finds every possible fault of the command before the first boot.
    for name in &kernels {
        named(name)?;
        plan(&args, name)?;
    }
    let found = search(kernels.len(), |at| {
        let name = kernels.get(at).context("a place in the list")?;
        let how = How { store: args.run.store.clone(), quiet: true, no_report: true, untold: true, ..How::default() };
        let outcome = match Exit::of(host::run(&plan(&args, name)?, &how)?) {
            Some(Exit::Done) => Outcome::Holds,
            Some(Exit::Failed) => Outcome::Fails,
            Some(Exit::Undecided) => Outcome::Undecided,
            _ => bail!("{name} could not be measured: `latido list runs` has the run"),
        };
        tell(&format!("{name}: {} {}", args.expect, outcome.word()));
        Ok(outcome)
    })?;
    let (exit, end) = match found {
        Found::First(at) => (Exit::Done, format!("the first kernel in which it does not hold: {}", name(&kernels, at))),
        Found::Undecided(at) => {
            (Exit::Undecided, format!("undecided in {}: measure more repeats (--sweep N)", name(&kernels, at)))
        }
        Found::GoodFails => bail!("it does not hold in {} either, which --good names", args.good),
        Found::BadHolds => bail!("it holds in {} too, which --bad names", args.bad),
    };
    write_out(&format!("{end}\n"))?;
    Ok(exit.code())
}

fn name(kernels: &[String], at: usize) -> &str {
    kernels.get(at).map_or("", String::as_str)
}

/// Returns the part of the list from good to bad.
fn between(list: &[String], good: &str, bad: &str) -> Result<Vec<String>> {
    if good == bad {
        return Err(Usage::new(format!(
            "--good and --bad name the same kernel, `{good}`: name two, between which it broke"
        ))
        .into());
    }
    if list.is_empty() {
        return Ok([good, bad].map(String::from).into());
    }
    let place = |name: &str| {
        let found = list.iter().position(|one| one == name);
        found.ok_or_else(|| Usage::new(format!("--kernels does not have `{name}`: the list goes from good to bad")))
    };
    let (first, last) = (place(good)?, place(bad)?);
    match list.get(first..=last) {
        Some(part) if first < last => Ok(part.to_vec()),
        _ => Err(Usage::new("--kernels has the bad kernel before the good one: the list goes from good to bad").into()),
    }
}

/// Returns the plan for one kernel, with the expectation.
fn plan(args: &Args, kernel: &str) -> Result<Plan> {
    let wrong =
        || Usage::new(format!("--expect {}: write METRIC < VALUE, for example wakeup.max < 100us", args.expect));
    let words: Vec<&str> = args.expect.split_whitespace().collect();
    let [metric, op, value] = words[..] else { return Err(wrong().into()) };
    let (probe, rest) = metric.split_once('.').ok_or_else(wrong)?;
    let mut run = args.run.clone();
    if run.words.is_empty() {
        run.words.push(probe.into());
    }
    run.on = Some(LAB.into());
    run.kernel = vec![kernel.into()];
    run.repeat.get_or_insert_with(|| MEMBERS.into());
    // The replicates have the same seeds in every kernel.
    run.seed.get_or_insert(1);
    let (mut plan, _) = assemble::plan(&run, &Around::default())?;
    let measured = plan.groups.iter().flat_map(|group| &group.probe).find(|one| one.item.name == probe);
    let quantities = measured.map(|one| &one.measurand.quantities[..]).unwrap_or_default();
    let is_named = quantities.iter().any(|one| rest.strip_prefix(&*one.name).is_some_and(|end| end.starts_with('.')));
    let asked = match quantities.first() {
        Some(first) if !is_named => format!("{probe}.{}.{rest}", first.name),
        _ => metric.to_owned(),
    };
    let amount = if value.parse::<f64>().is_ok() { value.to_owned() } else { quote(value) };
    let pieces = [
        (metric, format!("metric = {}\n", quote(&asked))),
        (op, format!("op = {}\n", quote(op))),
        (value, format!("value = {amount}\n")),
    ];
    let also = expectation(&pieces, &plan.groups).map_err(|text| Usage::new(format!("--expect: {text}")))?;
    plan.expect.extend(also);
    Ok(plan)
}

/// Reads the expectation of these words, each given with its TOML; else returns what is wrong, with a mark below the word.
fn expectation(pieces: &[(&str, String)], groups: &[Group]) -> Result<Vec<Expect>, String> {
    let (mut toml, mut marks) = ("[[expect]]\n".to_owned(), vec![(0, "all of it".to_owned())]);
    for (number, (_, line)) in pieces.iter().enumerate() {
        marks.push((toml.len(), number.to_string()));
        toml.push_str(line);
    }
    let source = Source::words(&toml, &marks);
    let read = || {
        let document = parse::document("--expect", &source)?;
        expect::read(Keys::document(&source, document.get_ref()).need("--expect", "expect")?, groups, false)
    };
    read().map_err(|problem| {
        let words: Vec<&str> = pieces.iter().map(|(word, _)| *word).collect();
        let length = |words: &[&str]| words.iter().map(|word| word.chars().count() + 1).sum::<usize>();
        let blamed = problem.place().shown().parse().ok().and_then(|number: usize| Some((number, words.get(number)?)));
        let (from, width) = match blamed {
            Some((number, word)) => (length(words.get(..number).unwrap_or_default()), word.chars().count()),
            None => (0, length(&words).saturating_sub(1)),
        };
        format!("{}\n  {}\n  {}{}", problem.message(), words.join(" "), " ".repeat(from), "^".repeat(width))
    })
}

/// The result of the replicates of one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Holds,
    Fails,
    Undecided,
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "does not hold",
            Self::Undecided => "is undecided",
        }
    }
}

/// What a search found, by positions in the list.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    First(usize),
    Undecided(usize),
    GoodFails,
    BadHolds,
}

/// Measures both ends, then halves the range between them: at most two measurements plus the binary logarithm of the list's length.
fn search(count: usize, mut look: impl FnMut(usize) -> Result<Outcome>) -> Result<Found> {
    ensure!(count >= 2, "a list from good to bad needs at least two kernels");
    let (mut good, mut bad) = (0, count - 1);
    match look(good)? {
        Outcome::Fails => return Ok(Found::GoodFails),
        Outcome::Undecided => return Ok(Found::Undecided(good)),
        Outcome::Holds => {}
    }
    match look(bad)? {
        Outcome::Holds => return Ok(Found::BadHolds),
        Outcome::Undecided => return Ok(Found::Undecided(bad)),
        Outcome::Fails => {}
    }
    while bad - good > 1 {
        let middle = good.midpoint(bad);
        match look(middle)? {
            Outcome::Holds => good = middle,
            Outcome::Fails => bad = middle,
            Outcome::Undecided => return Ok(Found::Undecided(middle)),
        }
    }
    Ok(Found::First(bad))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The search finds the first bad kernel wherever it is. It measures no kernel twice, and no more kernels than halving takes.
    #[test]
    fn the_first_that_fails_is_found() {
        for count in 2..40_usize {
            for first in 1..count {
                let mut looked = Vec::new();
                let found = search(count, |at| {
                    assert!(!looked.contains(&at));
                    looked.push(at);
                    Ok(if at < first { Outcome::Holds } else { Outcome::Fails })
                });
                assert_eq!(found.unwrap(), Found::First(first));
                assert!(looked.len() as u32 <= 2 + (count - 1).next_power_of_two().ilog2(), "{count} {first}");
            }
        }
    }

    /// A good end that fails, a bad end that holds, and undecided replicates end the search.
    #[test]
    fn a_search_that_cannot_go_on_says_where() {
        let all = |outcome| search(5, move |_| Ok(outcome)).unwrap();
        assert_eq!(all(Outcome::Holds), Found::BadHolds);
        assert_eq!(all(Outcome::Fails), Found::GoodFails);
        assert_eq!(all(Outcome::Undecided), Found::Undecided(0));
        let middle = |at| match at {
            0 => Outcome::Holds,
            4 => Outcome::Fails,
            _ => Outcome::Undecided,
        };
        assert_eq!(search(5, |at| Ok(middle(at))).unwrap(), Found::Undecided(2));
    }

    fn words(all: &[&str]) -> Vec<String> {
        all.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_list_goes_from_good_to_bad() {
        let list = words(&["a", "b", "c", "d"]);
        assert_eq!(between(&list, "b", "d").unwrap(), ["b", "c", "d"]);
        assert_eq!(between(&[], "b", "d").unwrap(), ["b", "d"]);
        assert!(between(&[], "b", "b").unwrap_err().to_string().contains("the same kernel"));
        assert!(between(&list, "d", "b").unwrap_err().to_string().contains("before the good one"));
        assert!(between(&list, "a", "x").unwrap_err().to_string().contains("does not have `x`"));
    }

    /// The expectation becomes one of the plan, over replicates with the same seeds in every kernel. The quantity may be left out.
    #[test]
    fn an_expectation_becomes_the_plans() {
        let of = |expect: &str| {
            let (good, bad) = ("6.12-rt".into(), "6.12-none".into());
            plan(
                &Args { good, bad, expect: expect.into(), kernels: Vec::new(), run: flags::Args::default() },
                "6.12-rt",
            )
        };
        let long = of("wakeup.latency.max < 100us").unwrap();
        assert_eq!(of("wakeup.max < 100us").unwrap(), long);
        assert_eq!(long.expect.len(), 1);
        assert_eq!((long.seed, long.groups[0].repeat), (1, 5));
        assert_eq!((&long.groups[0].kernel[0], &*long.groups[0].target[0]), (&"6.12-rt".to_string(), LAB));
        assert!(of("wakeup.p99.9 < 100us").is_ok());
        for bad in ["wakeup", "wakeup.max 100us", "wakeup.most < 100us", "wakeup.max < often"] {
            assert!(of(bad).unwrap_err().is::<Usage>(), "{bad}");
        }
    }

    /// An error in an expectation appears above it, with a mark below the wrong word.
    #[test]
    fn the_wrong_word_of_an_expectation_is_marked() {
        let of = |expect: &str| {
            let (good, bad) = ("6.12-rt".into(), "6.12-none".into());
            let args = Args { good, bad, expect: expect.into(), kernels: Vec::new(), run: flags::Args::default() };
            plan(&args, "6.12-rt").unwrap_err().to_string()
        };
        for (expect, said, marked) in [
            ("wakeup.max < often", "`often`", "  wakeup.max < often\n               ^^^^^"),
            ("wakeup.max = 100us", "no comparison `=`", "  wakeup.max = 100us\n             ^"),
            ("wakeup.most  <  1us", "most", "  wakeup.most < 1us\n  ^^^^^^^^^^^"),
        ] {
            let text = of(expect);
            assert!(text.starts_with("--expect: ") && text.contains(said), "{text}");
            assert!(text.ends_with(marked), "{text}");
        }
    }
}
