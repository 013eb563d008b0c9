//! How the GPUs of a node reach each other, as far as the compute driver says: over links of their own.

use super::attribute::{names, read_text};
use super::card::Card;
use crate::readings::{Path, PeerPath};

/// A link of AMD's own between GPUs, in the compute driver's numbering.
const OWN_LINK: u32 = 11;
/// A node of 64 partitions has 63 of them.
const MOST_LINKS: usize = 256;

/// The peers of the GPU at `index`. Partitions of one GPU are no peers: they are the same device.
pub(super) fn peers(cards: &[(u32, &Card)], index: u32) -> Vec<PeerPath> {
    let number_of = |card: &Card| -> Option<u32> {
        let directory = &card.node.as_ref()?.directory;
        directory.file_name()?.to_str()?.parse().ok()
    };
    let Some(own) = cards
        .iter()
        .find(|(at, _)| *at == index)
        .and_then(|(_, card)| card.node.as_ref())
    else {
        return Vec::new();
    };
    let root = own.directory.join("io_links");
    let mut found = Vec::new();
    for name in names(&root).unwrap_or_default().iter().take(MOST_LINKS) {
        let properties = read_text(&root.join(name).join("properties")).unwrap_or_default();
        let value = |key: &str| -> Option<u32> {
            let mut lines = properties.lines().filter_map(|line| line.split_once(' '));
            lines.find(|(name, _)| *name == key)?.1.trim().parse().ok()
        };
        if value("type") != Some(OWN_LINK) {
            continue;
        }
        let to = value("node_to");
        let peer = cards
            .iter()
            .find(|(at, card)| *at != index && to.is_some() && number_of(card) == to);
        found.extend(peer.map(|(peer, _)| PeerPath {
            peer: *peer,
            path: Path::Links(1),
        }));
    }
    found.sort_by_key(|peer| peer.peer);
    found.dedup();
    found
}
