//! One connection: the greeting, a request within its limits, and the answer.

use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::peers::Peers;
use super::rates::{Kind, Rates};
use super::repeats::Repeats;
use super::veil::Veil;
use super::{event, record, verb};
use crate::gates::ssh;
use crate::gates::ssh::Broker;
use crate::guard::process::connections::Stop;
use crate::hooks::preview::Question;
use crate::machine::environment::Environment;
use crate::machine::link::message::{Call, Greeting, Reply, Request, Versioned};
use crate::machine::link::{VERSION, frame};
use opsctl_policy::model::rights::policy::Tier;

/// How long a caller has to send its request: a silent one costs no more than its connection.
const REQUEST_TIME: Duration = Duration::from_secs(5);

/// How long an answer may take to be written.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// Events that wait for nothing but the ledger.
const QUICK: [&str; 3] = ["pre-tool-use", "post-tool-use", "post-tool-use-failure"];

/// What all connections share.
#[derive(Debug)]
pub struct Limits {
    /// Requests that wait for nothing but the ledger, whose writers wait for each other anyway.
    quick: Semaphore,
    /// Requests that are served at once and may wait for hosts and services.
    slow: Semaphore,
    /// Memory for large requests, in KiB.
    memory: Semaphore,
    /// How much each user may record.
    rates: Arc<Rates>,
    /// The requests that have begun.
    repeats: Arc<Repeats>,
    /// Calls of ssh. They take no turn of the others.
    pub broker: Broker,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            quick: Semaphore::new(4),
            slow: Semaphore::new(24),
            memory: Semaphore::new(12 * 1024),
            rates: Arc::default(),
            repeats: Arc::default(),
            broker: Broker::default(),
        }
    }
}

/// Serves one connection.
pub async fn serve(
    own: &Environment,
    peers: &Peers,
    limits: &Limits,
    (mut stream, stop): (UnixStream, Stop),
) -> io::Result<()> {
    let peer = stream.peer_cred()?.uid();
    let refused = peers.refusal(peer);
    let is_refused = refused.is_some();
    let greeting = Greeting { version: VERSION, opsctl: env!("CARGO_PKG_VERSION").to_owned(), refused };
    write(&mut stream, &greeting).await?;
    if is_refused {
        return Ok(());
    }
    let (request, payload, memory) = timeout(REQUEST_TIME, read(&mut stream, limits)).await??;
    let request = match request {
        Ok(request) => request,
        Err(why) => return write(&mut stream, &Reply::Refused(why)).await,
    };
    let (call, facts) = (request.call, request.session);
    if let Call::Ssh { has_stdin } = call {
        drop(memory);
        let (arguments, turns) = (payload, &limits.quick);
        let call = ssh::Call { stream, arguments, has_stdin, facts, uid: peer, own, turns };
        return limits.broker.serve(call, stop).await;
    }
    let veil = Veil::new(own, &facts);
    let answer = match call {
        Call::Ping => {
            let environment = Environment { ledger: own.ledger.limited(), ..own.clone() };
            blocking(&limits.quick, move || record::ping(&environment)).await?
        }
        Call::Survey => {
            let (environment, rates) = (own.clone(), Arc::clone(&limits.rates));
            blocking(&limits.slow, move || record::survey(&environment, peer, &rates)).await?
        }
        Call::Verb { arguments, columns } => {
            if let Some(why) =
                kind_of(&arguments).and_then(|kind| limits.rates.refusal(peer, kind, Instant::now()))
            {
                return write(&mut stream, &Reply::Refused(why)).await;
            }
            let _turn = limits.slow.acquire().await.map_err(io::Error::other)?;
            verb::run(&arguments, columns, &facts).await
        }
        Call::Explain { cwd, tier } => {
            let (stream, environment) = (stream.into_std()?, own.clone());
            let question = Question {
                text: String::from_utf8_lossy(&payload).into_owned(),
                cwd: cwd.map(PathBuf::from),
                tier: tier.and_then(Tier::from_number),
            };
            let explain = move || event::explain(stream, &question, facts, &environment);
            return blocking(&limits.slow, explain).await?;
        }
        Call::Event { event } => {
            let is_quick = event.as_deref().is_some_and(|event| QUICK.contains(&event));
            let (stream, environment) = (stream.into_std()?, own.clone());
            let repeats = Arc::clone(&limits.repeats);
            let serve =
                move || event::serve(stream, event.as_deref(), &payload, facts, (&environment, &repeats));
            return blocking(if is_quick { &limits.quick } else { &limits.slow }, serve).await?;
        }
        call @ (Call::Kept | Call::Notice | Call::Record(_) | Call::Ssh { .. }) => {
            // The environment of the guard, with the name of the agent.
            let environment = Environment { ledger: event::ledger_of(&facts, own), ..own.clone() };
            let rates = Arc::clone(&limits.rates);
            let serve = move || match call {
                Call::Record(call) => record::record(call, &environment, peer, &rates),
                Call::Notice => record::notice(&payload, &environment, peer, &rates),
                _ => record::kept(&payload, &environment, peer, &rates),
            };
            blocking(&limits.quick, serve).await?
        }
    };
    drop(memory);
    write(&mut stream, &veil.answer(&answer)?).await
}

