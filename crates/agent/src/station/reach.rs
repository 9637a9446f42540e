//! A running station, and the measured end of the link to it.
//!
//! The network namespaces have no name and belong to threads of this process, and the cable between them belongs to the namespaces: they
//! all end with the process. A local station's process ends with the thread that started it, and a remote one ends when its output closes.

use super::{mark::Mark, place::Place};
use crate::{far, loading::work, machine::Root};
use anyhow::{Context, Result, bail, ensure};
use latido_sys::net;
use std::{
    fs::File,
    net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket},
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::{Duration, Instant},
};

/// The addresses of the measured end and of the station's end, in a network that contains only these two.
const ENDS: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(10, 77, 1, 1), Ipv4Addr::new(10, 77, 1, 2));

/// The names of the cable's ends, each in its namespace.
const CABLE: (&str, &str) = ("latido0", "station0");

/// The network cards of a guest: the measured one and the station's.
const CARDS: (&str, &str) = ("eth0", "eth1");

/// How long the first packet may take: cards agree on their speed first.
const ARRIVES: Duration = Duration::from_secs(20);

/// A link to a station, and the station's process once it is started. Dropping it ends both.
#[derive(Debug)]
pub struct Reached {
    /// The socket that receives only from the station.
    socket: UdpSocket,
    orders: Option<Sender<Order>>,
    told: Receiver<Result<Told>>,
    keeper: Option<thread::JoinHandle<()>>,
}

/// An order for the station's keeper: the address to greet, the end of the greetings (no words), or the words to start the station with.
#[derive(Debug)]
struct Order {
    words: Vec<String>,
    /// The mark of its packets.
    mark: Option<Mark>,
}

/// A station from which a packet has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Met {
    /// The length of its first packet.
    pub bytes: usize,
    /// How many packets from other senders came before.
    pub strangers: u64,
}

/// What the station's keeper answers.
#[derive(Debug)]
enum Told {
    Namespace(File),
    Ready,
    Started(ChildStdout),
}

impl Reached {
    /// Sets up the link. `here` is the measured machine's own address: a station over ssh needs it, and no other place takes one. Port 0
    /// means any free port.
    ///
    /// # Errors
    /// The place is not possible, or nothing arrives from it.
    pub fn lay(place: &Place, here: Option<IpAddr>, port: u16) -> Result<Self> {
        ensure!(
            here.is_some() == matches!(place, Place::Ssh(_)),
            "`station` = \"{place}\": {}",
            match here {
                None => "name with `to` the address of the measured machine to which it sends",
                Some(_) => "it takes no address: `to` works only with ssh:HOST",
            }
        );
        let (orders, ordered) = channel();
        let (tell, told) = channel();
        let (own, own_told) = (place.clone(), tell);
        let keeper = thread::Builder::new().spawn(move || keep(&own, &ordered, &own_told))?;
        let bound =
            |ip: IpAddr| UdpSocket::bind((ip, port)).with_context(|| format!("cannot open port {port} of {ip}"));
        let socket = match place {
            Place::Local => bound(Ipv4Addr::LOCALHOST.into()),
            Place::Ssh(_) => bound(here.unwrap_or(Ipv4Addr::UNSPECIFIED.into())),
            Place::Netns => namespace(&told).and_then(|there| cabled(there, port)),
            Place::Guest => namespace(&told).and_then(|there| {
                net::give(CARDS.1, &there).with_context(|| format!("cannot set up the network card {}", CARDS.1))?;
                net::address(CARDS.0, ENDS.0)
                    .and_then(|()| net::up(CARDS.0))
                    .with_context(|| format!("cannot set up the network card {}", CARDS.0))?;
                bound(ENDS.0.into())
            }),
        }?;
        let reached = Self { socket, orders: Some(orders), told, keeper: Some(keeper) };
        if matches!(place, Place::Netns | Place::Guest) {
            reached.order(vec![reached.socket.local_addr()?.to_string()], None)?;
            reached.greeted()?;
        }
        Ok(reached)
    }

    /// Returns the socket of the measured end.
    pub const fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Starts `latido station WORDS... ADDRESS --port PORT --tell` there, with this mark on its packets. Returns its output.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(&self, words: &[&str], mark: Mark) -> Result<ChildStdout> {
        let to = self.socket.local_addr()?;
        let mut all = vec!["station".to_owned()];
        all.extend(words.iter().map(|word| (*word).to_owned()));
        all.extend([to.ip().to_string(), format!("--port={}", to.port()), "--tell".into(), "--marked".into()]);
        self.order(all, Some(mark))?;
        match self.answer()? {
            Told::Started(output) => Ok(output),
            _ => bail!("the station's thread did not report that the station started"),
        }
    }

