//! One file of `/sys`, opened once and read again and again into a buffer of the caller: a sample allocates nothing. What a
//! failed reading means is sorted here, because every file of a driver says "not here" in its own way.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use gpu_model::Reading;
use nix::errno::Errno;

use super::DriverFault;
use super::amd::text;
use crate::readings::DeviceReadings;

/// A page, which is the most that the kernel gives of an attribute.
pub(super) const PAGE: usize = 4096;
/// A signal may interrupt a reading; one that is interrupted this often is not being read.
const MOST_INTERRUPTS: u32 = 8;
/// A directory of the kernel that we walk has at most some hundred entries; beyond this it is not what we think it is.
pub(super) const MOST_ENTRIES: usize = 4096;

/// Why an attribute gave no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// This device or driver does not have it.
    Unsupported,
    /// The device behind it is gone.
    Gone,
    /// It should have answered; the class is a word of a closed set.
    Failed(&'static str),
}

/// The content is there and is not what it should be.
pub(super) const MALFORMED: Trouble = Trouble::Failed("malformed");

/// A file that stays open.
#[derive(Debug)]
pub(super) struct Attribute {
    state: State,
}

#[derive(Debug)]
enum State {
    Open(File),
    Absent,
    Refused(&'static str),
}

impl Attribute {
    /// Opens the file. One that is not there is unsupported for as long as this value lives: a driver makes its files when it
    /// takes a device, and never later.
    pub(super) fn open(path: &Path) -> Self {
        let state = match File::open(path) {
            Ok(file) => State::Open(file),
            Err(error) => match trouble(&error) {
                Trouble::Failed(class) => State::Refused(class),
                Trouble::Unsupported | Trouble::Gone => State::Absent,
            },
        };
        Self { state }
    }

    /// A file that this device cannot have.
    pub(super) fn absent() -> Self {
        Self { state: State::Absent }
    }

    pub(super) fn is_there(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// The content from the start, as much of it as fits.
    pub(super) fn bytes<'b>(&mut self, buffer: &'b mut [u8]) -> Result<&'b [u8], Trouble> {
        let file = match &self.state {
            State::Open(file) => file,
            State::Absent => return Err(Trouble::Unsupported),
            State::Refused(class) => return Err(Trouble::Failed(class)),
        };
        match read_at_start(file, buffer) {
            Ok(length) => Ok(&buffer[..length]),
            Err(error) => {
                let trouble = trouble(&error);
                if is_for_ever(&error) {
                    self.state = State::Absent;
                }
                Err(trouble)
            }
        }
    }

    /// The content as one line of text without the end of the line.
    pub(super) fn text<'b>(&mut self, buffer: &'b mut [u8]) -> Result<&'b str, Trouble> {
        let bytes = self.bytes(buffer)?;
        text::text(bytes).ok_or(MALFORMED)
    }

    /// The content as a whole number.
    pub(super) fn integer(&mut self, buffer: &mut [u8]) -> Result<i64, Trouble> {
        let text = self.text(buffer)?;
        // Some attributes are there and empty where the hardware has no such sensor.
        if text.is_empty() {
            return Err(Trouble::Unsupported);
        }
        text.parse().map_err(|_| MALFORMED)
    }
}

fn read_at_start(file: &File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut interrupts = 0;
    loop {
        match file.read_at(buffer, 0) {
            Err(error) if error.kind() == ErrorKind::Interrupted && interrupts < MOST_INTERRUPTS => {
                interrupts += 1;
            }
            outcome => return outcome,
        }
    }
}

