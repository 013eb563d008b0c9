//! The bus, NVLink, and where a GPU sits in the machine.

use std::ffi::{c_uint, c_ulong, c_ulonglong};

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlPciInfo_t, nvmlReturn_t};

use super::{chars, get, store, whole};
use crate::scenario::{NvLink, Remote};
use crate::world::{Code, INVALID_ARGUMENT, NOT_SUPPORTED, SUCCESS, Seen, answer, pass, world};

get! {
    nvmlDeviceGetPcieReplayCounter() -> c_uint = |seen| Some(seen.gpu.pcie.replays);
    nvmlDeviceGetCurrPcieLinkGeneration() -> c_uint = |seen| Some(seen.gpu.pcie.generation);
    nvmlDeviceGetCurrPcieLinkWidth() -> c_uint = |seen| Some(seen.gpu.pcie.width);
    nvmlDeviceGetMaxPcieLinkGeneration() -> c_uint = |seen| Some(seen.gpu.pcie.max_generation);
    nvmlDeviceGetMaxPcieLinkWidth() -> c_uint = |seen| Some(seen.gpu.pcie.max_width);
    nvmlDeviceGetPcieThroughput(counter: c_uint) -> c_uint = |seen| match counter {
        0 => Some(seen.gpu.pcie.tx_kib_per_second),
        1 => Some(seen.gpu.pcie.rx_kib_per_second),
        _ => None,
    };
}

fn on_link(
    function: &'static str,
    device: nvmlDevice_t,
    link: c_uint,
    reply: impl FnOnce(&Seen<'_>, &NvLink) -> Result<(), Code>,
) -> Code {
    answer(function, device, |seen| {
        let links = whole(seen)?.nvlink.as_ref().ok_or(NOT_SUPPORTED)?;
        if link >= links.links {
            return Err(INVALID_ARGUMENT);
        }
        reply(seen, links)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetNvLinkState(device: nvmlDevice_t, link: c_uint, out: *mut c_uint) -> nvmlReturn_t {
    on_link("nvmlDeviceGetNvLinkState", device, link, |_, links| {
        store(out, u32::from(!links.down.contains(&link)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetNvLinkVersion(
    device: nvmlDevice_t,
    link: c_uint,
    out: *mut c_uint,
) -> nvmlReturn_t {
    on_link("nvmlDeviceGetNvLinkVersion", device, link, |_, links| {
        store(out, links.version)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetNvLinkErrorCounter(
    device: nvmlDevice_t,
    link: c_uint,
    counter: c_uint,
    out: *mut c_ulonglong,
) -> nvmlReturn_t {
    on_link("nvmlDeviceGetNvLinkErrorCounter", device, link, |_, links| {
        let count = match counter {
            0 => links.errors.replay,
            1 => links.errors.recovery,
            2 => links.errors.crc_flit,
            3 => links.errors.crc_data,
            _ => return Err(NOT_SUPPORTED),
        };
        store(out, count)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetNvLinkRemoteDeviceType(
    device: nvmlDevice_t,
    link: c_uint,
    out: *mut c_uint,
) -> nvmlReturn_t {
    on_link("nvmlDeviceGetNvLinkRemoteDeviceType", device, link, |_, links| {
        store(
            out,
            match links.remote {
                Remote::Gpu => 0,
                Remote::Switch => 2,
            },
        )
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetNvLinkRemotePciInfo_v2(
    device: nvmlDevice_t,
    link: c_uint,
    out: *mut nvmlPciInfo_t,
) -> nvmlReturn_t {
    on_link(
        "nvmlDeviceGetNvLinkRemotePciInfo_v2",
        device,
        link,
        |seen, links| {
            // Four switches share the links of a GPU; without switches all links lead to the next GPU.
            let bus = match links.remote {
                Remote::Switch => 0x05 + link % 4,
                Remote::Gpu => next_bus(seen),
            };
            let id = format!("00000000:{bus:02X}:00.0");
            let info = nvmlPciInfo_t {
                busIdLegacy: chars(&id[4..], seen.effects),
                domain: 0,
                bus,
                device: 0,
                pciDeviceId: 0x22A3_10DE,
                pciSubSystemId: 0,
                busId: chars(&id, seen.effects),
            };
            store(out, info)
        },
    )
}

fn next_bus(seen: &Seen<'_>) -> u32 {
    let gpus = &seen.scenario.gpus;
    let here = gpus.iter().position(|gpu| gpu.uuid == seen.gpu.uuid).unwrap_or(0);
    gpus[(here + 1) % gpus.len()].pci_bus
}

/// Two devices and what lies between them.
fn between(
    function: &'static str,
    one: nvmlDevice_t,
    other: nvmlDevice_t,
    reply: impl FnOnce(&Seen<'_>, &Seen<'_>) -> Result<(), Code>,
) -> Code {
    let served = pass(function, Some(one)).and_then(|effects| {
        let world = world();
        let one = world.see(one, effects)?;
        let other = world.see(other, effects)?;
        reply(&one, &other)
    });
    served.err().unwrap_or(SUCCESS)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetTopologyCommonAncestor(
    one: nvmlDevice_t,
    other: nvmlDevice_t,
    out: *mut c_uint,
) -> nvmlReturn_t {
    between("nvmlDeviceGetTopologyCommonAncestor", one, other, |one, other| {
        // Same node, or across the system.
        store(
            out,
            if one.gpu.numa_node == other.gpu.numa_node {
                40
            } else {
                50
            },
        )
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetP2PStatus(
    one: nvmlDevice_t,
    other: nvmlDevice_t,
    capability: c_uint,
    out: *mut c_uint,
) -> nvmlReturn_t {
    between("nvmlDeviceGetP2PStatus", one, other, |one, other| {
        let linked = one.gpu.nvlink.is_some() && other.gpu.nvlink.is_some();
        store(out, if capability != 2 || linked { 0 } else { 5 })
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMemoryAffinity(
    device: nvmlDevice_t,
    size: c_uint,
    nodes: *mut c_ulong,
    _scope: c_uint,
) -> nvmlReturn_t {
    answer("nvmlDeviceGetMemoryAffinity", device, |seen| {
        let node = whole(seen)?.numa_node.ok_or(NOT_SUPPORTED)?;
        affinity(1 << (node % 64), size, nodes)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetCpuAffinityWithinScope(
    device: nvmlDevice_t,
    size: c_uint,
    cpus: *mut c_ulong,
    _scope: c_uint,
) -> nvmlReturn_t {
    answer("nvmlDeviceGetCpuAffinityWithinScope", device, |seen| {
        let node = whole(seen)?.numa_node.ok_or(NOT_SUPPORTED)?;
        // Thirty-two processors a node, the second node's above the first's.
        affinity(0xFFFF_FFFF << (32 * (node % 2)), size, cpus)
    })
}

fn affinity(mask: c_ulong, size: c_uint, out: *mut c_ulong) -> Result<(), Code> {
    for place in 0..size as usize {
        // SAFETY: the caller said that there is room for `size` words.
        unsafe { out.add(place).write(if place == 0 { mask } else { 0 }) };
    }
    Ok(())
}
