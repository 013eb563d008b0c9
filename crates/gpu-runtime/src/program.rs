//! Runs the asynchronous main function of a program and sees that the process really ends after it.

use std::future::Future;
use std::io;
use std::time::Duration;

/// How long blocking calls may still hold the process after its main function returned: a hung driver call
/// cannot be cancelled, and must not keep a stopped program in the process table.
const BLOCKING_GRACE: Duration = Duration::from_millis(200);

/// Runs `main` on a multi-threaded runtime and returns what it returned.
///
/// Fails only when the operating system refuses the threads of the runtime.
pub fn run<F: Future>(main: F) -> io::Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let output = runtime.block_on(main);
    runtime.shutdown_timeout(BLOCKING_GRACE);
    Ok(output)
}

/// Runs `main` on the calling thread alone, for programs whose requests are short and whose memory is counted.
///
/// Fails only when the operating system refuses what the runtime needs.
pub fn run_on_one_thread<F: Future>(main: F) -> io::Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // Only what is too slow for the one thread goes to others, and each has a bound of its own.
        .max_blocking_threads(BLOCKING_THREADS)
        .build()?;
    let output = runtime.block_on(main);
    runtime.shutdown_timeout(BLOCKING_GRACE);
    Ok(output)
}

/// Name lookups and password checks; more at once would only compete for the processor.
const BLOCKING_THREADS: usize = 4;