/// A small file, read once.
pub(super) fn read_text(path: &Path) -> Option<String> {
    let mut buffer = [0; PAGE];
    let file = File::open(path).ok()?;
    let length = read_at_start(&file, &mut buffer).ok()?;
    text::text(&buffer[..length])
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

/// The names in a directory, in order. None where it cannot be read.
pub(super) fn names(directory: &Path) -> Option<Vec<String>> {
    let entries = std::fs::read_dir(directory).ok()?.take(MOST_ENTRIES).flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort_unstable();
    Some(names)
}

/// The number after the prefix, when nothing follows it: `card1` is one, the connector `card1-DP-1` is not.
pub(super) fn numbered(name: &str, prefix: &str) -> Option<u32> {
    let digits = name.strip_prefix(prefix)?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

fn trouble(error: &io::Error) -> Trouble {
    let Some(errno) = error.raw_os_error().map(Errno::from_raw) else {
        return Trouble::Failed("io");
    };
    match errno {
        Errno::ENOENT
        | Errno::ENOTDIR
        | Errno::EOPNOTSUPP
        | Errno::ENOSYS
        | Errno::EINVAL
        | Errno::ENODATA => Trouble::Unsupported,
        Errno::ENODEV | Errno::ENXIO => Trouble::Gone,
        // The management unit is with somebody else, or the device is being reset.
        Errno::EBUSY | Errno::EAGAIN => Trouble::Failed("busy"),
        Errno::EACCES | Errno::EPERM => Trouble::Failed("no_permission"),
        Errno::ETIME | Errno::ETIMEDOUT => Trouble::Failed("timeout"),
        _ => Trouble::Failed("io"),
    }
}

/// Answers that another reading will not change. `EINVAL` is none of them: a device in reset gives it, too.
fn is_for_ever(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::EOPNOTSUPP | Errno::ENOSYS))
}

/// What became of the questions of one cycle. A device of which nothing answered has failed as a whole.
#[derive(Debug, Default)]
pub(super) struct Tally {
    answered: u32,
    gone: u32,
    last: Option<&'static str>,
}

impl Tally {
    pub(super) fn start(&mut self) {
        *self = Self::default();
    }

    /// The reading that an outcome is, counted.
    pub(super) fn note<T>(&mut self, into: &mut DeviceReadings, outcome: Result<T, Trouble>) -> Reading<T> {
        match outcome {
            Ok(value) => {
                self.answered += 1;
                Reading::Known(value)
            }
            Err(Trouble::Unsupported) => Reading::Unsupported,
            Err(Trouble::Gone) => {
                self.gone += 1;
                Reading::Failed
            }
            Err(Trouble::Failed(class)) => {
                into.failed.push(class);
                self.last = Some(class);
                Reading::Failed
            }
        }
    }

    pub(super) fn finish(&self) -> Result<(), DriverFault> {
        match (self.answered, self.gone, self.last) {
            (0, 1.., _) => Err(DriverFault::DeviceLost),
            (0, 0, Some(class)) => Err(DriverFault::Failed { class }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    //! What a file says, and what its silence means.

    use std::path::Path;

    use super::{Attribute, MALFORMED, PAGE, Trouble, numbered, read_text};

    #[track_caller]
    fn check(content: &[u8], expected: Result<i64, Trouble>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("value");
        std::fs::write(&path, content).unwrap();
        let mut attribute = Attribute::open(&path);
        assert_eq!(attribute.integer(&mut [0; PAGE]), expected);
    }

    #[test]
    fn numbers_are_read_as_the_kernel_and_copies_of_it_write_them() {
        check(b"57000\n", Ok(57_000));
        check(b"-273150\n", Ok(-273_150));
        check(b"3\n\0\0\0\0\0\0", Ok(3));
        check(b"", Err(Trouble::Unsupported));
        check(b"\n", Err(Trouble::Unsupported));
        check(b"57 degrees\n", Err(MALFORMED));
        check(&[0xff, 0xfe], Err(MALFORMED));
    }

    #[test]
    fn a_file_is_read_again_without_being_opened_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("value");
        std::fs::write(&path, "1\n").unwrap();
        let mut attribute = Attribute::open(&path);
        assert_eq!(attribute.integer(&mut [0; PAGE]), Ok(1));
        std::fs::write(&path, "22\n").unwrap();
        assert_eq!(attribute.integer(&mut [0; PAGE]), Ok(22));
    }

    #[test]
    fn what_is_not_there_is_unsupported() {
        let mut attribute = Attribute::open(Path::new("/nowhere/at/all"));
        assert_eq!(attribute.integer(&mut [0; PAGE]), Err(Trouble::Unsupported));
        assert_eq!(read_text(Path::new("/nowhere/at/all")), None);
        // A directory can be opened and not be read.
        let mut directory = Attribute::open(Path::new("/"));
        assert_eq!(directory.integer(&mut [0; PAGE]), Err(Trouble::Failed("io")));
    }

    #[test]
    fn only_whole_names_have_numbers() {
        assert_eq!(numbered("card12", "card"), Some(12));
        assert_eq!(numbered("card1-DP-1", "card"), None);
        assert_eq!(numbered("card", "card"), None);
        assert_eq!(numbered("renderD128", "renderD"), Some(128));
        assert_eq!(numbered("card+1", "card"), None);
    }
}
