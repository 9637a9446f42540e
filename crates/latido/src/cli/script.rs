//! The text of a plan, made from words and flags. Each piece keeps the word that it came from, so that an error can name it.

use super::{
    Usage,
    flags::Args,
    foreign,
    known::{CATALOGUE, list},
    vary::Vary,
    words::{self, asked, number},
};
use anyhow::Result;
use latido_model::{
    catalogue::{Kind, List},
    plan::{
        axes::{Axes, ProbeOption},
        items::{is_nothing, nothing},
        node::Keys,
        parse,
        source::{Problem, Source},
    },
    written::{bare, quote, value},
};
use toml::Value;

/// The option of a probe that starts a program.
pub const ARGV: &str = "argv";

/// TOML under construction, with the source word of each part.
#[derive(Default)]
pub struct Script {
    toml: String,
    marks: Vec<(usize, String)>,
}

impl Script {
    /// Adds a piece of TOML and its source word.
    pub fn add(&mut self, word: &str, toml: &str) {
        self.marks.push((self.toml.len(), word.into()));
        self.toml.push_str(toml);
    }

    /// Adds the probe with its options, and the command that it starts.
    pub fn probe(&mut self, word: &str, name: &str, options: &[ProbeOption], command: &[String]) {
        self.add(word, &format!("probe = [{{ name = {}", quote(name)));
        for ProbeOption { key, word, place } in options {
            let typed = value(&list(Kind::Probe).value(name, key, word));
            self.add(place.shown(), &format!(", {} = {typed}", bare(key)));
        }
        if !command.is_empty() {
            let argv: Vec<Value> = command.iter().map(|word| Value::from(word.as_str())).collect();
            self.add(&format!("-- {}", command.join(" ")), &format!(", {ARGV} = {}", value(&Value::Array(argv))));
        }
        self.add(word, " }]\n");
    }

    /// Adds the contents of all flags.
    ///
    /// # Errors
    /// A flag has an invalid value.
    pub fn flags(&mut self, args: &Args) -> Result<(), Usage> {
        self.level(list(Kind::Load), "load", "--load", &args.load)?;
        self.level(list(Kind::Tuning), "tuning", "--tune", &args.tune)?;
        let varied = Vary::all(args)?;
        if !varied.iter().any(Vary::is_scheduling) {
            self.scheduling(args)?;
        }
        for one in varied {
            let (shown, line) = one.line(args)?;
            self.add(shown, &line);
        }
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
        if let Some(worst) = args.explain {
            self.add(&format!("--explain={worst}"), &format!("explain = {worst}\n"));
        }
        for (flag, key, text) in [("--max-temp", "max_temp", &args.max_temp), ("--repeat", "repeat", &args.repeat)] {
            if let Some(text) = text {
                self.add(&format!("{flag} {text}"), &format!("{key} = {}\n", number(text)));
            }
        }
        Ok(())
    }

    /// Adds one level that all words of a flag form together.
    fn level(&mut self, list: List<'_>, key: &str, flag: &str, words: &[String]) -> Result<(), Usage> {
        let none = nothing(list.kind);
        if words.is_empty() {
            return Ok(());
        }
        if let [only] = words
            && is_nothing(list.kind, only)
        {
            self.add(&format!("{flag} {only}"), &format!("{key} = [\"{none}\"]\n"));
            return Ok(());
        }
        let mut ids = Vec::new();
        let mut items = Vec::new();
        for word in words {
            let shown = format!("{flag} {word}");
            if is_nothing(list.kind, word) {
                return Err(Usage::new(format!(
                    "{shown}: `{word}` cannot be combined with another {}",
                    list.kind.word()
                )));
            }
            if let Some(instead) = foreign::instead_of(list, word) {
                return Err(Usage::new(format!("{shown}: {instead}")));
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
        let mut parts: Vec<(String, String, String)> = Vec::new();
        let mut policy = None;
        let mut taken = Vec::new();
        if let Some(word) = &args.policy {
            let shown = format!("--policy {word}");
            let split = words::policy(word).map_err(|message| Usage::new(format!("{shown}: {message}")))?;
            taken.clone_from(&split.options);
            parts.extend(split.options.into_iter().map(|(key, text)| (shown.clone(), key, text)));
            policy = Some((shown, split.name));
        }
        for (flag, key, text, implied) in [
            ("--prio", "prio", &args.prio, "fifo"),
            ("--nice", "nice", &args.nice, "other"),
            ("--dl-runtime", "runtime", &args.dl_runtime, "deadline"),
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

    /// Returns the source words of the script.
    pub fn flags_typed(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for (_, word) in &self.marks {
            if !words.contains(word) {
                words.push(word.clone());
            }
        }
        words
    }

    /// Reads the script as the keys of a group.
    ///
    /// # Errors
    /// An error at the word that caused it.
    pub fn axes(&self) -> Result<Axes> {
        self.read(|keys| Axes::read(keys, CATALOGUE))
    }

    /// Reads the script with another function.
    ///
    /// # Errors
    /// As [`Script::axes`].
    pub fn read<T>(&self, read: impl FnOnce(Keys) -> Result<T, Problem>) -> Result<T> {
        let source = Source::words(&self.toml, &self.marks);
        let document = parse::document("the command line", &source)?;
        read(Keys::document(&source, document.get_ref())).map_err(blame)
    }
}

/// Turns an error in typed words into a usage error. An error in a file stays as it is.
pub fn blame(problem: Problem) -> anyhow::Error {
    if problem.typed() { Usage::new(problem.to_string()).into() } else { problem.into() }
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
