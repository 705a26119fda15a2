//! Whether one process of a server serves a connection from its beginning to its end. Behind a pooler, another one may serve each
//! transaction, and what a connection has prepared is not there.

use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future::try_join;
use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadBuf, duplex,
};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};
use tokio_postgres::{Client, SimpleQueryMessage};

/// The code with which a client asks for TLS.
const TLS_REQUEST: [u8; 4] = 80_877_103_u32.to_be_bytes();

/// The largest number of a process.
const LARGEST: u32 = 1 << 22;

/// Whether the stated process cannot be one of a server: a pooler states a random number.
pub async fn is_pooled(client: &Client) -> bool {
    stated(client).await.is_ok_and(|number| number > LARGEST)
}

/// Whether the process that answers is the one that was stated when the connection began: a pooler states another number.
pub async fn is_direct(client: &Client) -> bool {
    let Ok(messages) = client.simple_query("SELECT pg_backend_pid()").await else { return false };
    let answering = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
        _ => None,
    });
    answering.is_some() && answering == stated(client).await.ok()
}

/// The number of the process that was stated at the beginning. The client library writes it only into a request to cancel, which
/// goes nowhere from here.
async fn stated(client: &Client) -> io::Result<u32> {
    let (near, mut far) = duplex(64);
    let request =
        async { client.cancel_token().cancel_query_raw(near, Unencrypted).await.map_err(io::Error::other) };
    let answer = async {
        let mut head = [0; 8];
        far.read_exact(&mut head).await?;
        if head.ends_with(&TLS_REQUEST) {
            far.write_all(b"S").await?;
            far.read_exact(&mut head).await?;
        }
        far.read_u32().await
    };
    Ok(try_join(request, answer).await?.1)
}

/// What is asked to encrypt a stream and does not: nothing leaves this process.
struct Unencrypted;

/// A stream within this process.
struct Within(DuplexStream);

impl TlsConnect<DuplexStream> for Unencrypted {
    type Stream = Within;
    type Error = io::Error;
    type Future = Ready<io::Result<Within>>;

    fn connect(self, stream: DuplexStream) -> Self::Future {
        ready(Ok(Within(stream)))
    }
}

impl TlsStream for Within {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Within {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Within {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
