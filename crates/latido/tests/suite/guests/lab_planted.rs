//! What is planted in a guest is found again exactly: the guest's clock counts instructions, so that nothing of this machine is in
//! the numbers, and the same bytes come each time. On real machines the same is shown by relations (`measuring/hog.rs`,
//! `measuring/interference.rs`, `measuring/calls.rs`, `guests/guest_tracers.rs`).

use crate::common::lab as laboratory;
use crate::common::{World, json};

use laboratory::kernel;
use serde_json::Value;

const MS: i64 = 1_000_000;

/// A cell of a guest; its document, which must have this exit status. Nothing where the kernel cannot be had, which is told.
fn measured(name: &str, status: i32, words: &[&str]) -> Option<Value> {
    kernel(name, &format!("planted in a guest: {}", words.join(" ")))?;
    let world = World::new();
    let lab = ["--on", "lab", "--kernel", name, "--seed", "3", "--no-report", "--json"];
    let output = world.run([&["run"], words, &lab].concat());
    let document = json(&output, status);
    world.nothing_left("after a guest");
    Some(document)
}

fn series<'a>(document: &'a Value, quantity: &str) -> &'a Value {
    let all = document["records"][0]["series"].as_array().unwrap();
    all.iter().find(|one| one["quantity"] == quantity).unwrap_or_else(|| panic!("no {quantity}: {all:?}"))
}

fn number(value: &Value, key: &str) -> i64 {
    value[key].as_i64().unwrap_or_else(|| panic!("no {key} in {value}"))
}
