//! `--vary AXIS=A,B`: several levels of an axis, or several values of an option of the probe, that latido measures in turn.

use super::{Usage, flags::Args, known::list, words};
use latido_model::{
    catalogue::Kind,
    plan::{
        axes::ProbeOption,
        items::{is_nothing, nothing},
        scheduling::POLICIES,
        source::Place,
    },
    written::{bare, quote},
};

/// An axis or option, and the levels that it takes.
#[derive(Debug)]
pub struct Vary {
    key: String,
    values: Vec<String>,
    shown: String,
}

/// Keys that are flags of `run` and neither an axis nor an option.
const FIXED: [&str; 8] = ["cpus", "duration", "limit", "warmup", "repeat", "seed", "stop-on", "trace"];

impl Vary {
    /// Reads each `--vary` of the command line.
    ///
    /// # Errors
    /// One is not of the form AXIS=A,B, or another flag names the same axis.
    pub fn all(args: &Args) -> Result<Vec<Self>, Usage> {
        let all: Vec<Self> = args.vary.iter().map(|text| Self::read(text)).collect::<Result<_, _>>()?;
        for (at, one) in all.iter().enumerate() {
            if let Some(other) = all.iter().take(at).find(|other| other.axis() == one.axis()) {
                return Err(Usage::new(one.beside(other)));
            }
            if let Some(flag) = one.is_given(args) {
                return Err(Usage::new(format!("{}: {flag}", one.shown)));
            }
        }
        Ok(all)
    }

    fn read(text: &str) -> Result<Self, Usage> {
        let shown = format!("--vary {text}");
        let form = "write AXIS=A,B, for example --vary load=idle,stress-cpu";
        let Some((key, values)) = text.split_once('=').filter(|(key, _)| words::is_key(key)) else {
            return Err(Usage::new(format!("{shown}: {form}")));
        };
        if FIXED.contains(&key) {
            return Err(Usage::new(format!(
                "{shown}: `{key}` is the same for a whole run: measure two runs and name both to `latido compare`"
            )));
        }
        let values = split(key, values);
        if values.len() < 2 || values.iter().any(String::is_empty) {
            return Err(Usage::new(format!("{shown}: give two values or more; {form}")));
        }
        Ok(Self { key: key.to_owned(), values, shown })
    }

    /// Returns the axis of the plan; for an option of the probe its name.
    fn axis(&self) -> &str {
        words::axis(&self.key)
    }

    /// Returns whether it varies the policy, the priority or the nice value. The flags for these then become part of its levels.
    pub fn is_scheduling(&self) -> bool {
        self.axis() == "scheduling"
    }

    /// Words what is wrong with another `--vary` of the same axis.
    fn beside(&self, other: &Self) -> String {
        match self.is_scheduling() && self.key != other.key {
            true => format!(
                "{} and {}: policy, prio and nice are one axis; write --vary policy=fifo:10,fifo:90,other",
                other.shown, self.shown
            ),
            false => format!("{} and {}: both vary `{}`; put the values into one", other.shown, self.shown, self.key),
        }
    }

    /// Words what is wrong where another flag, or a word `key=value`, gives a value of the same axis.
    fn is_given(&self, args: &Args) -> Option<String> {
        let key = self.key.as_str();
        let flag = match key {
            "prio" | "nice" => {
                let several = |word: &String| words::policy(word).is_ok_and(|split| !split.options.is_empty());
                args.prio.is_some() || args.nice.is_some() || args.policy.as_ref().is_some_and(several)
            }
            "policy" if args.prio.is_some() || args.nice.is_some() => {
                return Some("write the priority in each policy, for example --vary policy=fifo:50,rr:50".into());
            }
            "period" => args.period.is_some(),
            "deadline" => args.deadline.is_some(),
            _ => match self.axis() {
                "load" => !args.load.is_empty(),
                "tuning" => !args.tune.is_empty(),
                "scheduling" => args.policy.is_some(),
                "kernel" => !args.kernel.is_empty(),
                "target" => args.on.is_some(),
                _ => false,
            },
        };
        let word = args.words.iter().find(|word| word.split_once('=').is_some_and(|(name, _)| name == key));
        match word {
            Some(word) => Some(format!("`{word}` names `{key}` too: leave one of them out")),
            None => flag.then(|| format!("another flag names `{key}` too: leave one of them out")),
        }
    }

    /// Returns the values of an option of the probe; `None` for an axis.
    pub fn options(&self) -> Option<Vec<ProbeOption>> {
        let is_axis = ["load", "tuning", "scheduling", "kernel", "target"].contains(&self.axis());
        let option =
            |word: &String| ProbeOption { key: self.key.clone(), word: word.clone(), place: Place::word(&self.shown) };
        (!is_axis).then(|| self.values.iter().map(option).collect())
    }

    /// Returns the source words, and the levels of an axis as a line of a plan; an empty line for an option.
    ///
    /// # Errors
    /// A level is invalid.
    pub fn line(&self, args: &Args) -> Result<(&str, String), Usage> {
        let levels: Vec<String> = match self.axis() {
            "load" => self.values.iter().map(|word| self.level(Kind::Load, word)).collect::<Result<_, _>>()?,
            "tuning" => self.values.iter().map(|word| self.level(Kind::Tuning, word)).collect::<Result<_, _>>()?,
            "scheduling" => self.values.iter().map(|word| self.scheduling(word, args)).collect::<Result<_, _>>()?,
            "kernel" | "target" => self.values.iter().map(|name| quote(name)).collect(),
            _ => return Ok((&self.shown, String::new())),
        };
        Ok((&self.shown, format!("{} = [{}]\n", self.axis(), levels.join(", "))))
    }