    /// Waits for the station's first packet. After it the kernel accepts no packets from other senders at this socket.
    ///
    /// # Errors
    /// No packet comes.
    pub fn meet(&self, mark: Mark) -> Result<Met> {
        let until = Instant::now() + ARRIVES;
        let mut packet = vec![0; 65_536];
        let mut strangers = 0;
        self.socket.set_read_timeout(Some(Duration::from_millis(50)))?;
        loop {
            match self.socket.recv_from(&mut packet) {
                Ok((bytes, from)) if packet.get(..bytes).is_some_and(|packet| mark.is_on(packet)) => {
                    self.socket.connect(from).context("cannot connect to the station")?;
                    self.socket.set_read_timeout(None)?;
                    return Ok(Met { bytes, strangers });
                }
                Ok(_) => strangers += 1,
                Err(_) => {}
            }
            ensure!(
                Instant::now() < until,
                "no packet arrived from the station within {} s{}",
                ARRIVES.as_secs(),
                if strangers > 0 { format!(", but {strangers} packets from other senders") } else { String::new() }
            );
        }
    }

    fn order(&self, words: Vec<String>, mark: Option<Mark>) -> Result<()> {
        let orders = self.orders.as_ref().context("the station has ended")?;
        orders.send(Order { words, mark }).ok().context("the station's thread has ended")
    }

    fn answer(&self) -> Result<Told> {
        self.told.recv().context("the station's thread has ended")?
    }

    /// Waits for the station's greeting, and until no further greeting can be on the way.
    fn greeted(&self) -> Result<()> {
        let until = Instant::now() + ARRIVES;
        let mut byte = [0; 16];
        self.socket.set_read_timeout(Some(Duration::from_millis(50)))?;
        while self.socket.recv(&mut byte).is_err() {
            ensure!(Instant::now() < until, "no packet arrived from the station within {} s", ARRIVES.as_secs());
        }
        // Ends the greetings.
        self.order(Vec::new(), None)?;
        while !matches!(self.answer()?, Told::Ready) {}
        while self.socket.recv(&mut byte).is_ok() {}
        self.socket.set_read_timeout(None)?;
        Ok(())
    }
}

impl Drop for Reached {
    fn drop(&mut self) {
        self.orders = None;
        self.keeper.take().map(thread::JoinHandle::join);
    }
}

fn namespace(told: &Receiver<Result<Told>>) -> Result<File> {
    match told.recv().context("the station's thread has ended")?? {
        Told::Namespace(file) => Ok(file),
        _ => bail!("the station's thread has no namespace"),
    }
}

/// Returns the measured end of a cable, in a separate namespace: the machine's own network never sees it.
fn cabled(there: File, port: u16) -> Result<UdpSocket> {
    let made = thread::Builder::new().spawn(move || -> Result<UdpSocket> {
        net::leave().context("cannot make a network namespace: run as root")?;
        net::pair(CABLE.0, CABLE.1, &there)
            .context("cannot make a virtual cable (veth): does the kernel have CONFIG_VETH?")?;
        net::address(CABLE.0, ENDS.0)
            .and_then(|()| net::up(CABLE.0))
            .context("cannot set up the measured end of the cable")?;
        UdpSocket::bind((ENDS.0, port)).with_context(|| format!("cannot open port {port} of the measured end"))
    })?;
    // The socket keeps its namespace.
    made.join().ok().context("the thread that sets up the cable ended unexpectedly")?
}

/// Runs the thread that owns a station's namespace and process.
fn keep(place: &Place, orders: &Receiver<Order>, tell: &Sender<Result<Told>>) {
    let said = |what| tell.send(what).is_ok();
    match kept(place, orders, &said) {
        Ok(Some(mut child)) => {
            // When no further order can come, the owner has dropped the link.
            while orders.recv().is_ok() {}
            let _ = child.kill();
            let _ = child.wait();
        }
        Ok(None) => {}
        Err(error) => _ = said(Err(error)),
    }
}

