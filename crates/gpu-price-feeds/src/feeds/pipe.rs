//! From a download to a reader: pieces go through a short queue to a thread that parses them as they come, so that neither the
//! list as a whole nor more than a few pieces of it are ever in memory.

use std::io::{self, Read};

use bytes::{Buf as _, Bytes};
use gpu_cost::formats::FormatError;
use gpu_runtime::http::client::{Chunks, FetchError};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::spawn_blocking;

use super::FeedError;

/// A piece is some hundred kilobytes at most; four of them keep the parser busy while the next arrives.
const PIECES: usize = 4;

/// What goes through the queue. A queue that closes without an end is a download that broke off.
enum Piece {
    Bytes(Bytes),
    End,
}

/// Parses an answer while it arrives. The answer must be there as a whole for the outcome to count.
pub(super) async fn parse<T: Send + 'static>(
    chunks: Chunks,
    parser: impl FnOnce(&mut dyn Read) -> Result<T, FormatError> + Send + 'static,
) -> Result<T, FeedError> {
    let (sender, receiver) = channel(PIECES);
    let parsing = spawn_blocking(move || {
        parser(&mut PieceReader {
            receiver,
            current: Bytes::new(),
            ended: false,
        })
    });
    let fed = feed(chunks, sender).await;
    let parsed = parsing.await.map_err(|_| FeedError::Reader)?;
    // A download that broke off makes the parser fail as well; the first cause is the one to tell.
    fed?;
    Ok(parsed?)
}

/// Sends the pieces on. A parser that has had enough is no fault of the download.
async fn feed(mut chunks: Chunks, sender: Sender<Piece>) -> Result<(), FetchError> {
    while let Some(bytes) = chunks.next().await? {
        if sender.send(Piece::Bytes(bytes)).await.is_err() {
            return Ok(());
        }
    }
    let _ = sender.send(Piece::End).await;
    Ok(())
}

struct PieceReader {
    receiver: Receiver<Piece>,
    current: Bytes,
    ended: bool,
}

impl Read for PieceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() && !self.ended {
            match self.receiver.blocking_recv() {
                Some(Piece::Bytes(bytes)) => self.current = bytes,
                Some(Piece::End) => self.ended = true,
                None => {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "the download broke off",
                    ));
                }
            }
        }
        let length = self.current.len().min(buffer.len());
        self.current.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}