    /// Returns a level of loads or tunings as TOML: `idle`, `stress-cpu`, `stress-cpu+memory`.
    fn level(&self, kind: Kind, word: &str) -> Result<String, Usage> {
        if is_nothing(kind, word) {
            return Ok(quote(nothing(kind)));
        }
        let (mut ids, mut items) = (Vec::new(), Vec::new());
        for part in word.split('+') {
            let asked = words::asked(list(kind), part).map_err(|why| Usage::new(format!("{}: {why}", self.shown)))?;
            ids.push(asked.id);
            items.push(asked.toml);
        }
        Ok(format!("{{ id = {}, use = [{}] }}", quote(&ids.join(" + ")), items.join(", ")))
    }

    /// Returns a policy with its parameters as TOML, or a priority or nice value of the policy that the other flags name.
    fn scheduling(&self, word: &str, args: &Args) -> Result<String, Usage> {
        let policy = |implied: &str| quote(args.policy.as_deref().unwrap_or(implied));
        Ok(match self.key.as_str() {
            "prio" => format!("{{ policy = {}, prio = {} }}", policy("fifo"), words::number(word)),
            "nice" => format!("{{ policy = {}, nice = {} }}", policy("other"), words::number(word)),
            _ => {
                let split = words::policy(word).map_err(|why| Usage::new(format!("{}: {why}", self.shown)))?;
                let options =
                    split.options.iter().map(|(key, text)| format!(", {} = {}", bare(key), words::number(text)));
                format!("{{ policy = {}{} }}", quote(&split.name), options.collect::<String>())
            }
        })
    }
}

/// Splits the values at commas. For loads, tunings and policies, a piece that names none of them continues the value before it, as in
/// `stress-ng:cpu=2,vm=1`.
fn split(key: &str, values: &str) -> Vec<String> {
    let begins = |piece: &str| {
        let names: Vec<&str> = piece.split('+').map(|part| part.split(':').next().unwrap_or_default()).collect();
        let of = |kind: Kind| names.iter().all(|name| is_nothing(kind, name) || list(kind).entry(name).is_some());
        match key {
            "load" => of(Kind::Load),
            "tune" | "tuning" => of(Kind::Tuning),
            "policy" | "scheduling" => names.iter().all(|name| POLICIES.iter().any(|(policy, _)| policy == name)),
            _ => true,
        }
    };
    // An unknown name stays a separate value where the value before it has no options. The error then names it.
    let goes_on = |all: &[String], piece: &str| all.last().is_some_and(|last| last.contains(':')) && !begins(piece);
    let mut all: Vec<String> = Vec::new();
    for piece in values.split(',') {
        match goes_on(&all, piece) {
            true => all.iter_mut().next_back().into_iter().for_each(|last| {
                last.push(',');
                last.push_str(piece);
            }),
            false => all.push(piece.to_owned()),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_separate_levels_and_go_on_with_options() {
        assert_eq!(split("load", "idle,stress-cpu"), ["idle", "stress-cpu"]);
        assert_eq!(split("load", "stress-ng:cpu=2,vm=1,none"), ["stress-ng:cpu=2,vm=1", "none"]);
        assert_eq!(split("load", "idle,stres-cpu"), ["idle", "stres-cpu"], "a misspelt name is a level");
        assert_eq!(split("policy", "fifo:80,other"), ["fifo:80", "other"]);
        assert_eq!(split("period", "1ms,250us"), ["1ms", "250us"]);
    }

    #[test]
    fn what_cannot_vary_says_why() {
        let said = |text: &str| Vary::read(text).unwrap_err().to_string();
        assert!(said("load").contains("write AXIS=A,B"), "{}", said("load"));
        assert!(said("load=idle").contains("two values or more"), "{}", said("load=idle"));
        assert!(said("cpus=1,2").contains("the same for a whole run"), "{}", said("cpus=1,2"));
        let all = |vary: &[&str], rest: Args| {
            let args = Args { vary: vary.iter().map(|&text| text.into()).collect(), ..rest };
            Vary::all(&args).map_err(|usage| usage.to_string())
        };
        let refused = |vary: &[&str], rest: Args| all(vary, rest).unwrap_err();
        let loaded = || Args { load: vec!["memory".into()], ..Args::default() };
        assert!(refused(&["load=idle,memory"], loaded()).contains("another flag names `load` too"));
        let worded = || Args { words: vec!["wakeup".into(), "period=3ms".into()], ..Args::default() };
        assert!(refused(&["period=1ms,2ms"], worded()).contains("`period=3ms` names `period` too"));
        assert!(
            refused(&["policy=fifo,rr"], Args { prio: Some("50".into()), ..Args::default() })
                .contains("policy=fifo:50")
        );
        assert!(refused(&["policy=fifo,rr", "prio=10,90"], Args::default()).contains("are one axis"));
        assert!(refused(&["load=idle,memory", "load=idle,disk"], Args::default()).contains("both vary `load`"));
        assert!(all(&["prio=10,90"], Args { policy: Some("rr".into()), ..Args::default() }).is_ok());
    }
}
