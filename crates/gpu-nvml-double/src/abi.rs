//! NVML's C interface, one file a topic. What is not here, a caller finds missing, as in an older driver.
#![expect(unsafe_code, reason = "a C interface writes where its caller points")]

mod clocks;
mod devices;
mod errors;
mod events;
mod fields;
mod gauges;
mod gpm;
mod links;
mod mig;
mod others;
mod processes;
mod system;

use std::ffi::c_char;

use nvml_wrapper_sys::bindings::nvmlDevice_t;

use crate::scenario::Gpu;
use crate::world::{Code, Effects, INSUFFICIENT_SIZE, INVALID_ARGUMENT, NOT_SUPPORTED, Seen, answer};

/// Functions that write one value of the whole GPU: `None` is "not supported", and so is asking a slice.
macro_rules! get {
    ($($function:ident($($arg:ident: $ty:ty),*) -> $out:ty = |$seen:ident| $value:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $function(
            device: nvml_wrapper_sys::bindings::nvmlDevice_t,
            $($arg: $ty,)*
            out: *mut $out,
        ) -> nvml_wrapper_sys::bindings::nvmlReturn_t {
            $crate::world::answer(stringify!($function), device, |$seen| {
                super::whole($seen)?;
                let value: Option<$out> = $value;
                super::store(out, value.ok_or($crate::world::NOT_SUPPORTED)?)
            })
        }
    )*};
}

/// Functions that write two values.
macro_rules! get_two {
    ($($function:ident -> ($first:ty, $second:ty) = |$seen:ident| $value:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $function(
            device: nvml_wrapper_sys::bindings::nvmlDevice_t,
            first: *mut $first,
            second: *mut $second,
        ) -> nvml_wrapper_sys::bindings::nvmlReturn_t {
            $crate::world::answer(stringify!($function), device, |$seen| {
                super::whole($seen)?;
                let value: Option<($first, $second)> = $value;
                let (one, two) = value.ok_or($crate::world::NOT_SUPPORTED)?;
                super::store(first, one)?;
                super::store(second, two)
            })
        }
    )*};
}

pub(crate) use {get, get_two};

/// Writes where the caller points.
fn store<T>(out: *mut T, value: T) -> Result<(), Code> {
    if out.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: NVML's contract, which this library takes over, is that a pointer that is not null may be written.
    unsafe { out.write(value) };
    Ok(())
}

/// Reads what the caller points at.
fn load<T: Copy>(from: *const T) -> Result<T, Code> {
    if from.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: NVML's contract is that a pointer that is not null may be read, and is initialised where it is input.
    Ok(unsafe { from.read() })
}

/// Writes as many of `values` as the caller made room for, by NVML's size protocol.
fn store_list<T: Copy>(values: &[T], count: *mut u32, out: *mut T, effects: Effects) -> Result<(), Code> {
    let room = load(count)?;
    let needed = u32::try_from(values.len()).unwrap_or(u32::MAX);
    if effects.absurd {
        store(count, crate::world::ABSURD)?;
        return if out.is_null() {
            Err(INSUFFICIENT_SIZE)
        } else {
            Ok(())
        };
    }
    store(count, needed)?;
    if room < needed || (needed > 0 && out.is_null()) {
        return Err(INSUFFICIENT_SIZE);
    }
    for (place, value) in values.iter().enumerate() {
        // SAFETY: the caller said that there is room for `room` values, and there are no more than that.
        unsafe { out.add(place).write(*value) };
    }
    Ok(())
}

/// Fills a text buffer of the caller, or all of it with bytes that are no text.
fn store_text(text: &str, out: *mut c_char, length: u32, effects: Effects) -> Result<(), Code> {
    if out.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    let length = length as usize;
    // SAFETY: the caller said that there is room for `length` characters.
    let room = unsafe { std::slice::from_raw_parts_mut(out.cast::<u8>(), length) };
    fill(room, text, effects)
}

fn fill(room: &mut [u8], text: &str, effects: Effects) -> Result<(), Code> {
    if effects.garbage {
        room.fill(0xFE);
        return Ok(());
    }
    if text.len() >= room.len() {
        return Err(INSUFFICIENT_SIZE);
    }
    room[..text.len()].copy_from_slice(text.as_bytes());
    room[text.len()] = 0;
    Ok(())
}

/// A text inside a struct.
fn chars<const N: usize>(text: &str, effects: Effects) -> [c_char; N] {
    let mut bytes = [0_u8; N];
    // A text that does not fit stays empty.
    let _ = fill(&mut bytes, text, effects);
    bytes.map(|byte| c_char::from_ne_bytes([byte]))
}

/// Text functions of a device.
fn text_of(
    function: &'static str,
    device: nvmlDevice_t,
    out: *mut c_char,
    length: u32,
    pick: impl FnOnce(&Seen<'_>) -> Option<String>,
) -> Code {
    answer(function, device, |seen| {
        let text = pick(seen).ok_or(NOT_SUPPORTED)?;
        store_text(&text, out, length, seen.effects)
    })
}

fn whole<'a>(seen: &'a Seen<'_>) -> Result<&'a Gpu, Code> {
    if seen.mig.is_some() {
        Err(NOT_SUPPORTED)
    } else {
        Ok(seen.gpu)
    }
}

/// How NVML marks the layout of a struct: its size, and its version in the top byte.
fn version_of<T>(version: u32) -> u32 {
    u32::try_from(size_of::<T>()).unwrap_or(u32::MAX) | version << 24
}