/// What a verb may record; `None` if none of its words is a verb that does.
fn kind_of(arguments: &[String]) -> Option<Kind> {
    let has = |words: &[&str]| arguments.iter().any(|argument| words.contains(&argument.as_str()));
    if has(&["notify"]) && has(&["--test"]) {
        return Some(Kind::Notices);
    }
    has(&["cooldown", "notify", "sessions", "verify"]).then_some(Kind::Records)
}

/// Does work on a thread for blocking work, when it is its turn.
async fn blocking<T: Send + 'static>(
    turns: &Semaphore,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let _turn = turns.acquire().await.map_err(io::Error::other)?;
    spawn_blocking(work).await.map_err(io::Error::other)
}

/// Reads a request and its payload; an error text for a request that cannot be served.
async fn read<'a>(
    stream: &mut UnixStream,
    limits: &'a Limits,
) -> io::Result<(Result<Request, String>, Vec<u8>, Vec<SemaphorePermit<'a>>)> {
    let mut memory = Vec::new();
    let text = read_frame(stream, frame::REQUEST, limits, &mut memory).await?;
    let version = serde_json::from_slice::<Versioned>(&text).map(|versioned| versioned.version);
    let request = match version {
        Err(error) => Err(format!("the request is not valid ({error})")),
        Ok(VERSION) => {
            serde_json::from_slice(&text).map_err(|error| format!("the request is not valid ({error})"))
        }
        Ok(other) => Err(format!(
            "it uses version {other} of the messages and the guard version {VERSION}; run both from the same release"
        )),
    };
    let payload = match &request {
        Ok(_) => read_frame(stream, frame::PAYLOAD, limits, &mut memory).await?,
        Err(_) => vec![],
    };
    Ok((request, payload, memory))
}

async fn read_frame<'a>(
    stream: &mut UnixStream,
    limit: usize,
    limits: &'a Limits,
    memory: &mut Vec<SemaphorePermit<'a>>,
) -> io::Result<Vec<u8>> {
    let mut head = [0; frame::HEAD];
    stream.read_exact(&mut head).await?;
    let length = frame::length(head, limit)?;
    // Small requests are as many as there are connections.
    if length > 16 * 1024 {
        let kib = u32::try_from(length / 1024).unwrap_or(u32::MAX);
        memory.push(limits.memory.acquire_many(kib).await.map_err(io::Error::other)?);
    }
    let mut message = Vec::with_capacity(length.min(64 * 1024));
    let read = stream.take(length as u64).read_to_end(&mut message).await?;
    if read < length { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(message) }
}

async fn write(stream: &mut UnixStream, message: &impl Serialize) -> io::Result<()> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, &serde_json::to_vec(message)?)?;
    timeout(ANSWER_TIME, stream.write_all(&bytes)).await?
}
