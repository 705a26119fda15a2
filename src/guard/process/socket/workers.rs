//! Threads that judge calls and count them, with the ledger open.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;

use tokio::sync::oneshot;

/// The number of threads. Writers of the ledger wait for each other anyway.
const THREADS: usize = 4;

/// The work that may wait for a thread.
const QUEUE: usize = 1024;

type Work = Box<dyn FnOnce() + Send>;

/// The threads.
#[derive(Debug)]
pub struct Workers {
    queue: SyncSender<Work>,
}

impl Workers {
    /// Starts the threads. They end when this is dropped.
    pub fn start() -> io::Result<Self> {
        let (queue, work) = sync_channel::<Work>(QUEUE);
        let work = Arc::new(Mutex::new(work));
        for number in 1..=THREADS {
            let work = Arc::clone(&work);
            Builder::new().name(format!("ledger-{number}")).spawn(move || run(&work))?;
        }
        Ok(Self { queue })
    }

    /// Runs `work` on one of the threads.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
        let (done, result) = oneshot::channel();
        let work: Work = Box::new(move || {
            // A connection that has ended does not wait for the result.
            let _ = done.send(work());
        });
        self.queue.try_send(work).map_err(|_| io::Error::other("too many requests at once"))?;
        result.await.map_err(io::Error::other)
    }
}

fn run(work: &Mutex<Receiver<Work>>) {
    loop {
        let next = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(next) = next else { return };
        // A panic ends the work, not the thread. The result is then missing.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_ends_only_its_own_work() {
        let workers = Workers::start().unwrap();
        for _ in 0..2 * THREADS {
            let done: io::Result<()> = workers.run(|| panic!("x")).await;
            assert!(done.is_err());
        }
        assert_eq!(workers.run(|| 7).await.unwrap(), 7);
    }
}
