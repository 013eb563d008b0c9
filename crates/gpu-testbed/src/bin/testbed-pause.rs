//! The one program of the test bed's own image. Without arguments it holds the namespaces of a pod until it is asked
//! to end; as `answer PORT TEXT` it also answers every HTTP request with the text; as `ask ADDRESS:PORT` it asks such
//! a server once and prints the answer, since the image has no other program; as `step PORT DIRECTORY` it is a step of a
//! workflow: it writes the GPUs that it was given to `own`, works until it is asked for anything, and ends after it wrote `done`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a program: it meets the world outside"
)]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use nix::sys::signal::{SigSet, Signal};

/// Everything it speaks to is on the same machine; one silent partner must not block the next for long.
const PATIENCE: Duration = Duration::from_secs(2);

fn main() -> anyhow::Result<()> {
    // As the first process of a container it gets no default actions: what is not waited for is ignored.
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGINT);
    signals.thread_block().context("failed to block signals")?;

    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {}
        ["answer", port, text] => {
            let port: u16 = port.parse().with_context(|| format!("`{port}` is not a port"))?;
            let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))
                .with_context(|| format!("failed to listen on port {port}"))?;
            let text = text.to_owned();
            println!("answering on port {port}");
            std::thread::spawn(move || serve(&listener, &text));
        }
        ["ask", address] => return ask(address),
        ["step", port, directory] => return step(port, Path::new(directory)),
        _ => bail!("usage: testbed-pause [answer PORT TEXT | ask ADDRESS:PORT | step PORT DIRECTORY]"),
    }
    signals.wait().context("failed to wait for signals")?;
    Ok(())
}

fn serve(listener: &TcpListener, text: &str) {
    for stream in listener.incoming().flatten() {
        // A client that goes away is its own concern.
        let _ = answer(stream, text);
    }
}

fn answer(mut stream: TcpStream, text: &str) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !request.ends_with(b"\r\n\r\n") && request.len() < 16 << 10 {
        let length = stream.read(&mut piece)?;
        if length == 0 {
            return Ok(());
        }
        request.extend_from_slice(&piece[..length]);
    }
    let length = text.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )
}

fn step(port: &str, directory: &Path) -> anyhow::Result<()> {
    let port: u16 = port.parse().with_context(|| format!("`{port}` is not a port"))?;
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))
        .with_context(|| format!("failed to listen on port {port}"))?;
    let own = std::env::var("NVIDIA_VISIBLE_DEVICES").unwrap_or_default();
    std::fs::write(directory.join("own"), own).context("failed to write the GPUs of the step")?;
    let (stream, _) = listener.accept().context("nobody ended the step")?;
    answer(stream, "ending")?;
    std::fs::write(directory.join("done"), "0").context("failed to write the end of the step")
}

fn ask(address: &str) -> anyhow::Result<()> {
    let to: SocketAddr = address
        .parse()
        .with_context(|| format!("`{address}` is no address with a port"))?;
    let mut stream =
        TcpStream::connect_timeout(&to, PATIENCE).with_context(|| format!("failed to reach {to}"))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    // At once, because a server that speaks another language hangs up after the first bytes.
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .with_context(|| format!("{to} broke off"))?;
    println!("{answer}");
    Ok(())
}
