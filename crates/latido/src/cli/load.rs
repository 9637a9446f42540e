//! `latido load`: runs one load alone, until Ctrl-C or for a given time.

use super::{Usage, assemble, known, words};
use crate::host::load_alone;
use anyhow::Result;
use latido_model::catalogue::Kind;

/// Run one load until Ctrl-C.
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "`latido load udp-flood:size=64,rate=max` and `latido load udp-flood --size 64 --rate max` are the \
                  same; `latido help NAME` lists a load's options."
)]
pub struct Args {
    /// The load, NAME[:key=value,...]
    #[arg(value_name = "LOAD")]
    pub load: String,
    /// Options of the load: --key value, or key=value
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    pub options: Vec<String>,
    /// End it after this time, for example 10m
    #[arg(short, long, value_name = "TIME", allow_hyphen_values = true, value_parser = words::text)]
    pub duration: Option<String>,
    /// End it above this temperature in degrees Celsius [default: 5 below the critical one]
    #[arg(long, value_name = "DEGREES", value_parser = clap::value_parser!(i32).range(1..=200))]
    pub max_temp: Option<i32>,
    /// Seed of the load's random choices
    #[arg(long, value_name = "N", default_value_t = 0, allow_hyphen_values = true, value_parser = words::seed)]
    pub seed: u64,
}

/// Carries out `latido load`.
///
/// # Errors
/// A usage error, or the reason why the load did not run.
pub fn run(mut args: Args) -> Result<u8> {
    let options = args.split().map_err(Usage::new)?;
    let item = assemble::item_with(known::list(Kind::Load), &args.load, options)?;
    let duration = match &args.duration {
        Some(text) => Some(text.parse().map_err(|error| Usage::new(format!("--duration {text}: {error}")))?),
        None => None,
    };
    load_alone::run(&item, duration, args.max_temp, args.seed)
}

impl Args {
    /// Returns the load's options from the words after its name. The flags of this command may be among them: `split` sets those.
    fn split(&mut self) -> Result<Vec<(String, String)>, String> {
        let mut options = Vec::new();
        let mut rest = std::mem::take(&mut self.options).into_iter().peekable();
        while let Some(word) = rest.next() {
            let Some(flag) = word.strip_prefix("--").map(String::from).or_else(|| short(&word)) else {
                options.extend(words::options(&word, None).map_err(|message| format!("{word}: {message}"))?);
                continue;
            };
            let (key, text) = match flag.split_once('=') {
                Some((key, text)) => (key, text.to_string()),
                // A flag without a value switches an option on.
                None => (flag.as_str(), rest.next_if(|next| !next.starts_with("--")).unwrap_or_else(|| "true".into())),
            };
            match key {
                "duration" => self.duration = Some(text),
                "max-temp" => self.max_temp = Some(degrees(&text)?),
                "seed" => self.seed = words::seed(&text).map_err(|message| format!("--seed {text}: {message}"))?,
                key if words::is_key(key) => options.push((key.into(), text)),
                _ => return Err(format!("{word}: `{key}` is not the name of an option")),
            }
        }
        Ok(options)
    }
}

/// Returns the long form of `-d`, `-d5s` and `-d=5s`.
fn short(word: &str) -> Option<String> {
    let text = word.strip_prefix("-d")?;
    match text.strip_prefix('=').unwrap_or(text) {
        "" => Some("duration".into()),
        text => Some(format!("duration={text}")),
    }
}

fn degrees(text: &str) -> Result<i32, String> {
    let degrees = text.parse().ok().filter(|degrees| (1..=200).contains(degrees));
    degrees.ok_or_else(|| format!("--max-temp {text}: write 1 to 200 degrees Celsius"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn line(words: &str) -> Result<(Args, Vec<(String, String)>), String> {
        let line = Line::try_parse_from(["load"].into_iter().chain(words.split_whitespace()));
        let mut args = line.map_err(|error| error.to_string())?.args;
        args.split().map(|options| (args, options))
    }

    #[test]
    fn options_may_be_flags() {
        let expected: Vec<_> =
            [("to", "HOST"), ("size", "64"), ("rate", "max")].map(|(k, v)| (k.to_string(), v.to_string())).into();
        for words in [
            "udp-flood --to HOST --size 64 --rate max",
            "udp-flood --to=HOST --size=64 rate=max",
            "-d 5s --seed 9 udp-flood --to HOST --size 64 --rate max",
            "udp-flood -d 5s --seed 9 --to HOST --size 64 --rate max",
            "udp-flood -d5s --to HOST --size 64 --seed 9 --rate max",
            "udp-flood --to HOST -d 5s --size 64 --seed=9 --rate max",
        ] {
            let (args, options) = line(words).unwrap();
            assert_eq!((args.load.as_str(), &options), ("udp-flood", &expected), "{words}");
            assert_eq!(args.duration.as_deref(), words.contains("-d").then_some("5s"), "{words}");
            assert_eq!(args.seed, if words.contains("seed") { 9 } else { 0 }, "{words}");
        }
        let (args, options) = line("stress-ng --aggressive --cpu 2 --max-temp 90").unwrap();
        assert_eq!((args.max_temp, options.len(), options[0].1.as_str()), (Some(90), 2, "true"));
    }

    #[test]
    fn a_wrong_flag_is_named() {
        for (words, said) in [
            ("udp-flood --to HOST junk", "junk: "),
            ("udp-flood --to HOST --max-temp 900", "--max-temp 900"),
            ("udp-flood --to HOST --seed -1", "--seed -1"),
            ("udp-flood --a/b 1", "--a/b: "),
        ] {
            let error = line(words).map(|_| ()).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
