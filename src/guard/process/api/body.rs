//! Bodies of requests and responses on their way: limits, timeouts, and the meter.

use std::error::Error;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

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

/// The next part of a body, or [`BodyError::Idle`] if there is none within [`IDLE`].
fn poll_part<B>(
    body: &mut B,
    idle: &mut Pin<Box<Sleep>>,
    cx: &mut Context<'_>,
) -> Poll<Option<Result<Frame<Bytes>, BoxError>>>
where
    B: hyper::body::Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    let Poll::Ready(frame) = Pin::new(body).poll_frame(cx) else {
        ready!(idle.as_mut().poll(cx));
        return Poll::Ready(Some(Err(BodyError::Idle.into())));
    };
    idle.as_mut().reset(Instant::now() + IDLE);
    Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
}

/// The time by which a request has to be there of which this many bytes have arrived.
const fn allowed(arrived: u64) -> Duration {
    ARRIVAL.saturating_add(Duration::from_secs(arrived / LEAST_SPEED))
}

/// The body of a request, counted and limited.
#[derive(Debug)]
pub struct Upload {
    inner: Body,
    most: u64,
    sent: Arc<AtomicU64>,
    began: Instant,
    late: Pin<Box<Sleep>>,
    model: ModelName,
    /// Is charged with the input when all of it has been sent.
    account: Option<Arc<Account>>,
}

impl Upload {
    /// At most `most` bytes, which are added to `sent`.
    pub fn new(inner: Body, most: u64, sent: Arc<AtomicU64>, account: Option<Arc<Account>>) -> Self {
        let late = Box::pin(sleep(allowed(0)));
        Self { inner, most, sent, began: Instant::now(), late, model: ModelName::default(), account }
    }

    /// Charges the input.
    fn ended(&mut self) {
        if let Some(account) = self.account.take() {
            account.sent(self.model.found(), self.sent.load(Ordering::Relaxed));
        }
    }
}

impl hyper::body::Body for Upload {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(cx) else {
            ready!(this.late.as_mut().poll(cx));
            return Poll::Ready(Some(Err(BodyError::Slow.into())));
        };
        match &frame {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    let length = data.len() as u64;
                    let sent = this.sent.fetch_add(length, Ordering::Relaxed).saturating_add(length);
                    if sent > this.most {
                        return Poll::Ready(Some(Err(BodyError::TooLarge(this.most).into())));
                    }
                    this.late.as_mut().reset(this.began + allowed(sent));
                    if this.account.is_some() {
                        this.model.feed(data);
                    }
                }
                // A body of a stated length is not asked for its end.
                if this.inner.is_end_stream() {
                    this.ended();
                }
            }
            Some(Err(_)) => this.account = None,
            None => this.ended(),
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The body of a response, unchanged, with what is released when it ends.
pub struct Download {
    /// The body.
    pub inner: Incoming,
    /// Reads the usage; `None`: the request costs nothing.
    pub metered: Option<(Meter, Arc<Account>)>,
    /// The length of the request.
    pub sent: Arc<AtomicU64>,
    /// The connection, which is kept at the end of the body.
    pub connection: Option<(Arc<Connections>, Sender)>,
    /// The place among the requests under way.
    pub permit: Option<Permit>,
    /// The timeout of the next part.
    pub idle: Pin<Box<Sleep>>,
}

impl Download {
    /// The timeout of the next part.
    pub fn timeout() -> Pin<Box<Sleep>> {
        Box::pin(sleep(IDLE))
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
        if let Some((connections, sender)) = self.connection.take()
            && is_whole
        {
            connections.keep(sender);
        }
        self.permit = None;
    }
}

impl hyper::body::Body for Download {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        let frame = ready!(poll_part(&mut this.inner, &mut this.idle, cx));
        match &frame {
            Some(Ok(frame)) => {
                if let (Some(data), Some((meter, account))) = (frame.data_ref(), &mut this.metered) {
                    meter.feed(data);
                    // Before the client sees the end of the message, so that its next request is judged with it.
                    if let Some((model, usage)) = meter.news() {
                        account.used(model, usage);
                    }
                }
                // A body of a stated length is not asked for its end.
                if this.inner.is_end_stream() {
                    this.ended(true);
                }
            }
            Some(Err(_)) => this.ended(false),
            None => this.ended(true),
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

impl Drop for Download {
    fn drop(&mut self) {
        // The client has gone.
        self.ended(false);
    }
}
