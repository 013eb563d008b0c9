//! Names for devices whose board does not tell its own, by AMD's number of the chip, and the names of instruction sets.

use super::text::GfxTarget;

/// Chips whose boards people know by one name. Where one number was sold under several, the line is named.
const MODELS: &[(u16, &str)] = &[
    (0x66a0, "AMD Instinct MI60"),
    (0x66a1, "AMD Instinct MI50"),
    (0x738c, "AMD Instinct MI100"),
    (0x738e, "AMD Instinct MI100"),
    (0x7408, "AMD Instinct MI250X"),
    (0x740c, "AMD Instinct MI250"),
    (0x740f, "AMD Instinct MI210"),
    (0x74a0, "AMD Instinct MI300A"),
    (0x74a1, "AMD Instinct MI300X"),
    (0x74a2, "AMD Instinct MI308X"),
    (0x74a5, "AMD Instinct MI325X"),
    (0x74a9, "AMD Instinct MI300X HF"),
    (0x74b5, "AMD Instinct MI300X VF"),
    (0x74b9, "AMD Instinct MI325X VF"),
    (0x75a0, "AMD Instinct MI350X"),
    (0x75a3, "AMD Instinct MI355X"),
    (0x75b0, "AMD Instinct MI350X VF"),
    (0x75b3, "AMD Instinct MI355X VF"),
    (0x67df, "AMD Radeon RX 470/480/570/580"),
    (0x687f, "AMD Radeon RX Vega 56/64"),
    (0x66af, "AMD Radeon VII"),
    (0x731f, "AMD Radeon RX 5600/5700"),
    (0x73a3, "AMD Radeon PRO W6800"),
    (0x73bf, "AMD Radeon RX 6800/6900 XT"),
    (0x73df, "AMD Radeon RX 6700"),
    (0x73ff, "AMD Radeon RX 6600"),
    (0x744c, "AMD Radeon RX 7900"),
    (0x7448, "AMD Radeon PRO W7900"),
    (0x745e, "AMD Radeon PRO W7800"),
    (0x747e, "AMD Radeon RX 7700/7800 XT"),
    (0x7480, "AMD Radeon RX 7600"),
    (0x7550, "AMD Radeon RX 9070"),
    (0x7551, "AMD Radeon AI PRO R9700"),
    (0x7590, "AMD Radeon RX 9060 XT"),
    (0x15bf, "AMD Radeon 780M Graphics"),
    (0x15c8, "AMD Radeon 740M Graphics"),
    (0x150e, "AMD Radeon 890M Graphics"),
    (0x1586, "AMD Radeon 8060S Graphics"),
    (0x1638, "AMD Radeon Graphics (Cezanne)"),
    (0x1681, "AMD Radeon 680M Graphics"),
    (0x164e, "AMD Radeon Graphics (Raphael)"),
    (0x163f, "AMD Custom GPU 0405"),
];

/// The name of a chip, or its number where we know none.
pub(super) fn name(device: Option<u16>) -> String {
    let Some(device) = device else {
        return "AMD GPU".to_owned();
    };
    let known = MODELS.iter().find(|(number, _)| *number == device);
    known.map_or_else(|| format!("AMD {device:#06x}"), |(_, name)| (*name).to_owned())
}

/// The instruction sets that exist, so that a label has a closed set of values.
const ARCHITECTURES: &[&str] = &[
    "gfx700", "gfx701", "gfx702", "gfx801", "gfx802", "gfx803", "gfx810", "gfx900", "gfx902", "gfx904",
    "gfx906", "gfx908", "gfx909", "gfx90a", "gfx90c", "gfx940", "gfx941", "gfx942", "gfx950", "gfx1010",
    "gfx1011", "gfx1012", "gfx1013", "gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035",
    "gfx1036", "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153",
    "gfx1200", "gfx1201", "gfx1250",
];

/// The word for an instruction set.
pub(super) fn architecture(target: GfxTarget) -> Option<&'static str> {
    let name = target.to_string();
    ARCHITECTURES.iter().find(|known| **known == name).copied()
}

#[cfg(test)]
mod tests {
    //! Numbers become names.

    use super::{GfxTarget, architecture, name};

    #[test]
    fn chips_have_names_or_show_their_number() {
        assert_eq!(name(Some(0x74a1)), "AMD Instinct MI300X");
        assert_eq!(name(Some(0x0abc)), "AMD 0x0abc");
        assert_eq!(name(None), "AMD GPU");
    }

    #[test]
    fn instruction_sets_have_words() {
        let target = |major, minor, stepping| GfxTarget {
            major,
            minor,
            stepping,
        };
        assert_eq!(architecture(target(9, 4, 2)), Some("gfx942"));
        assert_eq!(architecture(target(9, 0, 10)), Some("gfx90a"));
        assert_eq!(architecture(target(11, 0, 3)), Some("gfx1103"));
        assert_eq!(architecture(target(99, 0, 0)), None);
    }
}
