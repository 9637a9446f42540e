//! `interrupt`: how late the handler of an event runs, and how much later the waiting task runs; or what the machine's interrupts do, from
//! its events.

mod events;
mod sources;
mod stamped;

use crate::measure::{Def, Probe};
use latido_model::{registry::Objection, suggest::nearest};
use sources::SOURCES;

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "interrupt",
    about: "how late an event's handler and then its task run, by three stamps; or how long interrupts take, from events",
    help: include_str!("help.txt"),
    main_option: Some("source"),
    new: |table| match table.get("source").map(toml::Value::as_str) {
        None | Some(Some("events")) => events::new(table),
        Some(Some(name)) => match SOURCES.iter().find(|source| source.name == name) {
            Some(source) => stamped::new(source, table),
            None => Err(unknown(name)),
        },
        Some(None) => Err(unknown("")),
    },
};

fn unknown(name: &str) -> anyhow::Error {
    let names = || std::iter::once("events").chain(SOURCES.iter().map(|source| source.name));
    let all = names().collect::<Vec<_>>().join(", ");
    Objection::Value(format!("`source` must be one of {all}{}", nearest(name, names()))).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Result;

    fn refusal(text: &str) -> String {
        let probe: Result<Box<dyn Probe>> = (DEF.new)(text.parse().unwrap());
        match probe {
            Ok(_) => String::new(),
            Err(error) => format!("{error:#}"),
        }
    }

    /// latido refuses an option that a source does not have before anything starts. If a user misspells a source, the refusal names all
    /// sources.
    #[test]
    fn options_that_a_source_does_not_have_are_refused() {
        for (text, why) in [
            ("source = 'tmier'", "timer"),
            ("source = 7", "`source` must be one of events"),
            ("source = 'timer'\nirq_prio = 50", "no interrupt thread"),
            ("source = 'timer'\ntrigger_prio = 50", "raises its events by itself"),
            ("source = 'timer'\ntask = 'x'", "task"),
            ("source = 'timer'\nrate = 0", "`rate`"),
            ("source = 'timer'\nrate = 100001", "`rate`"),
            ("source = 'hpet'\nirq_prio = 100", "`irq_prio`"),
            ("source = 'timer'\nhandler = 'x'", "stamps its handler by a kernel event"),
            ("source = 'hpet'\nhandler = 'a b'", "`handler`"),
            ("rate = 97", "rate"),
            ("source = 'timer'\nstation = 'netns'", "no option `station`"),
            ("source = 'network'\nstation = 'nowhere'", "`station` is local"),
            ("source = 'network'\ntrigger_prio = 5", "another process"),
            ("source = 'network'\nhandler = 'x'", "carries its own stamp"),
            ("source = 'gpio'", "out=N and in=M"),
            ("source = 'gpio'\nout = 4\nin = 4", "out=N and in=M"),
            ("source = 'uio'\nraise = '0x61:1'", "OFFSET:VALUE"),
            ("source = 'parport'\nraise = '0x60:1'", "no option `raise`"),
        ] {
            assert!(refusal(text).contains(why), "{text}: {}", refusal(text));
        }
        for source in SOURCES {
            assert!(refusal("source = 'none'").contains(source.name), "{}", refusal("source = 'none'"));
            assert!(DEF.help.contains(&format!("\n  {} ", source.name)), "the help has no line of `{}`", source.name);
            let lines = if source.options.contains(&"in") { "\nout = 1\nin = 2" } else { "" };
            assert_eq!(refusal(&format!("source = '{}'{lines}", source.name)), "");
        }
    }
}
