//! `iperf3`: sends UDP packets at a rate by iperf3, where it is installed.

use super::udp_flood::bits;
use crate::loading::{
    Launch, Load, Surroundings,
    listening::Paced,
    rates::ELAPSED,
    work::{self, Work, program},
};
use anyhow::{Context, Result, bail, ensure};
use latido_model::{
    registry::{self, Def},
    units::Ns,
};
use serde::{Deserialize, Serialize};
use std::{
    net::{Ipv4Addr, TcpListener},
    process::{Child, Stdio},
    thread,
    time::Duration,
};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "iperf3",
    about: "UDP packets at a rate by iperf3: over the loopback, or to a server that you name",
    help: "\
Runs iperf3 as a UDP client without a time limit. Without `to` latido also starts its server, and all packets go over
the loopback, so that nothing leaves this machine. With `to` they go to that host, where `iperf3 -s` must run. The load
`udp-flood` does the same without another program.

Options:
  to     the host; default this machine's loopback
  rate   bits per second of payload: 100Mbit (default), 64kbit, 2Gbit, or max
  size   bytes of payload per packet, 16 to 65507; default 1460
  port   of the server; default 5201, and a free one on the loopback

The record's `achieved` holds sent_packets, sent_bytes and elapsed_ns. Needs iperf3.",
    main_option: Some("rate"),
    new: |table| Ok(Box::new(checked(table)?)),
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Iperf3 {
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    rate: String,
    size: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
}

impl Default for Iperf3 {
    fn default() -> Self {
        Self { to: None, rate: "100Mbit".into(), size: 1460, port: None }
    }
}

fn checked(table: toml::Table) -> Result<Iperf3> {
    let load: Iperf3 = registry::options(table)?;
    bits(&load.rate)?;
    ensure!((16..=65_507).contains(&load.size), "`size` is 16 to 65507 bytes, what iperf3 sends as a UDP packet");
    let plain = |to: &str| !to.is_empty() && !to.starts_with('-') && !to.contains(char::is_whitespace);
    ensure!(load.to.as_deref().is_none_or(plain), "`to` is a host's name or address");
    ensure!(load.to.is_some() || load.port.is_none(), "`port` needs `to`: on the loopback latido uses a free port");
    Ok(load)
}

impl Load for Iperf3 {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn launch(&self, _around: &Surroundings) -> Result<Option<Launch>> {
        let Some(there) = work::version("iperf3", "--version")? else {
            bail!("iperf3 is not installed: apt-get install iperf3, or use the built-in load `udp-flood`")
        };
        let to = self.to.as_deref().unwrap_or("127.0.0.1");
        // On the loopback latido chooses a free port at the start.
        let words = self.client(to, self.port.unwrap_or(5201))?;
        let commands = vec![format!("iperf3 {}", words.join(" "))];
        Ok(Some(Launch {
            version: Some(there.version),
            programs: there.programs,
            commands,
            ..work::own(DEF.name, self)?
        }))
    }

    /// The server and the client must first start and agree.
    fn settle(&self) -> Ns {
        Ns::from_secs(2)
    }

    fn bear(&self) -> Option<Result<()>> {
        Some(self.work())
    }
}

impl Iperf3 {
    /// Runs the load in this process until another process ends it.
    fn work(&self) -> Result<()> {
        let mut server = None;
        let (to, port) = match &self.to {
            Some(to) => (to.clone(), self.port.unwrap_or(5201)),
            None => {
                let address = Ipv4Addr::LOCALHOST;
                let port = TcpListener::bind((address, 0)).context("iperf3: no free port")?.local_addr()?.port();
                server = Some(serve(port)?);
                (address.to_string(), port)
            }
        };
        let work = Work::of(&["sent_packets", "sent_bytes", ELAPSED]);
        let load = self.clone();
        let client = work.thread(move |work| load.send(&to, port, work))?;
        let result = work.go_on(vec![client]);
        if let Some(server) = &mut server {
            let _ = server.kill();
            let _ = server.wait();
        }
        result
    }

