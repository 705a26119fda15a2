//! Accepts connections, with limits for slow and numerous clients.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::places::Places;

/// The maximum number of connections of a listener: the guard must always have file descriptors for its ledger.
const MOST: usize = 256;

/// The maximum number of connections of one peer: further ones are closed at once, so that it shuts no other one out.
const MOST_OF_PEER: usize = 200;

/// Becomes true when the process is to end.
pub type Stop = watch::Receiver<bool>;

/// Waits until the process is to end.
pub async fn stopped(mut stop: Stop) {
    // An error means that the sender is gone: the process ends.
    let _ = stop.wait_for(|stopped| *stopped).await;
}

/// What a connection may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The time for the head of a request, the first and each further one.
    pub head: Duration,
    /// The time for a connection, unless it carries events; `None`: no limit.
    pub life: Option<Duration>,
    /// The time for connections to end when the process ends.
    pub to_end: Duration,
    /// The size of a connection's buffer in bytes, which limits the head of a request.
    pub buffer: usize,
}

/// The other end of a connection.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Its address.
    pub address: IpAddr,
    /// The address of this machine to which it is connected.
    pub local: Option<IpAddr>,
    carries_events: Arc<AtomicBool>,
}

impl Peer {
    /// Lets the connection stay open for events.
    pub fn carry_events(&self) {
        self.carries_events.store(true, Ordering::Relaxed);
    }
}

/// Serves connections until the process ends.
pub async fn serve(listener: TcpListener, router: Router, limits: Limits, stop: Stop) -> io::Result<()> {
    let all = Arc::new(Semaphore::new(MOST));
    let places = Places::new(MOST_OF_PEER);
    let mut connections = JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&all).acquire_owned().await else { break };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(stop.clone()) => break,
        };
        match accepted {
            Ok((stream, from)) => {
                if let Some(own) = places.take(from.ip()) {
                    let (router, stop) = (router.clone(), stop.clone());
                    connections.spawn(async move {
                        one(stream, from, router, limits, stop).await;
                        drop((own, place));
                    });
                }
            }
            // A client may be gone already, or the process has too many open files: both pass.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
        while connections.try_join_next().is_some() {}
    }
    let _ =
        tokio::time::timeout(limits.to_end, async { while connections.join_next().await.is_some() {} }).await;
    Ok(())
}

async fn one(stream: TcpStream, from: SocketAddr, router: Router, limits: Limits, stop: Stop) {
    // Each event is sent at once. Without this, it is only later.
    let _ = stream.set_nodelay(true);
    let carries_events = Arc::new(AtomicBool::new(false));
    let local = stream.local_addr().ok().map(|local| local.ip().to_canonical());
    let peer = Peer { address: from.ip().to_canonical(), local, carries_events: Arc::clone(&carries_events) };
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(peer.clone());
        let answer = router.call(request);
        async move { answer.await.map_err(|error: Infallible| error) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(limits.buffer)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let life = async {
        match limits.life {
            Some(life) => tokio::time::sleep(life).await,
            None => std::future::pending().await,
        }
        if carries_events.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    // An error means that the client is gone or broke the protocol: it concerns this connection only.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = life => {}
        () = stopped(stop) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(limits.to_end, connection).await;
}
