//! The kernel's log, where it can be read: NVIDIA's kernel module reports faults (XIDs) there, also those of a GPU that is
//! too far gone for the driver's own events. Read from now on, on a thread of its own; a line that is not understood is
//! passed over.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::source::{Fault, FaultDevice};

/// The kernel cuts a record at 8 KiB; a read into less fails.
const RECORD_BYTES: usize = 8192;
/// How often the thread looks whether it should end.
const LOOK_UP: Duration = Duration::from_secs(1);
/// A storm of records is read no faster than this many before the thread lets others run.
const MOST_AT_ONCE: usize = 1000;
/// Nothing here needs more; the default of 2 MiB a thread frightens people who look at virtual memory.
const STACK_BYTES: usize = 128 * 1024;

/// The running reader; it ends with this value.
pub struct KernelLog {
    stop: Arc<AtomicBool>,
}

impl KernelLog {
    /// Opens the log and calls `report` for each fault from now on. Fails where the log cannot be read: it needs `/dev/kmsg`
    /// in the container and, on most machines, CAP_SYSLOG.
    pub fn start(path: &Path, report: impl Fn(&Fault) + Send + 'static) -> std::io::Result<Self> {
        let mut log = OpenOptions::new()
            .read(true)
            .custom_flags(OFlag::O_NONBLOCK.bits())
            .open(path)?;
        // What was said before this process began belongs to counters of another life. A pipe has no end to go to.
        if let Err(error) = log.seek(SeekFrom::End(0))
            && error.kind() != ErrorKind::NotSeekable
        {
            return Err(error);
        }
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        std::thread::Builder::new()
            .name("kernel-log".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || listen(log, &report, &seen))?;
        Ok(Self { stop })
    }
}

impl Drop for KernelLog {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn listen(mut log: File, report: &impl Fn(&Fault), stop: &AtomicBool) {
    let mut record = [0; RECORD_BYTES];
    let mut at_once = 0;
    while !stop.load(Ordering::Relaxed) {
        match log.read(&mut record) {
            Ok(0) => pause(&mut at_once),
            Ok(length) => {
                let text = String::from_utf8_lossy(&record[..length]);
                text.lines().filter_map(parse_record).for_each(|fault| {
                    tracing::warn!(code = fault.code, device = ?fault.device, "the kernel's log has a fault");
                    report(&fault);
                });
                at_once += 1;
                if at_once >= MOST_AT_ONCE {
                    pause(&mut at_once);
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                at_once = 0;
                let timeout = PollTimeout::try_from(LOOK_UP).unwrap_or(PollTimeout::NONE);
                let mut waits = [PollFd::new(log.as_fd(), PollFlags::POLLIN)];
                // Whatever ended the wait, the next read tells.
                let _ = poll(&mut waits, timeout);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // The kernel wrote over records that were not read yet, and goes on with the oldest it has.
            Err(error) if error.raw_os_error() == Some(Errno::EPIPE as i32) => {}
            Err(error) => {
                tracing::warn!(%error, "stopped reading the kernel's log");
                return;
            }
        }
    }
}

fn pause(at_once: &mut usize) {
    *at_once = 0;
    std::thread::sleep(Duration::from_millis(100));
}

/// Reads a record of `/dev/kmsg`: `priority,sequence,microseconds,flags;text`. Only the kernel's own records count: what a
/// program wrote there has another facility, and could name any fault it likes.
pub fn parse_record(record: &str) -> Option<Fault> {
    let (prefix, text) = record.split_once(';')?;
    let priority: u32 = prefix.split(',').next()?.parse().ok()?;
    let facility = priority >> 3;
    if facility != 0 {
        return None;
    }
    parse_line(text)
}

/// Reads the text of a record: `NVRM: Xid (PCI:0000:3b:00): 79, pid=...`, with or without `PCI:`, with a function number or
/// with the slice after the address.
pub fn parse_line(text: &str) -> Option<Fault> {
    let rest = text.strip_prefix("NVRM: Xid (")?;
    let (place, rest) = rest.split_once(')')?;
    let address = place.split_whitespace().next()?;
    let address = address.strip_prefix("PCI:").unwrap_or(address);
    let rest = rest.strip_prefix(':')?.trim_start();
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some(Fault {
        device: FaultDevice::PciBusId(pci_bus_id(address)?),
        code: rest[..digits].parse().ok()?,
    })
}

/// The address in NVML's spelling: eight digits of domain, and function 0, which is the GPU's own.
fn pci_bus_id(address: &str) -> Option<String> {
    let mut parts = address.split(':');
    let (domain, bus, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let device = rest.split_once('.').map_or(rest, |(device, _)| device);
    if parts.next().is_some() || bus.len() != 2 || device.len() != 2 || domain.len() > 8 {
        return None;
    }
    let number = |text: &str| u32::from_str_radix(text, 16).ok();
    Some(format!(
        "{:08x}:{:02x}:{:02x}.0",
        number(domain)?,
        number(bus)?,
        number(device)?
    ))
}

#[cfg(test)]
mod tests;
