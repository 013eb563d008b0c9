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
