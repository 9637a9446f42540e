//! Any word as the name of a machine, on the command line and in a plan: an answer; a host's name contains nothing that ssh could take for
//! an option or a shell for a command, and a plan with this name is printed and read as the same.
#![no_main]

use latido::{cli::known::CATALOGUE, machines::named};
use latido_model::plan::{expand, parse::parse, print};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|word: &str| {
    let opened = named(word).is_ok();
    if let Some(host) = word.strip_prefix("ssh:").filter(|_| opened) {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:@%[]".contains(c);
        assert!(!host.is_empty() && host.chars().all(plain), "{word:?}");
        // Splits like ssh: a user's name may contain an @.
        let parts = host.rsplit_once('@').map_or([host, host], |(user, host)| [user, host]);
        assert!(parts.iter().all(|part| !part.is_empty() && !part.starts_with('-')), "{word:?}");
    }
    let name = toml::Value::String(word.into());
    let text =
        format!("schema = 1\nname = \"x\"\nseed = 1\nboots = 2\n[[group]]\nprobe = [\"null\"]\ntarget = [{name}]\n");
    let Ok(plan) = parse("plan.toml", &text, CATALOGUE) else { return };
    assert_eq!(plan.groups[0].target, [word]);
    let printed = print::plan(&plan);
    let again = parse("printed.toml", &printed, CATALOGUE).unwrap_or_else(|problem| panic!("{problem}\n{printed}"));
    assert_eq!(again.groups[0].target, [word], "{printed}");
    let cells = expand(&again);
    assert_eq!(cells, expand(&plan), "{printed}");
    assert_eq!(cells.iter().map(|cell| cell.boot).collect::<Vec<_>>(), [1, 2]);
});
