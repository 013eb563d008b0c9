//! Which slots are free, and where the pods of a workload go.

use std::collections::{BTreeMap, BTreeSet};

use crate::shapes::Class;

/// Free slots by class and machine.
#[derive(Debug, Default)]
pub(crate) struct FreeSlots {
    by_class: BTreeMap<Class, BTreeMap<u32, BTreeSet<u32>>>,
}

impl FreeSlots {
    pub(crate) fn release(&mut self, class: Class, machine: u32, slot: u32) {
        self.by_class
            .entry(class)
            .or_default()
            .entry(machine)
            .or_default()
            .insert(slot);
    }

    /// Takes slots for all pods or for none; the slots of one pod are on one machine.
    ///
    /// The fullest machine that fits is taken, so that the room for gangs stays in one piece.
    pub(crate) fn take(&mut self, class: Class, pods: u16, gpus_per_pod: u16) -> Option<Vec<Vec<u32>>> {
        let wanted = usize::from(gpus_per_pod);
        let mut taken: Vec<(u32, Vec<u32>)> = Vec::new();
        for _ in 0..pods {
            let Some(found) = self.take_on_one_machine(class, wanted) else {
                for (machine, slots) in taken {
                    for slot in slots {
                        self.release(class, machine, slot);
                    }
                }
                return None;
            };
            taken.push(found);
        }
        Some(taken.into_iter().map(|(_, slots)| slots).collect())
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.by_class
            .values()
            .flat_map(BTreeMap::values)
            .map(BTreeSet::len)
            .sum()
    }

    fn take_on_one_machine(&mut self, class: Class, wanted: usize) -> Option<(u32, Vec<u32>)> {
        let machines = self.by_class.get_mut(&class)?;
        let fitting = machines.iter().filter(|(_, slots)| slots.len() >= wanted);
        let (machine, _) = fitting.min_by_key(|(machine, slots)| (slots.len(), **machine))?;
        let machine = *machine;
        let free = machines.get_mut(&machine)?;
        let slots: Vec<u32> = free.iter().copied().take(wanted).collect();
        for slot in &slots {
            free.remove(slot);
        }
        if free.is_empty() {
            machines.remove(&machine);
        }
        Some((machine, slots))
    }
}