    fn client(&self, to: &str, port: u16) -> Result<Vec<String>> {
        // 0 is as fast as it goes (iperf3(1)).
        let rate = bits(&self.rate)?.unwrap_or(0).to_string();
        let (size, port) = (self.size.to_string(), port.to_string());
        // -t 0 has no end. iperf3 prints ten reports per second, each immediately.
        let argv = ["-c", to, "-p", &port, "-u", "-b", &rate, "-l", &size, "-t", "0", "-i", "0.1", "--forceflush"];
        Ok(argv.into_iter().map(String::from).collect())
    }

    fn send(&self, to: &str, port: u16, work: &Work) -> Result<()> {
        let mut client = program("iperf3")?
            .args(self.client(to, port)?)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("iperf3")?;
        let output = client.stdout.take().context("iperf3 has no output")?;
        let mut last = String::new();
        Paced::new(output).lines(|line| -> Result<()> {
            let line = String::from_utf8_lossy(line);
            if let Some((packets, span)) = interval(&line) {
                work.add("sent_packets", packets);
                work.add("sent_bytes", packets * self.size as u64);
                work.add(ELAPSED, span);
            } else if line.contains("rror") {
                last = line.trim().to_string();
            }
            Ok(())
        })?;
        let ended = client.wait_with_output().context("iperf3")?;
        let said = String::from_utf8_lossy(&ended.stderr).trim().to_string();
        bail!("iperf3 ended by itself: {}: {}", ended.status, if said.is_empty() { last } else { said })
    }
}

/// Starts a server on the loopback and waits until it listens.
fn serve(port: u16) -> Result<Child> {
    let mut server = program("iperf3")?
        .args(["-s", "-B", "127.0.0.1", "-p", &port.to_string()])
        .spawn()
        .context("iperf3: the server does not start")?;
    for _ in 0..100 {
        if let Some(status) = server.try_wait()? {
            bail!("iperf3: the server ended: {status}");
        }
        // If the port is taken, the server listens. The server would take a connection for a client.
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_err() {
            return Ok(server);
        }
        thread::sleep(Duration::from_millis(20));
    }
    let _ = server.kill();
    bail!("iperf3: the server does not listen on port {port}")
}

/// Returns the datagrams and the length in ns of an interval: the columns of `[  5]   0.00-0.10   sec  1.19 MBytes  100 Mbits/sec  856`.
/// The summaries at the end name their side after the columns.
fn interval(line: &str) -> Option<(u64, u64)> {
    let words: Vec<&str> = line.strip_prefix('[')?.split_whitespace().collect();
    let unit = words.iter().position(|word| *word == "sec")?;
    let (from, to) = words.get(unit.checked_sub(1)?)?.split_once('-')?;
    let seconds = to.parse::<f64>().ok()? - from.parse::<f64>().ok()?;
    Some((words.last()?.parse().ok()?, (seconds.max(0.0) * 1e9).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused_before_anything_starts() {
        for bad in ["rate = \"100\"", "size = 8", "to = \"-s\"", "to = \"\"", "port = 5202", "udp = true"] {
            assert!(checked(bad.parse().unwrap()).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_client_is_told_everything() {
        let load = checked("rate = \"max\"\nsize = 64".parse().unwrap()).unwrap();
        let said = load.client("127.0.0.1", 5201).unwrap().join(" ");
        assert_eq!(said, "-c 127.0.0.1 -p 5201 -u -b 0 -l 64 -t 0 -i 0.1 --forceflush");
    }

    #[test]
    fn intervals_count_and_nothing_else() {
        let line = "[  5]   1.10-1.20   sec  1.19 MBytes  99.9 Mbits/sec  856  ";
        assert_eq!(interval(line), Some((856, 100_000_000)));
        for other in [
            "[ ID] Interval           Transfer     Bitrate         Total Datagrams",
            "[  5] local 127.0.0.1 port 40123 connected to 127.0.0.1 port 5201",
            "[  5]   0.00-1.00   sec  119 MBytes  100 Mbits/sec  0.000 ms  0/85617 (0%)  sender",
            "- - - - - - -",
            "",
        ] {
            assert_eq!(interval(other), None, "{other}");
        }
    }
}
