//! A small HTTP server of a test itself, for parts that fetch pages.

use std::net::Ipv4Addr;

use axum::Router;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

/// Serves until it is dropped.
pub(crate) struct PageServer {
    pub(crate) address: String,
    task: AbortHandle,
}

impl PageServer {
    pub(crate) async fn start(router: Router) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?.to_string();
        let task = tokio::spawn(async move { axum::serve(listener, router).await }).abort_handle();
        Ok(Self { address, task })
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}
