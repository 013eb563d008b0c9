//! The way from the test process into the node's network namespace, without a trace in the network of the machine.
//!
//! A socket belongs for ever to the namespace of the thread that opened it. So a short-lived thread enters the
//! namespace, connects, and hands the socket out.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream as BlockingStream};
use std::sync::Arc;
use std::time::Duration;

use nix::sched::{CloneFlags, setns};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// Everything in the namespace is on this machine: what does not accept in this time does not accept.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// The node's network namespace.
#[derive(Debug, Clone)]
pub(super) struct Doorway {
    namespace: Arc<File>,
}

impl Doorway {
    /// The namespace that the process lives in.
    pub(super) fn of_process(pid: u32) -> io::Result<Self> {
        let namespace = File::open(format!("/proc/{pid}/ns/net"))?;
        Ok(Self {
            namespace: Arc::new(namespace),
        })
    }

    /// Connects to an address inside.
    pub(super) async fn connect(&self, to: SocketAddr) -> io::Result<TcpStream> {
        let (sender, connected) = oneshot::channel();
        let namespace = Arc::clone(&self.namespace);
        std::thread::Builder::new()
            .name("doorway".to_owned())
            .spawn(move || {
                // The other side may have lost interest.
                let _ = sender.send(connect_inside(&namespace, to));
            })?;
        let stream = connected
            .await
            .map_err(|_| io::Error::other("the connecting thread ended"))??;
        stream.set_nonblocking(true)?;
        TcpStream::from_std(stream)
    }

    /// Opens a loopback port outside whose connections lead to one address inside.
    pub(super) fn relay(&self, to: SocketAddr) -> io::Result<Relay> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let doorway = self.clone();
        // Its own thread and runtime, because a test's runtime ends with the test and a shared node does not.
        std::thread::Builder::new()
            .name("relay".to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                match runtime {
                    Ok(runtime) => runtime.block_on(doorway.serve(listener, to, stopped)),
                    Err(error) => eprintln!("gpu-testbed: the relay to {to} did not start: {error}"),
                }
            })?;
        Ok(Relay { address, _stop: stop })
    }

    async fn serve(self, listener: std::net::TcpListener, to: SocketAddr, stopped: oneshot::Receiver<()>) {
        let listener = match TcpListener::from_std(listener) {
            Ok(listener) => listener,
            Err(error) => return eprintln!("gpu-testbed: the relay to {to} cannot listen: {error}"),
        };
        let accept = async {
            loop {
                // A connection that is gone before it is accepted concerns nobody else.
                let Ok((mut outside, _)) = listener.accept().await else {
                    continue;
                };
                let doorway = self.clone();
                tokio::spawn(async move {
                    // A refused connection shows outside as one that is closed at once.
                    if let Ok(mut inside) = doorway.connect(to).await {
                        let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
                    }
                });
            }
        };
        tokio::select! {
            () = accept => {}
            _ = stopped => {}
        }
    }
}

/// A loopback port that leads inside; it closes when this is dropped.
#[derive(Debug)]
pub(super) struct Relay {
    /// The address outside.
    pub(super) address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

fn connect_inside(namespace: &File, to: SocketAddr) -> io::Result<BlockingStream> {
    setns(namespace, CloneFlags::CLONE_NEWNET)?;
    BlockingStream::connect_timeout(&to, CONNECT_WITHIN)
}
