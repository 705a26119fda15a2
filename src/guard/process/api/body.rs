//! Bodies of requests and responses on their way: limits, timeouts, and the meter.

use std::error::Error;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use super::accounts::Account;
use super::meter::Meter;
use super::model_name::ModelName;
use super::under_way::Permit;
use super::upstream::{Connections, Sender};

/// How long the next part of a body may take. The API sends a ping at least once a minute.
const IDLE: Duration = Duration::from_mins(5);

type BoxError = Box<dyn Error + Send + Sync>;

/// The time for a request to arrive, besides that for its length.
const ARRIVAL: Duration = Duration::from_mins(1);

/// The least speed of a request, in bytes per second.
const LEAST_SPEED: u64 = 16 * 1024;

/// Why a body ends early.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// It is larger than the limit.
    #[error("the body is larger than {0} bytes")]
    TooLarge(u64),
    /// It arrived too slowly.
    #[error("the body arrived too slowly")]
    Slow,
    /// Nothing came in time.
    #[error("nothing was received for {} s", IDLE.as_secs())]
    Idle,
}

/// What watches a body on its way.
pub trait Watch: Unpin {
    /// Reads the next part.
    fn read(&mut self, part: &Bytes) -> Result<(), BodyError>;

    /// The time by which the next part has to be there, and the error if it is not.
    fn deadline(&self) -> (Instant, BodyError);

    /// Ends the watch. A body that breaks off is not whole.
    fn ended(&mut self, is_whole: bool);
}

/// A body that is forwarded unchanged.
pub struct Watched<B, W> {
    inner: B,
    watch: W,
    late: Pin<Box<Sleep>>,
}

impl<B, W: Watch> Watched<B, W> {
    /// The body `inner` with its watch.
    pub fn new(inner: B, watch: W) -> Self {
        let late = Box::pin(sleep_until(watch.deadline().0));
        Self { inner, watch, late }
    }
}

impl<B, W> hyper::body::Body for Watched<B, W>
where
    B: hyper::body::Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
    W: Watch,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Self { inner, watch, late } = &mut *self;
        let frame = if let Poll::Ready(frame) = Pin::new(&mut *inner).poll_frame(cx) {
            frame.map(|frame| {
                let frame = frame.map_err(Into::into)?;
                frame.data_ref().map_or(Ok(()), |part| watch.read(part))?;
                Ok(frame)
            })
        } else {
            ready!(late.as_mut().poll(cx));
            Some(Err(watch.deadline().1.into()))
        };
        late.as_mut().reset(watch.deadline().0);
        match &frame {
            // A body of a stated length is not asked for its end.
            Some(Ok(_)) if !inner.is_end_stream() => {}
            end => watch.ended(!matches!(end, Some(Err(_)))),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The time by which a request has to be there of which this many bytes have arrived.
const fn allowed(arrived: u64) -> Duration {
    ARRIVAL.saturating_add(Duration::from_secs(arrived / LEAST_SPEED))
}

/// Counts and limits the body of a request.
#[derive(Debug)]
pub struct Upload {
    most: u64,
    sent: Arc<AtomicU64>,
    began: Instant,
    model: ModelName,
    /// Is charged with the input when all of it has been sent.
    account: Option<Arc<Account>>,
}

impl Upload {
    /// At most `most` bytes, which are added to `sent`.
    pub fn new(most: u64, sent: Arc<AtomicU64>, account: Option<Arc<Account>>) -> Self {
        Self { most, sent, began: Instant::now(), model: ModelName::default(), account }
    }
}

impl Watch for Upload {
    fn read(&mut self, part: &Bytes) -> Result<(), BodyError> {
        let length = part.len() as u64;
        let sent = self.sent.fetch_add(length, Ordering::Relaxed).saturating_add(length);
        if sent > self.most {
            return Err(BodyError::TooLarge(self.most));
        }
        if self.account.is_some() {
            self.model.feed(part);
        }
        Ok(())
    }

    fn deadline(&self) -> (Instant, BodyError) {
        (self.began + allowed(self.sent.load(Ordering::Relaxed)), BodyError::Slow)
    }

    fn ended(&mut self, is_whole: bool) {
        if let Some(account) = self.account.take().filter(|_| is_whole) {
            account.sent(self.model.found(), self.sent.load(Ordering::Relaxed));
        }
    }
}

/// Reads the body of a response, and releases what it needs when it ends.
pub struct Download {
    /// Reads the usage; `None`: the request costs nothing.
    pub metered: Option<(Meter, Arc<Account>)>,
    /// The length of the request.
    pub sent: Arc<AtomicU64>,
    /// The connection, which is kept at the end of the body.
    pub connection: Option<(Arc<Connections>, Sender)>,
    /// The place among the requests under way.
    pub permit: Option<Permit>,
}

impl Watch for Download {
    fn read(&mut self, part: &Bytes) -> Result<(), BodyError> {
        if let Some((meter, account)) = &mut self.metered {
            meter.feed(part);
            // Before the client sees the end of the message, so that its next request is judged with it.
            if let Some((model, usage)) = meter.news() {
                account.used(model, usage);
            }
        }
        Ok(())
    }

    fn deadline(&self) -> (Instant, BodyError) {
        (Instant::now() + IDLE, BodyError::Idle)
    }

    fn ended(&mut self, is_whole: bool) {
        if let Some((mut meter, account)) = self.metered.take() {
            match meter.end(self.sent.load(Ordering::Relaxed)) {
                Some((model, usage)) => account.used(model, usage),
                // A whole response without a message is an error, which the API does not charge.
                None if is_whole && !meter.has_reported() => account.cancel(),
                None => {}
            }
        }
        if let Some((connections, sender)) = self.connection.take().filter(|_| is_whole) {
            connections.keep(sender);
        }
        self.permit = None;
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        // The client has gone.
        self.ended(false);
    }
}
