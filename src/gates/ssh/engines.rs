//! The container engines of hosts: a call that speaks to one gets the gate before engines in its place.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::HeaderValue;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex, join};
use tokio::net::unix::OwnedReadHalf;

use super::connections::Connections;
use super::hosts::Destination;
use super::streams::{Output, input};
use crate::gates::engine::judge::Engine;
use crate::gates::proxy::Streams;
use crate::gates::proxy::request::Peer;
use crate::gates::proxy::upstream::{Io, Upstream};
use crate::guard::process::connections::Stop;
use crate::machine::environment::Environment;
use crate::machine::link::stream::{INPUT, Kind};

/// The gates before engines, by host: what was created through one call is started through another.
#[derive(Default)]
pub struct Engines(Mutex<HashMap<String, Arc<Streams<Engine>>>>);

impl fmt::Debug for Engines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Engines")
    }
}

impl Engines {
    /// The gate before the engine of a host, to which the words of a command connect.
    pub fn gate(
        &self,
        (destination, words): (&Destination, &[Vec<u8>]),
        connections: &Arc<Connections>,
        own: &Environment,
        stop: Stop,
    ) -> Result<Arc<Streams<Engine>>, String> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let program =
            words.first().map(|word| String::from_utf8_lossy(word).into_owned()).unwrap_or_default();
        let key = format!("{} {program}", destination.name);
        if let Some(gate) = open.get(&key) {
            return Ok(Arc::clone(gate));
        }
        let upstream = upstream(destination.clone(), words.to_vec(), Arc::clone(connections));
        let engine =
            Engine::new(Arc::new(own.clone()), Arc::clone(&upstream), Some(destination.name.clone()))?;
        let gate = Arc::new(Streams::new(engine, upstream, stop));
        open.insert(key, Arc::clone(&gate));
        Ok(gate)
    }
}

/// The engine of a host, through the shared connections to it.
fn upstream(destination: Destination, words: Vec<Vec<u8>>, connections: Arc<Connections>) -> Arc<Upstream> {
    Upstream::new(HeaderValue::from_static("docker"), move || {
        let (destination, words, connections) =
            (destination.clone(), words.clone(), Arc::clone(&connections));
        async move {
            let place = connections.place(&destination).await?;
            let mut call = place.call(&["-T"], &words)?;
            call.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut child = call.spawn()?;
            let streams = child.stdout.take().zip(child.stdin.take());
            let (from, to) = streams.ok_or(io::ErrorKind::BrokenPipe)?;
            // It ends with its input, and gives its place on the connection back.
            tokio::spawn(async move {
                let _ = child.wait().await;
                drop(place);
            });
            Ok(Box::new(join(from, to)) as Box<dyn Io>)
        }
    })
}

/// Serves a call with a gate, until either side ends.
pub async fn serve(
    gate: &Streams<Engine>,
    uid: u32,
    (from, output): (&mut OwnedReadHalf, &Output),
) -> io::Result<()> {
    let (near, far) = duplex(INPUT);
    let (mut answers, mut requests) = tokio::io::split(near);
    let answered = async {
        let mut buffer = vec![0; INPUT];
        loop {
            match answers.read(&mut buffer).await? {
                0 => return Ok(()),
                read => output.send(Kind::Stdout, buffer.get(..read).unwrap_or_default()).await?,
            }
        }
    };
    let asked = async {
        let mut data = Vec::new();
        loop {
            input(from, &mut data).await?;
            if data.is_empty() {
                requests.shutdown().await?;
                return std::future::pending::<io::Result<()>>().await;
            }
            requests.write_all(&data).await?;
        }
    };
    let served = async {
        let far: DuplexStream = far;
        gate.serve(far, Peer::User(uid)).await;
        // What is left is sent before the answers end.
        std::future::pending::<io::Result<()>>().await
    };
    tokio::select! {
        answered = answered => answered,
        asked = asked => asked,
        served = served => served,
    }
}
