//! The words of the command line: `NAME[:key=value,...]`.

use latido_model::{
    catalogue::List,
    clean,
    plan::{ramp, scheduling::POLICIES},
    written::{bare, quote, value},
};
use toml::Value;

/// A name with its options as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The text before the colon.
    pub name: String,
    /// Keys and values in the order typed.
    pub options: Vec<(String, String)>,
}

/// Splits a word; `main` is the option that a leading bare value sets for a name, if any.
///
/// # Errors
/// What is wrong with the word.
pub fn split(word: &str, main: impl Fn(&str) -> Option<&'static str>) -> Result<Word, String> {
    let Some((name, rest)) = word.split_once(':') else {
        return Ok(Word { name: word.into(), options: Vec::new() });
    };
    let options = options(rest, main(name)).map_err(|message| match message.as_str() {
        "" => "nothing follows the colon".into(),
        _ => message,
    })?;
    Ok(Word { name: name.into(), options })
}

/// Splits `key=value,key=value`. A piece without `=` extends the value before it; at the start it sets the main option.
///
/// # Errors
/// A bare value where there is no main option, a key given twice, an empty text.
pub fn options(text: &str, main: Option<&str>) -> Result<Vec<(String, String)>, String> {
    let mut options: Vec<(String, String)> = Vec::new();
    for piece in text.split(',') {
        match (piece.split_once('='), options.last_mut()) {
            (Some(("name", _)), _) => return Err("`name` is not an option: the name stands before the colon".into()),
            (Some((key, _)), _) if !is_key(key) => return Err(format!("`{key}` is not the name of an option")),
            (Some((key, value)), _) => {
                unused(&options, key)?;
                options.push((key.into(), value.into()));
            }
            (None, Some((_, value))) => {
                value.push(',');
                value.push_str(piece);
            }
            (None, None) if piece.is_empty() => return Err(String::new()),
            (None, None) => match main {
                Some(main) => options.push((main.into(), piece.into())),
                None => return Err(format!("`{piece}` is not of the form key=value")),
            },
        }
    }
    Ok(options)
}

/// Refuses a key that was already given.
///
/// # Errors
/// The key was already given.
pub fn unused(options: &[(String, String)], key: &str) -> Result<(), String> {
    match options.iter().any(|(known, _)| known == key) {
        true => Err(format!("`{key}` is given twice")),
        false => Ok(()),
    }
}

/// Reads the value of a flag, which may be a negative number but not the next flag.
///
/// # Errors
/// It is a flag.
pub fn text(text: &str) -> Result<String, String> {
    let flag = text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_alphabetic()) && text.starts_with('-');
    if flag { Err("this is the next option; the value before it is missing".into()) } else { Ok(text.into()) }
}

/// Reads the word of a policy: `fifo:80`.
///
/// # Errors
/// As [`split`].
pub fn policy(word: &str) -> Result<Word, String> {
    split(word, |name| POLICIES.iter().find(|(policy, _)| *policy == name)?.1.first().copied())
}

/// Writes a whole number as a plan does, and anything else as a string, so that the reader of the plan can say what it expects instead.
pub fn number(text: &str) -> String {
    text.parse().map_or_else(|_| quote(text), |number| value(&Value::Integer(number)))
}

/// Returns the axis that a flag of `run` sets, by the flag's name. Returns any other word unchanged.
pub fn axis(name: &str) -> &str {
    match name {
        "tune" => "tuning",
        "policy" | "prio" | "nice" => "scheduling",
        "on" => "target",
        other => other,
    }
}

/// Reads the value of `--label`.
///
/// # Errors
/// It is not a valid label.
pub fn label(text: &str) -> Result<String, String> {
    let sound = text.trim() == text && (1..=100).contains(&text.chars().count()) && !text.chars().any(clean::is_hidden);
    if !sound || text.contains(['/', ',']) || ["last", ".", ".."].contains(&text) {
        return Err("a label is 1 to 100 visible characters without `/` and `,`, and not `last`, `.` or `..`".into());
    }
    if begins_a_run(text) {
        return Err(
            "a label that looks like the beginning of a run's id would find that run instead: add a word".into()
        );
    }
    Ok(text.into())
}

/// Returns whether a text could start a run's id, `20261128T165909Z-quick-0a1b`, as `2026` does.
fn begins_a_run(text: &str) -> bool {
    let fits = |(c, form): (char, char)| if form == '0' { c.is_ascii_digit() } else { c == form };
    text.chars().zip("00000000T000000Z-".chars()).all(fits)
}

/// Reads the value of `--seed`: a number that a plan can also contain as its seed.
///
/// # Errors
/// It is not such a number.
pub fn seed(text: &str) -> Result<u64, String> {
    let seed = text.parse().ok().filter(|seed| i64::try_from(*seed).is_ok());
    seed.ok_or_else(|| format!("a seed is a whole number from 0 to {}", i64::MAX))
}

/// Reads the value of `--scale`.
///
/// # Errors
/// It is not a part of a whole.
pub fn part(text: &str) -> Result<f64, String> {
    let part = text.parse().ok().filter(|part: &f64| *part > 0.0 && *part <= 1.0);
    part.ok_or_else(|| "write a number above 0 and at most 1, for example 0.01".into())
}

/// Reads the value of `--plan-power`.
///
/// # Errors
/// It is not a useful ratio.
pub fn ratio(text: &str) -> Result<f64, String> {
    let ratio = text.parse().ok().filter(|ratio: &f64| *ratio > 1.0 && *ratio <= 1e6);
    ratio.ok_or_else(|| "write a number above 1, for example 1.5".into())
}

