//! The one place where NVML is called. All unsafe code of this crate lies here and in the tables below it.
//!
//! A call enters through a gate: once the driver is to be released no new call gets in, and the last call that is under way
//! shuts the library down. A handle can therefore be used at any time by any thread: NVML is documented to be
//! thread-safe, and after a shutdown nothing reaches it.
#![expect(
    unsafe_code,
    reason = "NVML is a C library; the tables bind each function to its documented shape"
)]

mod lists;
mod table;

use std::ffi::OsStr;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use nvml_wrapper_sys::bindings::{NvmlLib, nvmlDevice_t, nvmlEventSet_t, nvmlGpmSample_t};

use crate::fault::{Answer, Fault};

/// Set in the gate when no new call may enter; the bits below count the calls under way.
const CLOSED: u32 = 1 << 31;
/// A machine without GPUs has a driver all the same, and GPUs may come later.
const NO_GPUS_IS_FINE: u32 = 1;

/// The loaded library.
pub(crate) struct Library {
    symbols: NvmlLib,
    gate: AtomicU32,
    /// Nobody has to call `nvmlShutdown` (any more).
    shut: AtomicBool,
}

/// A call under way.
struct Pass<'a>(&'a Library);

/// Asks one function of the table: `Err` without the symbol or past the gate, else what its code means.
macro_rules! call {
    ($library:expr, $symbol:ident($($argument:expr),* $(,)?)) => {{
        let library: &$crate::raw::Library = $library;
        match (&library.symbols.$symbol, library.enter()) {
            (Err(_), _) => Err($crate::fault::Fault::Unsupported),
            (_, Err(fault)) => Err(fault),
            (Ok(function), Ok(_pass)) => {
                // SAFETY: the symbol has NVML's documented signature, which bindgen took from NVIDIA's header; the
                // session is open while the pass is held; every handle came from this session; every pointer is to
                // memory that outlives the call and has the room that the arguments say.
                $crate::fault::Fault::check(unsafe { function($($argument),*) })
            }
        }
    }};
}
use call;
pub(crate) use lists::{Fill, Listing, NO_PROCESS, NO_SAMPLE, RawGpmRequest, field_answer, field_value};

impl Library {
    /// Loads the library without starting it. The error is the dynamic linker's words.
    pub(crate) fn open(path: &OsStr) -> Result<Library, String> {
        // SAFETY: loading runs the library's constructors; NVIDIA's has none that need anything of us, and a file that is
        // not NVIDIA's is the administrator's choice, who can make us run anything anyway.
        let symbols = unsafe { NvmlLib::new(path) }.map_err(|error| error.to_string())?;
        Ok(Library {
            symbols,
            gate: AtomicU32::new(0),
            shut: AtomicBool::new(true),
        })
    }

    /// Opens the session.
    pub(crate) fn start(&self) -> Answer<()> {
        match call!(self, nvmlInitWithFlags(NO_GPUS_IS_FINE)) {
            Err(Fault::Unsupported) => call!(self, nvmlInit_v2()),
            other => other,
        }?;
        self.shut.store(false, Ordering::Release);
        Ok(())
    }

    /// Lets nothing in any more. Shuts down at once, or with the last call that is under way; says how many are.
    pub(crate) fn close(&self) -> u32 {
        let before = self.gate.fetch_or(CLOSED, Ordering::AcqRel);
        let under_way = before & !CLOSED;
        if under_way == 0 {
            self.shut_down();
        }
        under_way
    }

    /// The first drivers of the 535 branch wrote larger entries under the name of the third version.
    pub(crate) fn writes_large_process_entries(&self) -> bool {
        self.symbols.nvmlDeviceGetConfComputeMemSizeInfo.is_ok()
            && self.symbols.nvmlDeviceGetRunningProcessDetailList.is_err()
    }

    fn enter(&self) -> Result<Pass<'_>, Fault> {
        let before = self.gate.fetch_add(1, Ordering::AcqRel);
        // The count goes back even when the gate is closed.
        let pass = Pass(self);
        if before & CLOSED == 0 {
            Ok(pass)
        } else {
            Err(Fault::Uninitialized)
        }
    }

    fn shut_down(&self) {
        if self.shut.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Ok(function) = &self.symbols.nvmlShutdown {
            // SAFETY: the session is open, the gate is closed and no call is under way.
            let _ = unsafe { function() };
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let before = self.0.gate.fetch_sub(1, Ordering::AcqRel);
        if before == CLOSED | 1 {
            self.0.shut_down();
        }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        self.close();
    }
}

/// A device of an open session.
#[derive(Clone)]
pub(crate) struct Handle {
    pub(crate) library: Arc<Library>,
    raw: nvmlDevice_t,
}

/// An event set of an open session.
pub(crate) struct RawEventSet {
    library: Arc<Library>,
    raw: nvmlEventSet_t,
}

/// A GPM sample of an open session.
pub(crate) struct RawGpmSample {
    library: Arc<Library>,
    raw: nvmlGpmSample_t,
}

// SAFETY: a handle is an opaque token that NVML allows to be used from any thread at any time.
unsafe impl Send for Handle {}
// SAFETY: as above; NVML guards its own state.
unsafe impl Sync for Handle {}
// SAFETY: an event set is an opaque token that any one thread may wait on.
unsafe impl Send for RawEventSet {}
// SAFETY: a sample is an opaque token; only `&mut` fills it and `&` reads it.
unsafe impl Send for RawGpmSample {}

impl Handle {
    pub(crate) fn is(&self, other: &Handle) -> bool {
        self.raw == other.raw
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handle({:p})", self.raw)
    }
}

/// Tokens of one session mean nothing to another.
fn same(one: &Arc<Library>, other: &Arc<Library>) -> Answer<()> {
    if Arc::ptr_eq(one, other) {
        Ok(())
    } else {
        Err(crate::fault::INVALID_ARGUMENT)
    }
}

/// How NVML marks the layout of a struct: its size, and its version in the top byte.
const fn version_of<T>(version: u32) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "NVML's structs are some kilobytes at most"
    )]
    let size = size_of::<T>() as u32;
    size | version << 24
}
