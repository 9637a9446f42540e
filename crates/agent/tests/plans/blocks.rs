//! Blocks: latido measures all cells of one target, kernel and boot together, because it prepares the machine for them once.

use super::*;

const BLOCKS: &str = r#"schema = 1
name = "blocks"
seed = 7
boots = 2
[[group]]
probe = [{ name = "null", samples = [1, 2, 3] }]
load = ["none", { id = "calm", use = [] }]
target = ["local", "ssh:root@board"]
kernel = ["running", "rt"]
repeat = 3
[[group]]
probe = ["null"]
kernel = ["rt"]
repeat = 2
"#;

/// The target, kernel and boot of a cell.
fn block(cell: &Cell) -> (&str, &str, u32) {
    (&cell.target, &cell.kernel, cell.boot)
}

/// The blocks in the order in which they run, each with its cells.
fn blocks(cells: &[Cell]) -> Vec<&[Cell]> {
    cells.chunk_by(|one, next| block(one) == block(next)).collect()
}

#[test]
fn the_cells_of_a_boot_follow_one_another() {
    for order in [Order::Interleaved, Order::AsWritten] {
        let plan = Plan { order, ..parse("blocks.toml", BLOCKS).unwrap() };
        let cells = expand(&plan);
        assert_eq!(cells.len(), 2 * (2 * 2 * 6 * 3 + 2));
        let blocks = blocks(&cells);
        assert_eq!(blocks.len(), 8, "two targets, two kernels, two boots, none of them twice");
        let mut distinct: Vec<_> = blocks.iter().map(|cells| block(&cells[0])).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 8);
        // latido boots each kernel once before it boots any for the second time.
        assert!(cells.is_sorted_by_key(|cell| cell.boot));
    }
}

#[test]
fn repeats_interleave_within_their_block() {
    let cells = expand(&parse("blocks.toml", BLOCKS).unwrap());
    let samples = |cell: &Cell| (cell.load.id.clone(), cell.probe.options.get("samples").map(ToString::to_string));
    let mut orders = std::collections::BTreeSet::new();
    for cells in blocks(&cells) {
        assert!(cells.is_sorted_by_key(|cell| cell.repeat), "a repeat is whole before the next begins");
        for repeat in cells.chunk_by(|one, next| one.repeat == next.repeat) {
            orders.insert(repeat.iter().map(samples).collect::<Vec<_>>());
        }
    }
    assert!(orders.len() > 12, "each repeat of each boot has another order: {}", orders.len());
}

/// Each cell has its own seed, on every target and in every boot.
#[test]
fn each_cell_of_each_boot_has_a_seed_of_its_own() {
    let cells = expand(&parse("blocks.toml", BLOCKS).unwrap());
    let seeds: std::collections::BTreeSet<u64> = cells.iter().map(|cell| cell.seed).collect();
    assert_eq!(seeds.len(), cells.len());
}

#[test]
fn more_boots_change_nothing_in_the_first() {
    let of = |boots: u32| expand(&Plan { boots, ..parse("blocks.toml", BLOCKS).unwrap() });
    let (one, three) = (of(1), of(3));
    assert_eq!(one, three[..one.len()]);
    assert_eq!(three.len(), 3 * one.len());
}

#[test]
fn targets_and_boots_are_printed_and_read_again() {
    let plan = parse("blocks.toml", BLOCKS).unwrap();
    let printed = print::plan(&plan);
    assert!(
        printed.contains("boots = 2\n") && printed.contains("target = [\"local\", \"ssh:root@board\"]"),
        "{printed}"
    );
    assert_eq!(parse("printed.toml", &printed).unwrap(), plan);
    // Values that every plan has by default are not printed.
    let plain = print::plan(&parse("good.toml", GOOD).unwrap());
    assert!(!plain.contains("boots") && !plain.contains("target"), "{plain}");
    assert_eq!(
        Extent::of_plan(&Plan { boots: 1, ..plan.clone() }, &Around::default()).sentence(),
        "36 cells, until the probe has its number of samples; 38 more are skipped"
    );
    assert_eq!(
        Extent::of_plan(&plan, &Around::default()).sentence(),
        "72 cells, until the probe has its number of samples; 76 more are skipped"
    );
}

#[test]
fn bad_targets_and_boots_are_refused_at_their_line() {
    let group = |line: &str| format!("schema = 1\nname = \"x\"\n[[group]]\nprobe = [\"null\"]\n{line}\n");
    for (text, answer) in [
        (group("target = []"), "plan.toml:5: "),
        (group("target = \"local\""), "plan.toml:5: "),
        (
            group("target = [\"board\"]"),
            "plan.toml:5: a target is `local`, `lab`, or KIND:PLACE such as `ssh:root@board`",
        ),
        (group("target = [\"ssh:\"]"), "plan.toml:5: a target is `local`"),
        (group("target = [\"ssh:-oProxyCommand\"]"), "plan.toml:5: a target is `local`"),
        (group("target = [\"ssh:a b\"]"), "plan.toml:5: a target is `local`"),
        (group("target = [\"local\", \"local\"]"), "plan.toml:5: the target `local` is named twice"),
        (format!("boots = 0\n{}", group("")), "plan.toml:1: boots must be from 1 to 1000, not "),
        (format!("boots = 1001\n{}", group("")), "plan.toml:1: boots must be from 1 to 1000, not "),
        (format!("boots = 200\n{}", group("repeat = 1000")), "plan.toml: the plan has more than 10000 cells"),
    ] {
        let refused = refusal(&text);
        assert!(refused.starts_with(answer), "{text}\n{refused}");
    }
}