/// Returns whether a word is `key=value`.
pub fn is_option(word: &str) -> bool {
    word.split_once('=').is_some_and(|(key, _)| is_key(key))
}

/// Returns whether a text can be the name of an option.
pub fn is_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// One load or tuning with typed options, and the name that its level gets in tables.
pub struct Asked {
    /// `{ name = "stress-ng", sleep = 16 }`
    pub toml: String,
    /// `stress-ng sleep=16`
    pub id: String,
}

/// Reads the word of a load or tuning.
///
/// # Errors
/// What is wrong with the word; its name and options are checked later, with all others.
pub fn asked(list: List<'_>, word: &str) -> Result<Asked, String> {
    asked_with(list, word, Vec::new())
}

/// The same, with options that follow the word.
///
/// # Errors
/// What is wrong with the word, or an option given twice.
pub fn asked_with(list: List<'_>, word: &str, more: Vec<(String, String)>) -> Result<Asked, String> {
    let main = |name: &str| list.entry(name).and_then(|entry| entry.main_option);
    let name = word.split(':').next().unwrap_or_default();
    if !name.is_empty() && list.entry(name).is_none() {
        // The options of an unknown name are unknown too. The error is about the name, and the reader of the plan lists the right ones.
        return Ok(Asked { toml: format!("{{ name = {} }}", quote(name)), id: name.into() });
    }
    if let Some((name, rest)) = word.split_once(':')
        && let Some(main) = main(name)
        && takes_argv(list, name, main)
    {
        if !more.is_empty() {
            return Err("put the word with the program and its arguments into quotes".into());
        }
        let argv: Vec<Value> = rest.split_whitespace().map(Value::from).collect();
        let toml = format!("{{ name = {}, {} = {} }}", quote(name), bare(main), value(&Value::Array(argv)));
        return Ok(Asked { toml, id: format!("{name} {}", rest.trim()).chars().take(200).collect() });
    }
    let Word { name, mut options } = split(word, main)?;
    for (key, text) in more {
        unused(&options, &key)?;
        options.push((key, text));
    }
    if name.is_empty() {
        return Err(format!("the name of a {} is missing", list.kind.word()));
    }
    let (mut toml, mut id) = (format!("{{ name = {}", quote(&name)), name.clone());
    for (key, text) in &options {
        toml.push_str(&format!(", {} = {}", bare(key), value(&list.value(&name, key, text))));
        // The name of a level shows the value that each level took, so the list of values is left out.
        if ramp::levels(text).is_some() {
            continue;
        }
        id.push_str(&match main(&name) == Some(key) {
            true => format!(" {text}"),
            false => format!(" {key}={text}"),
        });
    }
    toml.push_str(" }");
    Ok(Asked { toml, id })
}

/// Returns whether an option is a program with its arguments: a list, never a single string.
pub fn takes_argv(list: List<'_>, name: &str, key: &str) -> bool {
    let one = Value::from("x");
    list.objection(name, key, &one).is_some() && list.objection(name, key, &Value::Array(vec![one])).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::catalogue::trial;

    fn pairs(text: &str) -> Result<String, String> {
        let shown = |(key, value): &(String, String)| format!("{key}->{value}");
        Ok(options(text, Some("main"))?.iter().map(shown).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn commas_belong_to_the_value_before_them() {
        for (text, expected) in [
            ("a=1", "a->1"),
            ("a=1,b=2", "a->1 b->2"),
            ("cpus=0,4-5", "cpus->0,4-5"),
            ("cpus=0,4-5,b=x=y", "cpus->0,4-5 b->x=y"),
            ("off", "main->off"),
            ("1,3,b=2", "main->1,3 b->2"),
            ("a=", "a->"),
            ("a=,", "a->,"),
        ] {
            assert_eq!(pairs(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_wrong_word_says_why() {
        for (text, expected) in [
            ("a=1,a=2", "`a` is given twice"),
            ("off,main=2", "`main` is given twice"),
            ("a b=1", "`a b` is not the name of an option"),
            ("=1", "`` is not the name of an option"),
            ("a=1,name=x", "`name` is not an option: the name stands before the colon"),
        ] {
            assert_eq!(pairs(text), Err(expected.to_string()), "{text}");
        }
        assert_eq!(options("off", None), Err("`off` is not of the form key=value".into()));
        assert_eq!(split("x:", |_| None), Err("nothing follows the colon".into()));
    }

    #[test]
    fn values_get_the_type_that_the_option_takes() {
        for (word, toml, id) in [
            (
                "trial:250us,sleep=4,cpus=1",
                r#"{ name = "trial", period = "250us", sleep = 4, cpus = "1" }"#,
                "trial 250us sleep=4 cpus=1",
            ),
            ("trial:period=1ms,cpus=1,3", r#"{ name = "trial", period = "1ms", cpus = "1,3" }"#, "trial 1ms cpus=1,3"),
            (
                "command:make -j4  a=b,c",
                r#"{ name = "command", argv = ["make", "-j4", "a=b,c"] }"#,
                "command make -j4  a=b,c",
            ),
            ("trial:1ms,sleep=4,8..16", r#"{ name = "trial", period = "1ms", sleep = "4,8..16" }"#, "trial 1ms"),
            ("unheard-of", r#"{ name = "unheard-of" }"#, "unheard-of"),
        ] {
            let asked = asked(trial(), word).unwrap();
            assert_eq!((asked.toml.as_str(), asked.id.as_str()), (toml, id));
        }
    }

    proptest::proptest! {
        #[test]
        fn no_word_panics(word in "\\PC*") {
            let _ = asked(trial(), &word);
            let _ = asked(trial(), &format!("trial:{word}"));
        }
    }
}
