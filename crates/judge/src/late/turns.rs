//! Which tasks had the CPU of a late sample, one after the other, and the interrupts between them.

use latido_trace::explain::{Cause, Slice};

/// A task that had the CPU, with the interrupts that interrupted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// `name-number` of the task.
    pub task: String,
    /// How long it kept the thread from the CPU, in ns.
    pub ns: u64,
    /// The interrupts between this task and the next one, in ns.
    pub then_ns: u64,
}

/// Returns the tasks in order of time. An interrupt between two slices of a task did not delay the thread, because the task had the CPU
/// anyway. It counts to the task, as far as it took no longer than the task itself. Interrupts before the first task and after the last one
/// are nobody's.
pub(super) fn turns(slices: &[Slice]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    // The interrupts since the last task; `None` after something else, for example the thread itself.
    let mut since_ns = None;
    for slice in slices {
        let interrupts_ns = since_ns.unwrap_or(0);
        match (&slice.cause, turns.last_mut()) {
            (Cause::Task(name, _), Some(last)) if last.task == *name => {
                let ran_ns = last.ns.saturating_add(slice.ns());
                last.ns = ran_ns.saturating_add(interrupts_ns.min(ran_ns));
                since_ns = Some(0);
            }
            (Cause::Task(name, _), last) => {
                last.into_iter().for_each(|last| last.then_ns = interrupts_ns.min(last.ns));
                since_ns = Some(0);
                turns.push(Turn { task: name.clone(), ns: slice.ns(), then_ns: 0 });
            }
            (Cause::Nmi | Cause::Interrupt(_) | Cause::Soft(_), _) => {
                since_ns = since_ns.map(|ns: u64| ns.saturating_add(slice.ns()));
            }
            _ => since_ns = None,
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_trace::events::Class;

    fn found(slices: &[(&str, u64)]) -> Vec<(String, u64, u64)> {
        let mut at = 0;
        let cause = |name: &str| match name {
            "tick" => Cause::Interrupt(name.into()),
            "itself" => Cause::Itself,
            task => Cause::Task(task.into(), Class::RealTime),
        };
        let slices = slices.iter().map(|(name, ns)| {
            let begin = at;
            at += ns;
            Slice { begin, end: at, cause: cause(name) }
        });
        turns(&slices.collect::<Vec<_>>()).into_iter().map(|turn| (turn.task, turn.ns, turn.then_ns)).collect()
    }

    #[test]
    fn an_interrupt_within_a_task_is_of_its_turn() {
        let told = found(&[("tick", 5), ("a-1", 100), ("tick", 9), ("a-1", 100), ("tick", 7), ("itself", 3)]);
        assert_eq!(told, [("a-1".into(), 209, 0)], "neither the first nor the last interrupt");
        let told = found(&[("a-1", 100), ("tick", 9), ("b-2", 50)]);
        assert_eq!(told, [("a-1".into(), 100, 9), ("b-2".into(), 50, 0)]);
        let told = found(&[("a-1", 100), ("itself", 5), ("tick", 9), ("itself", 5), ("a-1", 100)]);
        assert_eq!(told, [("a-1".into(), 200, 0)], "this interrupt delayed the thread itself");
        let told = found(&[("a-1", 100), ("tick", 9), ("itself", 5), ("b-2", 50)]);
        assert_eq!(told, [("a-1".into(), 100, 0), ("b-2".into(), 50, 0)]);
        let told = found(&[("a-1", 10), ("tick", 900), ("a-1", 10)]);
        assert_eq!(told, [("a-1".into(), 40, 0)], "interrupts that took longer than the task are not the task's doing");
    }
}
