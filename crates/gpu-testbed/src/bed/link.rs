//! The test process's end of the wire to the warden.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::{BedError, BedId, locate};
use crate::warden::protocol::{End, Order, Report, Request};
use crate::warden::{BED_VARIABLE, FINGERPRINT, program};

/// The warden answers in microseconds; a loaded machine may delay it, and only a broken one for this long.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// The warden's own bounds (graces, kills, control groups) together stay below this.
const END_WITHIN: Duration = Duration::from_secs(60);

/// How many lines of a log an error shows.
const TAIL_LINES: usize = 25;

/// The connection and what is known from it.
#[derive(Debug)]
pub(super) struct Link {
    warden: Mutex<Child>,
    input: Mutex<Option<ChildStdin>>,
    state: Mutex<State>,
    /// Wakes threads that wait for a reply.
    changed: Condvar,
    /// Wakes futures that wait for the end of a part.
    news: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    next_id: u64,
    replies: BTreeMap<u64, Result<Option<i32>, String>>,
    parts: BTreeMap<String, Life>,
    closing: bool,
    warden_gone: bool,
}

/// What is known of one part.
#[derive(Debug, Clone)]
pub(super) struct Life {
    log: PathBuf,
    expected_to_end: bool,
    pub(super) end: Option<End>,
}

impl Link {
    /// Starts a warden for the bed; rebuilds its program when it is missing or of another version.
    pub(super) fn open(id: &BedId, directory: &Path, prefix: &[&str]) -> Result<Arc<Self>, BedError> {
        if let Some(file) = locate::present() {
            match Self::open_with(&file, id, directory, prefix) {
                Ok(Some(link)) => return Ok(link),
                Ok(None) => {}
                Err(error) => return Err(error),
            }
        }
        let file = locate::build()?;
        Self::open_with(&file, id, directory, prefix)?.ok_or_else(|| BedError::WardenMissing {
            why: "the program just built is of another version than this test".to_owned(),
        })
    }

