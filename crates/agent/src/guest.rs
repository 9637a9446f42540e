//! The first process of a laboratory's guest. It sets the machine up, hosts the agent with the requests of its image, and hands out the
//! answers at the end. Nothing comes in after the start: every answer depends on the image alone.

use anyhow::{Context, Result, bail, ensure};
use flate2::{Compression, write::GzEncoder};
use latido_model::protocol::{Chunks, Message, PING_EVERY, Reply, Request, Writer, hex};
use rustix::{
    mount::{MountFlags, mount},
    system::{RebootCommand, finit_module, reboot, sethostname},
    termios::{OptionalActions, tcdrain, tcgetattr, tcsetattr},
};
use sha2::{Digest, Sha256};
use std::{
    ffi::CString,
    fs::{self, OpenOptions},
    io::{BufRead, BufReader, Read, Write},
    os::unix::fs::symlink,
    path::Path,
    process::{ChildStdin, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// The requests of the image: a JSON array of [`Request`]s.
pub const REQUESTS: &str = "lab/requests";

/// How long the guest waits before it starts, in ns: the phase of the sweep's replicate.
pub const OFFSET: &str = "lab/offset";

/// The modules that the guest loads: per line, the name of a file next to this one, and its parameters.
pub const MODULES: &str = "lab/modules";

/// The settings that the guest then writes: one `PATH=VALUE` per line.
pub const SETTINGS: &str = "lab/settings";

/// The port for the answers, to which nothing else writes. A PC's console is its first port; an ARM machine's console is no such port.
const OUT: &str = if cfg!(target_arch = "x86_64") { "/dev/ttyS1" } else { "/dev/ttyS0" };

/// The word before the answers. Their length, their SHA-256, the agent's start time in ns and the answers themselves follow.
pub const MARK: &str = "latido-lab";

/// Whether this process is the first of a guest.
pub fn is_here() -> bool {
    std::process::id() == 1 && Path::new("/").join(REQUESTS).exists()
}

/// Runs the guest, and switches it off. Never returns normally.
///
/// # Errors
/// The machine cannot be switched off.
pub fn run() -> Result<u8> {
    let told = set_up().and_then(|()| answers());
    if let Err(why) = told.and_then(|told| hand_out(&told)) {
        // The laboratory shows the console's log of a guest that failed.
        if let Ok(mut console) = OpenOptions::new().write(true).open("/dev/console") {
            let _ = writeln!(console, "latido-lab: {why:#}");
            let _ = tcdrain(&console);
        }
    }
    reboot(RebootCommand::PowerOff).context("the guest cannot be switched off")?;
    bail!("the guest was not switched off")
}

/// Mounts the file systems that programs expect.
fn set_up() -> Result<()> {
    for (kind, place, options) in [
        ("proc", "/proc", ""),
        ("sysfs", "/sys", ""),
        ("devtmpfs", "/dev", ""),
        ("tmpfs", "/tmp", "mode=1777"),
        ("tmpfs", "/run", "mode=755"),
        ("cgroup2", "/sys/fs/cgroup", ""),
        ("debugfs", "/sys/kernel/debug", ""),
        ("tracefs", "/sys/kernel/tracing", ""),
    ] {
        let options = CString::new(options)?;
        let mounted = mount(kind, place, kind, MountFlags::empty(), options.as_c_str());
        // The guest works without what a small kernel lacks, but not without the first four.
        if matches!(kind, "proc" | "sysfs" | "devtmpfs" | "tmpfs") {
            mounted.with_context(|| format!("mounting {kind} on {place}"))?;
        }
    }
    fs::create_dir_all("/dev/shm")?;
    let _ = mount("tmpfs", "/dev/shm", "tmpfs", MountFlags::empty(), c"mode=1777");
    let _ = symlink("/proc/self/fd", "/dev/fd");
    sethostname(b"lab").context("naming the guest")?;
    load_modules()?;
    make_settings()?;
    threaded()?;
    // Some loads send to their own machine.
    let _ = latido_sys::net::up("lo");
    Ok(())
}

/// Refuses a kernel that was booted to run interrupt handlers in threads and does not. The port of the console, which is open here, must
/// have such a thread.
fn threaded() -> Result<()> {
    let line = fs::read_to_string("/proc/cmdline").context("/proc/cmdline")?;
    if !line.split_whitespace().any(|word| word == "threadirqs") {
        return Ok(());
    }
    let names = fs::read_dir("/proc").context("/proc")?.flatten();
    let names = names.filter_map(|entry| fs::read_to_string(entry.path().join("comm")).ok());
    ensure!(
        names.into_iter().any(|name| name.starts_with("irq/")),
        "the kernel was booted with threadirqs, but no interrupt has a thread"
    );
    Ok(())
}

/// Loads the modules of the image.
fn load_modules() -> Result<()> {
    let list = Path::new("/").join(MODULES);
    for line in fs::read_to_string(&list).unwrap_or_default().lines() {
        let (file, parameters) = line.split_once(' ').unwrap_or((line, ""));
        let module = fs::File::open(list.with_file_name(file)).with_context(|| format!("the module {file}"))?;
        finit_module(&module, CString::new(parameters)?.as_c_str(), 0).with_context(|| format!("the module {file}"))?;
    }
    Ok(())
}

/// Makes the settings of the image.
fn make_settings() -> Result<()> {
    for line in fs::read_to_string(Path::new("/").join(SETTINGS)).unwrap_or_default().lines() {
        let (path, value) = line.split_once('=').with_context(|| format!("the setting `{line}` is not PATH=VALUE"))?;
        fs::write(path, value).with_context(|| format!("the setting {path}"))?;
    }
    Ok(())
}

/// The agent's answers.
struct Answers {
    /// The bytes as they arrived.
    words: Vec<u8>,
    /// The time from the agent's start to its first message.
    started: Duration,
}

/// Lets the agent answer every request.
fn answers() -> Result<Answers> {
    let text = fs::read(Path::new("/").join(REQUESTS)).context("cannot read the requests")?;
    let requests: Vec<Request> = serde_json::from_slice(&text).context("cannot parse the requests")?;
    let offset = fs::read_to_string(Path::new("/").join(OFFSET)).unwrap_or_default();
    thread::sleep(Duration::from_nanos(offset.trim().parse().unwrap_or(0)));
    // The agent runs as latido does: a guest has no user but root.
    let mut agent = Command::new("/init");
    agent.arg("agent").env_clear().env("PATH", "/bin").env("HOME", "/").env("LATIDO_STATE", "/run/latido");
    agent.stdin(Stdio::piped()).stdout(Stdio::piped());
    // A crash point on the kernel's command line (`path/to/vmlinuz:LATIDO_FAULT=agent:1`) is meant for the agent.
    #[cfg(debug_assertions)]
    if let Some(points) = std::env::var_os("LATIDO_FAULT") {
        agent.env("LATIDO_FAULT", points);
    }
    let begun = Instant::now();
    let mut agent = agent.spawn().context("starting the agent")?;
    let input = agent.stdin.take().context("the agent has no input")?;
    let writer = Arc::new(Mutex::new(Some(Writer::new(input))));
    pings(&writer)?;
    let mut heard = Tee { from: agent.stdout.take().context("the agent has no output")?, kept: Vec::new() };
    let mut output = BufReader::new(&mut heard);
    output.read_line(&mut String::new()).context("the agent's hello")?;
    let started = begun.elapsed();
    let mut stream = Chunks::new(output);
    for request in &requests {
        // If the agent has ended, before this or after it, the missing answer shows it.
        let _ = send(&writer, request);
        loop {
            match stream.receive()? {
                Some(Message::Reply(Reply::End { .. })) => break,
                Some(_) => {}
                None => bail!("the agent ended without an answer"),
            }
        }
    }
    drop(stream);
    writer.lock().unwrap_or_else(PoisonError::into_inner).take();
    agent.wait().context("waiting for the agent")?;
    Ok(Answers { words: heard.kept, started })
}

type Way = Arc<Mutex<Option<Writer<ChildStdin>>>>;

fn send(way: &Way, request: &Request) -> Result<()> {
    let mut way = way.lock().unwrap_or_else(PoisonError::into_inner);
    way.as_mut().context("the agent's input is closed")?.send(request)
}

/// Sends regular signs of life of its host to the agent.
fn pings(way: &Way) -> Result<()> {
    let way = Arc::clone(way);
    let ping = move || {
        loop {
            thread::sleep(PING_EVERY);
            if send(&way, &Request::Ping).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().spawn(ping).context("a thread for signs of life").map(drop)
}

/// A reader that also keeps what it reads.
struct Tee<R> {
    from: R,
    kept: Vec<u8>,
}

impl<R: Read> Read for &mut Tee<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.from.read(buffer)?;
        self.kept.extend_from_slice(buffer.get(..length).unwrap_or_default());
        Ok(length)
    }
}

/// Writes the answers to the port, and waits until they are out.
fn hand_out(Answers { words, started }: &Answers) -> Result<()> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::new(6));
    packed.write_all(words)?;
    let packed = packed.finish()?;
    let mut port = OpenOptions::new().write(true).open(OUT).with_context(|| format!("opening {OUT}"))?;
    let mut mode = tcgetattr(&port).context("the port's mode")?;
    mode.make_raw();
    mode.set_speed(115_200).context("the port's speed")?;
    tcsetattr(&port, OptionalActions::Now, &mode).context("the port's mode")?;
    writeln!(port, "{MARK} {} {} {}", packed.len(), hex(&Sha256::digest(&packed)), started.as_nanos())?;
    port.write_all(&packed)?;
    tcdrain(&port).context("waiting for the port")
}
