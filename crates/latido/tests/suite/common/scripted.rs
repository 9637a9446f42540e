//! The answers of a real agent, as a script for the target `fake`.

use crate::common::World;
use latido_model::{
    cell::Cell,
    protocol::{Request, Writer},
};
use std::{
    io::{BufRead, BufReader, Read},
    process::{Command, Stdio},
};

/// The answers of a real agent for these cells: its hello, and the bytes of its answer to each request.
pub struct Recorded {
    pub hello: Vec<u8>,
    pub answers: Vec<Vec<u8>>,
}

pub fn recorded(world: &World, cells: &[Cell]) -> Recorded {
    let mut agent = Command::new(env!("CARGO_BIN_EXE_latido"))
        .arg("agent")
        .env("LATIDO_STATE", world.state())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = Writer::new(agent.stdin.take().unwrap());
    let mut output = BufReader::new(agent.stdout.take().unwrap());
    let mut hello = Vec::new();
    output.read_until(b'\n', &mut hello).unwrap();
    let mut answers = Vec::new();
    let prepare = Request::Prepare { cells: cells.to_vec(), wait: None };
    let measure = cells.iter().map(|cell| Request::Measure { cell: Box::new(cell.clone()) });
    for request in [prepare].into_iter().chain(measure) {
        input.send(&request).unwrap();
        let mut answer = Vec::new();
        loop {
            let from = answer.len();
            output.read_until(b'\n', &mut answer).unwrap();
            let line = String::from_utf8_lossy(&answer[from..]).into_owned();
            if let Some(len) = line.split("\"type\":\"chunk\",\"len\":").nth(1) {
                let len: usize = len.split('}').next().unwrap().parse().unwrap();
                let mut bytes = vec![0; len];
                output.read_exact(&mut bytes).unwrap();
                answer.extend(bytes);
            }
            if line.contains("\"type\":\"end\"") {
                assert!(line.contains("done"), "{line}");
                break;
            }
        }
        answers.push(answer);
    }
    drop(input);
    agent.wait().unwrap();
    Recorded { hello, answers }
}

impl Recorded {
    /// The whole script, in which each answer waits for its request.
    pub fn script(&self) -> Vec<u8> {
        let mut script = self.hello.clone();
        for (number, answer) in (1..).zip(&self.answers) {
            script.extend(format!("#wait {number}\n").into_bytes());
            script.extend(answer);
        }
        script
    }
}
