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
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::serve::{Stop, stopped};

/// The maximum number of connections.
const MOST: usize = 256;

/// The time for the head of a request, the first and each further one.
const HEAD: Duration = Duration::from_secs(15);

/// The time for a connection, unless it carries events.
const LIFE: Duration = Duration::from_mins(2);

/// The time for connections to end when the process ends.
const TO_END: Duration = Duration::from_secs(2);

/// The size of a connection's buffer in bytes, which limits the head of a request.
const BUFFER: usize = 32 * 1024;

/// The other end of a connection.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Its address.
    pub address: IpAddr,
    carries_events: Arc<AtomicBool>,
}

impl Peer {
    /// Lets the connection stay open for events.
    pub fn carry_events(&self) {
        self.carries_events.store(true, Ordering::Relaxed);
    }
}

/// Serves connections until the process ends.
pub async fn serve(listener: TcpListener, router: Router, stop: Stop) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(MOST));
    let mut connections = JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { break };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(stop.clone()) => break,
        };
        match accepted {
            Ok((stream, from)) => {
                let (router, stop) = (router.clone(), stop.clone());
                connections.spawn(async move {
                    one(stream, from, router, stop).await;
                    drop(place);
                });
            }
            // A client may be gone already, or the process has too many open files: both pass.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
        while connections.try_join_next().is_some() {}
    }
    let _ = tokio::time::timeout(TO_END, async { while connections.join_next().await.is_some() {} }).await;
    Ok(())
}

async fn one(stream: TcpStream, from: SocketAddr, router: Router, stop: Stop) {
    let carries_events = Arc::new(AtomicBool::new(false));
    let peer = Peer { address: from.ip().to_canonical(), carries_events: Arc::clone(&carries_events) };
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(peer.clone());
        let answer = router.call(request);
        async move { answer.await.map_err(|error: Infallible| error) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let life = async {
        tokio::time::sleep(LIFE).await;
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
    let _ = tokio::time::timeout(TO_END, connection).await;
}
