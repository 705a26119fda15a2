//! An HTTP proxy before the interface of a server. A [`Judge`] decides on each request of a connection.
//!
//! Requests are read, judged in one canonical form, and written anew: no byte of a head is forwarded as it came. Streams have
//! no time limit. Connections that change their protocol are passed on in both directions.

mod exchange;
pub mod request;
pub mod target;
pub mod tls;
pub mod upstream;

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::event::{PollFd, PollFlags, poll};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use exchange::{MOST_FINISHED, Shared, stopped};
use request::{Judge, Peer};
use upstream::{Io, Upstream};

/// The most connections at once. Others wait until one ends.
const MOST_CONNECTIONS: usize = 512;

/// The most connections of one user. Further ones are closed, so that other users have some left.
const MOST_OF_USER: usize = 256;

/// The time for the head of a request, or between two requests.
const HEAD: Duration = Duration::from_mins(5);

/// The time for a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The most bytes of the head of a request.
const MOST_HEAD: usize = 64 * 1024;

/// How long requests that act may take to be answered when the gate ends.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// The pause after a failed accept, such as without free file descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// How often a connection is examined for a peer that has left.
const EXAMINED: Duration = Duration::from_secs(1);

/// Where a gate listens.
pub enum Listener {
    /// On a Unix socket.
    Unix(UnixListener),
    /// On a TCP port of a private network, without TLS.
    Plain(TcpListener),
    /// On a TCP port, with TLS.
    Tls(TcpListener, TlsAcceptor),
}

enum Stream {
    Unix(UnixStream),
    Plain(TcpStream),
    Tls(TcpStream, TlsAcceptor),
}

impl Listener {
    async fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Unix(listener) => listener.accept().await.map(|(stream, _)| Stream::Unix(stream)),
            Self::Plain(listener) => {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(Stream::Plain(stream))
            }
            Self::Tls(listener, acceptor) => {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tls(stream, acceptor.clone()))
            }
        }
    }
}

/// The numbers of connections of users.
#[derive(Default)]
struct Users(Mutex<HashMap<u32, usize>>);

/// A connection of a user, which is counted until it is dropped.
struct Counted(Arc<Users>, u32);

impl Users {
    /// Counts a connection of a user; `None`: it has too many.
    fn count(self: &Arc<Self>, uid: u32) -> Option<Counted> {
        let mut users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = users.entry(uid).or_default();
        (*count < MOST_OF_USER).then(|| {
            *count += 1;
            Counted(Arc::clone(self), uid)
        })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut users = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = users.get_mut(&self.1) {
            *count = count.saturating_sub(1);
        }
    }
}

/// Serves a gate until it is to end. Streams end at once, requests that act within a few seconds.
pub async fn serve<J: Judge>(
    listener: Listener,
    judge: J,
    upstream: Arc<Upstream>,
    stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let Streams(shared) = Streams::new(judge, upstream, stop.clone());
    let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let users = Arc::new(Users::default());
    let mut connections = JoinSet::new();
    loop {
        // The semaphore is never closed.
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { break };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(stop.clone()) => break,
        };
        match accepted {
            Ok(stream) => {
                connections.spawn(connection(stream, Arc::clone(&shared), Arc::clone(&users), slot));
            }
            Err(_) => sleep(PAUSE).await,
        }
        while connections.try_join_next().is_some() {}
    }
    connections.shutdown().await;
    let _ = timeout(LAST_ANSWERS, shared.finishing.acquire_many(MOST_FINISHED)).await;
    Ok(())
}

/// A gate whose connections are those of another protocol.
pub struct Streams<J>(Arc<Shared<J>>);

impl<J: Judge> Streams<J> {
    /// A gate before a server, until `stop` changes.
    pub fn new(judge: J, upstream: Arc<Upstream>, stop: watch::Receiver<bool>) -> Self {
        let finishing = Arc::new(Semaphore::new(MOST_FINISHED as usize));
        Self(Arc::new(Shared { judge, upstream, stop, finishing }))
    }

    /// Serves a connection until it ends.
    pub async fn serve(&self, stream: impl Io + 'static, peer: Peer) {
        requests(stream, peer, Arc::clone(&self.0), true).await;
    }
}

/// Serves a connection. An error concerns this connection only.
async fn connection<J: Judge>(
    stream: Stream,
    shared: Arc<Shared<J>>,
    users: Arc<Users>,
    slot: OwnedSemaphorePermit,
) {
    match stream {
        Stream::Unix(stream) => {
            let (Ok(credentials), Ok(own)) = (stream.peer_cred(), stream.as_fd().try_clone_to_owned()) else {
                return;
            };
            let Some(_counted) = users.count(credentials.uid()) else { return };
            let peer = Peer::User(credentials.uid());
            tokio::select! {
                () = requests(stream, peer, shared, true) => {}
                () = left(own) => {}
            }
        }
        Stream::Plain(stream) => requests(stream, Peer::Client(None), shared, false).await,
        Stream::Tls(stream, acceptor) => {
            let Ok(Ok(stream)) = timeout(HANDSHAKE, acceptor.accept(stream)).await else { return };
            let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
            let peer = Peer::Client(certificate.map(|certificate| certificate.to_vec()));
            requests(stream, peer, shared, false).await;
        }
    }
    drop(slot);
}

async fn requests<J: Judge>(stream: impl Io + 'static, peer: Peer, shared: Arc<Shared<J>>, half_close: bool) {
    let stop = shared.stop.clone();
    let service = service_fn(move |request| {
        let answer = exchange::answer(Arc::clone(&shared), peer.clone(), request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(MOST_HEAD)
        .half_close(half_close)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::select! {
        _ = connection => {}
        () = stopped(stop) => {}
    }
}

/// Waits until the peer of a Unix socket has closed it. One that has only finished its requests still reads.
async fn left(own: OwnedFd) {
    loop {
        sleep(EXAMINED).await;
        let mut polled = [PollFd::new(&own, PollFlags::empty())];
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        let is_left = poll(&mut polled, Some(&now)).is_ok()
            && polled.iter().any(|polled| polled.revents().contains(PollFlags::HUP));
        if is_left {
            return;
        }
    }
}