    /// None when the program is of another version.
    fn open_with(
        file: &Path,
        id: &BedId,
        directory: &Path,
        prefix: &[&str],
    ) -> Result<Option<Arc<Self>>, BedError> {
        let mut words: Vec<std::ffi::OsString> = prefix.iter().map(Into::into).collect();
        words.extend([
            file.into(),
            program::SERVE.into(),
            id.to_string().into(),
            directory.into(),
        ]);
        let mut warden = Command::new(&words[0])
            .args(&words[1..])
            .env(BED_VARIABLE, id.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Out of the terminal's foreground group, so that Ctrl-C ends the test and the test's end the bed.
            .process_group(0)
            .spawn()
            .map_err(|source| BedError::WardenStart {
                command: format!("{words:?}"),
                source,
            })?;
        let input = warden.stdin.take();
        let mut output = BufReader::new(warden.stdout.take().expect("standard output is piped"));
        match first_report(&mut output) {
            Some(Report::Ready {
                fingerprint: FINGERPRINT,
                ..
            }) => {}
            _ => {
                drop(input);
                // It ends by the end of its input, or has ended already.
                let _ = warden.wait();
                return Ok(None);
            }
        }
        let link = Arc::new(Self {
            warden: Mutex::new(warden),
            input: Mutex::new(input),
            state: Mutex::default(),
            changed: Condvar::new(),
            news: watch::Sender::new(0),
        });
        let reader = Arc::clone(&link);
        std::thread::spawn(move || reader.read(output));
        Ok(Some(link))
    }

    fn read(&self, output: BufReader<ChildStdout>) {
        for line in output.lines() {
            let Ok(line) = line else { break };
            match serde_json::from_str(&line) {
                Ok(Report::Done { id, pid }) => drop(self.state().replies.insert(id, Ok(pid))),
                Ok(Report::Refused { id, error }) => drop(self.state().replies.insert(id, Err(error))),
                Ok(Report::Exited { name, end }) => {
                    if let Some(life) = self.state().parts.get_mut(&name) {
                        life.end = Some(end);
                    }
                }
                Ok(Report::Ready { .. }) | Err(_) => eprintln!("gpu-testbed: the warden said: {line}"),
            }
            self.tell();
        }
        self.state().warden_gone = true;
        self.tell();
    }

    fn tell(&self) {
        self.changed.notify_all();
        self.news.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic of one test must not hide the state from the others: every change is one assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn process_id(&self) -> u32 {
        self.warden.lock().unwrap_or_else(PoisonError::into_inner).id()
    }

    /// Sends an order and waits for the answer.
    pub(super) fn request(&self, act: &str, order: Order) -> Result<Option<i32>, BedError> {
        let id = {
            let mut state = self.state();
            state.next_id += 1;
            state.next_id
        };
        let mut line =
            serde_json::to_vec(&Request { id, order }).expect("orders hold only strings and numbers");
        line.push(b'\n');
        {
            let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
            let input = input.as_mut().ok_or(BedError::WardenDied)?;
            input
                .write_all(&line)
                .and_then(|()| input.flush())
                .map_err(|_| BedError::WardenDied)?;
        }
        let deadline = Instant::now() + ANSWER_WITHIN;
        let mut state = self.state();
        loop {
            if let Some(reply) = state.replies.remove(&id) {
                return reply.map_err(|why| BedError::Refused {
                    act: act.to_owned(),
                    why,
                });
            }
            if state.warden_gone {
                return Err(BedError::WardenDied);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(BedError::WardenSilent {
                    act: act.to_owned(),
                    within: ANSWER_WITHIN,
                });
            }
            state = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Enters a part in the book, before it is started, so that no early end is missed.
    pub(super) fn register(&self, name: &str, log: &Path, expected_to_end: bool) {
        let life = Life {
            log: log.to_owned(),
            expected_to_end,
            end: None,
        };
        self.state().parts.insert(name.to_owned(), life);
    }

    pub(super) fn forget(&self, name: &str) {
        self.state().parts.remove(name);
    }

    pub(super) fn expect_end(&self, name: &str) {
        if let Some(life) = self.state().parts.get_mut(name) {
            life.expected_to_end = true;
        }
    }

    pub(super) fn life(&self, name: &str) -> Option<Life> {
        self.state().parts.get(name).cloned()
    }

    /// Waits until `seen` finds what it looks for in the state.
    async fn until<T>(&self, mut seen: impl FnMut(&State) -> Option<T>) -> T {
        let mut news = self.news.subscribe();
        loop {
            if let Some(found) = seen(&self.state()) {
                return found;
            }
            // The sender lives in this very object, so the channel cannot be closed.
            let _ = news.changed().await;
        }
    }

    /// Waits for the end of one part.
    pub(super) async fn end_of(&self, name: &str) -> Option<End> {
        self.until(|state| match state.parts.get(name) {
            Some(life) if life.end.is_none() && !state.warden_gone => None,
            Some(life) => Some(life.end),
            None => Some(None),
        })
        .await
    }

    /// Waits for the unexpected end of any part, or of the warden.
    pub(super) async fn failure(&self) -> BedError {
        self.until(State::failure).await
    }

    /// The unexpected end that has already been seen, if any.
    pub(super) fn failure_now(&self) -> Option<BedError> {
        self.state().failure()
    }

    /// Ends the bed and waits until the warden has cleaned up.
    pub(super) fn close(&self) -> Result<(), String> {
        self.state().closing = true;
        drop(self.input.lock().unwrap_or_else(PoisonError::into_inner).take());
        let mut warden = self.warden.lock().unwrap_or_else(PoisonError::into_inner);
        let deadline = Instant::now() + END_WITHIN;
        loop {
            match warden.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(format!("the warden ended with {status}")),
                Err(error) => return Err(format!("the warden cannot be waited for: {error}")),
                Ok(None) if Instant::now() >= deadline => {
                    let _ = warden.kill();
                    let _ = warden.wait();
                    return Err(format!(
                        "the warden did not end within {END_WITHIN:?} and was killed"
                    ));
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }
}

impl State {
    fn failure(&self) -> Option<BedError> {
        if self.closing {
            return None;
        }
        let died = self.parts.iter().find_map(|(name, life)| match life.end {
            Some(end) if !life.expected_to_end => Some((name, life, end)),
            _ => None,
        });
        match died {
            Some((name, life, end)) => Some(BedError::PartDied {
                name: name.clone(),
                end,
                log_tail: tail_of(&life.log),
            }),
            None => self.warden_gone.then_some(BedError::WardenDied),
        }
    }
}

fn first_report(output: &mut BufReader<ChildStdout>) -> Option<Report> {
    let mut line = String::new();
    output.read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

/// The last lines of a log, for an error message.
pub(super) fn tail_of(log: &Path) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}
