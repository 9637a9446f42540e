//! `video`: plays a film without showing it: ffmpeg decodes it in software, at the film's speed or as fast as possible.

use crate::{
    loading::{Launch, Load, Surroundings, account, listening::Paced, work},
    program,
};
use anyhow::{Context, Result, ensure};
use latido_model::{
    registry::{self, Def},
    units::Ns,
};
use latido_sys::clock::Clock::Monotonic;
use rustix::fs::MemfdFlags;
use serde::{Deserialize, Serialize};
use std::{
    os::fd::AsRawFd,
    process::{Command, Stdio},
};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "video",
    about: "decodes a film without showing it: software decoding by ffmpeg",
    help: "\
Makes a short test film in memory (two seconds, MPEG-4; nothing is written to a disk) and decodes it again and again in
software with ffmpeg, without a picture.

Options:
  size    picture size; default 1920x1080
  rate    pictures per second of the film; default 30
  speed   film (default): at the film's own speed; max: as fast as the machine can

The record's `achieved` holds frames and elapsed_ns. The load makes the film first. On a PC this ends within the
settling time; on a small board it may last into the warm-up. Needs ffmpeg.",
    main_option: Some("size"),
    new: |table| {
        let video: Video = registry::options(table)?;
        let (width, height) = video.size.split_once('x').context("`size` is written as 1920x1080")?;
        for side in [width, height] {
            ensure!(
                side.parse::<u32>().is_ok_and(|side| (16..=7680).contains(&side) && side.is_multiple_of(2)),
                "`size` is written as 1920x1080, with even sides from 16 to 7680"
            );
        }
        ensure!((1..=240).contains(&video.rate), "`rate` is 1 to 240 pictures per second");
        Ok(Box::new(video))
    },
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Video {
    size: String,
    rate: u32,
    speed: Speed,
}

impl Default for Video {
    fn default() -> Self {
        Self { size: "1920x1080".into(), rate: 30, speed: Speed::Film }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Speed {
    Film,
    Max,
}

/// The program.
pub const PROGRAM: &str = "ffmpeg";

impl Load for Video {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn launch(&self, _around: &Surroundings) -> Result<Option<Launch>> {
        let there = work::version(PROGRAM, "-version")?.context("ffmpeg is not installed: apt-get install ffmpeg")?;
        let own = std::env::current_exe().context("cannot find latido's own file to start the load")?;
        let speed = if self.speed == Speed::Film { "film" } else { "max" };
        let word = format!("video:size={},rate={},speed={speed}", self.size, self.rate);
        let argv = vec![own.to_string_lossy().into_owned(), "load".into(), word];
        let commands = vec![self.make("FILM").join(" "), self.play("FILM").join(" ")];
        Ok(Some(Launch { version: Some(there.version), programs: there.programs, commands, ..Launch::of(argv) }))
    }

    fn settle(&self) -> Ns {
        Ns::from_secs(4)
    }

    fn bear(&self) -> Option<Result<()>> {
        Some(self.show())
    }
}

impl Video {
    fn make(&self, file: &str) -> Vec<String> {
        let source = format!("testsrc2=size={}:rate={}:duration=2", self.size, self.rate);
        ["ffmpeg", "-nostdin", "-loglevel", "error", "-y", "-f", "lavfi", "-i", &source]
            .into_iter()
            .chain(["-c:v", "mpeg4", "-q:v", "5", "-f", "matroska", file])
            .map(String::from)
            .collect()
    }

    fn play(&self, file: &str) -> Vec<String> {
        let speed = if self.speed == Speed::Film { &["-re"][..] } else { &[] };
        let (before, after) = (["ffmpeg", "-nostdin", "-loglevel", "error"], ["-stream_loop", "-1", "-i", file]);
        let out = ["-an", "-f", "null", "-progress", "pipe:1", "-"];
        before.iter().chain(speed).chain(&after).chain(&out).map(ToString::to_string).collect()
    }

    /// Runs the load until another process ends it. The film is in memory that is freed with this process.
    fn show(&self) -> Result<()> {
        // The file has no close-on-exec flag: ffmpeg opens it through this process's number in /proc.
        let film = rustix::fs::memfd_create("latido-film", MemfdFlags::empty()).context("memory for the film")?;
        let file = format!("/proc/{}/fd/{}", std::process::id(), film.as_raw_fd());
        let made = command(&self.make(&file))?.status().context("ffmpeg, making the film")?;
        ensure!(made.success(), "ffmpeg could not make the film: {made}");
        let started = Monotonic.now();
        let mut player = command(&self.play(&file))?.stdout(Stdio::piped()).spawn().context("ffmpeg, playing")?;
        let progress = player.stdout.take().context("ffmpeg has no output")?;
        Paced::new(progress).lines(|line| {
            let line = String::from_utf8_lossy(line);
            match line.strip_prefix("frame=").and_then(|n| n.trim().parse().ok()) {
                Some(frames) => {
                    account::tell(&[("frames", frames), ("elapsed_ns", Monotonic.now().saturating_sub(started))])
                }
                None => Ok(()),
            }
        })?;
        anyhow::bail!("ffmpeg ended by itself: {}", player.wait()?)
    }
}

fn command(argv: &[String]) -> Result<Command> {
    let (program, arguments) = argv.split_first().context("no program")?;
    let program = program::find(program)?.with_context(|| format!("{program} is not installed"))?;
    let mut command = program.command();
    command.args(arguments).stdin(Stdio::null());
    Ok(command)
}
