//! Writes values and items as in a plan, each in one line of TOML, and commands as for a shell.

use crate::cell::Item;
use toml::Value;

/// Writes `{ name = "wakeup", period = "1ms" }`.
pub fn item(item: &Item) -> String {
    let options = item.options.iter().map(|(key, one)| format!(", {} = {}", bare(key), value(one)));
    format!("{{ name = {}{} }}", quote(&item.name), options.collect::<String>())
}

/// Writes `wakeup:period=1ms`, the form on the command line. It only works for values without a blank or a comma.
pub fn short(item: &Item) -> String {
    let options: Vec<String> = item.options.iter().map(|(key, one)| format!("{key}={}", said(one))).collect();
    if options.is_empty() { item.name.clone() } else { format!("{}:{}", item.name, options.join(",")) }
}

/// Writes a value in one line.
pub fn value(one: &Value) -> String {
    match one {
        Value::String(text) => quote(text),
        Value::Array(values) => format!("[{}]", values.iter().map(value).collect::<Vec<_>>().join(", ")),
        Value::Table(table) => {
            let pairs: Vec<String> = table.iter().map(|(key, one)| format!("{} = {}", bare(key), value(one))).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        other => other.to_string(),
    }
}

/// Writes a value as people do, a string without its quotes: `250us`.
pub fn said(one: &Value) -> String {
    one.as_str().map_or_else(|| one.to_string(), str::to_owned)
}

/// Writes any string in one line. The escapes of JSON are those of TOML, except for the one control character that JSON does not escape.
pub fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

/// Writes a key, in quotes if it needs them.
pub fn bare(key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !key.is_empty() && key.chars().all(plain) { key.into() } else { quote(key) }
}

/// Writes the words of a command so that a shell reads them back unchanged.
pub fn shell(argv: &[String]) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_=+:,./@%".contains(c);
    let quote = |word: &String| match !word.is_empty() && word.chars().all(safe) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    argv.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// Programs that run or read a file: their argument gives the name.
const READERS: [&str; 16] = [
    "bash", "cat", "dash", "env", "java", "lua", "node", "nodejs", "perl", "python", "python3", "ruby", "sh", "socat",
    "stdbuf", "tail",
];

/// Returns the name of a program from its command line: `node.py` for `python3 -u node.py`, `ttyACM0` for `cat /dev/ttyACM0`.
pub fn program(argv: &[String]) -> String {
    let file = |word: &str| {
        let word = word.split(',').next().unwrap_or(word);
        word.rsplit('/').find(|part| !part.is_empty()).unwrap_or(word).to_owned()
    };
    let first = argv.first().map(|word| file(word)).unwrap_or_default();
    if !READERS.contains(&first.as_str()) {
        return first;
    }
    let read = argv.iter().skip(1).find(|word| !word.starts_with('-') && !word.contains('=') && !word.contains(' '));
    read.map_or(first, |word| file(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_called_by_what_is_read() {
        let called = |line: &str| program(&line.split(' ').map(String::from).collect::<Vec<_>>());
        assert_eq!(called("python3 -u dir/node.py 7"), "node.py");
        assert_eq!(called("cat /dev/ttyACM0"), "ttyACM0");
        assert_eq!(called("socat - /dev/ttyACM0,b115200,rawer"), "ttyACM0");
        assert_eq!(called("/opt/bin/measure --fast x"), "measure");
        assert_eq!((called("java"), called("sh -c")), ("java".into(), "sh".into()));
        assert_eq!(program(&[]), "");
    }

    #[test]
    fn commands_survive_the_shell() {
        let argv = ["latido", "run", "it's", "a b", ""].map(String::from);
        assert_eq!(shell(&argv), r"latido run 'it'\''s' 'a b' ''");
    }
}
