//! The runtime of probes, on the thread that asks.

use std::io;

/// The maximum number of threads that resolve names. A hanging resolver blocks its thread beyond the deadline.
const RESOLVERS: usize = 64;

/// The stack size of these threads, in bytes.
const RESOLVER_STACK: usize = 256 * 1024;

/// The result of `work`. An error means that the runtime could not be created.
pub fn run<T>(work: impl Future<Output = T>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(RESOLVERS)
        .thread_stack_size(RESOLVER_STACK)
        .build()?;
    let result = runtime.block_on(work);
    // Threads of hanging resolvers are abandoned.
    runtime.shutdown_background();
    Ok(result)
}