/// Enters the namespace, sends greetings, and starts the station when ordered to.
fn kept(place: &Place, orders: &Receiver<Order>, said: &dyn Fn(Result<Told>) -> bool) -> Result<Option<Child>> {
    if matches!(place, Place::Netns | Place::Guest) {
        place.can_be(&Root::default())?;
        let namespace = net::leave().context("cannot make a network namespace: run as root")?;
        said(Ok(Told::Namespace(namespace)));
        let Some(to) = orders.recv().ok().and_then(|order| order.words.first()?.parse::<SocketAddr>().ok()) else {
            return Ok(None);
        };
        let own = if *place == Place::Guest { CARDS.1 } else { CABLE.1 };
        net::address(own, ENDS.1)
            .and_then(|()| net::up(own))
            .with_context(|| format!("cannot set up the station's {own}"))?;
        let socket = UdpSocket::bind((ENDS.1, 0)).context("cannot make a socket at the station's end")?;
        // Any order ends the greetings, and so does the end of the thread that sends orders.
        while matches!(orders.try_recv(), Err(std::sync::mpsc::TryRecvError::Empty)) {
            let _ = socket.send_to(&[0], to);
            thread::sleep(Duration::from_millis(20));
        }
        said(Ok(Told::Ready));
    }
    // This link to the host must outlive the command.
    let way = match place {
        Place::Ssh(host) => Some(far::Way::open(host, &|| false)?),
        _ => None,
    };
    let copied = way.as_ref().map(|way| far::there(way, &mut Vec::new(), &|| false)).transpose()?;
    let Ok(Order { words, mark }) = orders.recv() else { return Ok(None) };
    let mut command = match (&way, &copied) {
        (Some(way), Some(copied)) => way.command(&[vec!["exec".into(), copied.path.clone()], words].concat()),
        _ => {
            // Runs as latido does: it is a part of the measuring process, from latido's own file.
            let mut command = Command::new(std::env::current_exe().context("cannot find latido's own file")?);
            command.args(words);
            work::bound(command)
        }
    };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().context("the station does not start")?;
    if let (Some(mark), Some(input)) = (mark, child.stdin.take()) {
        mark.tell(input)?;
    }
    let output = child.stdout.take().context("the station has no output")?;
    said(Ok(Told::Started(output)));
    if let Some(way) = way {
        // The station uses the connection until the station ends or the owner drops the link.
        while orders.recv().is_ok() {}
        let _ = child.kill();
        let _ = child.wait();
        drop((copied, way));
        return Ok(None);
    }
    Ok(Some(child))
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::needs::{Need, skip};

    #[test]
    fn an_address_goes_with_another_machine() {
        let own = Some(Ipv4Addr::LOCALHOST.into());
        for place in [Place::Local, Place::Netns, Place::Guest] {
            assert!(Reached::lay(&place, own, 0).unwrap_err().to_string().contains("no address"), "{place}");
        }
        let error = Reached::lay(&Place::Ssh("nowhere".into()), None, 0).unwrap_err();
        assert!(error.to_string().contains("`to`"), "{error}");
        // On a user's own machine, this would take a network card away from its user.
        let error = Reached::lay(&Place::Guest, None, 0).unwrap_err();
        assert!(error.to_string().contains("guest of the laboratory"), "{error}");
    }

    /// A cable must be laid and greeted, and go with its owner. The machine's own network never has it.
    #[test]
    fn a_cable_is_laid_and_goes() {
        if let Err(error) = thread::spawn(net::leave).join().unwrap() {
            return skip("a cable to a station", Need::Namespaces, &error.to_string());
        }
        let reached = match Reached::lay(&Place::Netns, None, 0).map_err(|error| format!("{error:#}")) {
            Err(why) if why.contains("Operation not supported") => {
                return skip("a cable to a station", Need::Kernel, &why);
            }
            laid => laid.unwrap(),
        };
        assert_eq!(reached.socket().local_addr().unwrap().ip(), IpAddr::from(ENDS.0));
        assert!(net::up(CABLE.0).is_err() && net::up(CABLE.1).is_err());
        let socket = reached.socket().try_clone().unwrap();
        drop(reached);
        // The kernel removes the cable in another thread.
        let until = Instant::now() + ARRIVES;
        while socket.send_to(&[0], (ENDS.1, 9)).is_ok() {
            assert!(Instant::now() < until, "the cable stays without its owner");
            thread::sleep(Duration::from_millis(10));
        }
    }
}
