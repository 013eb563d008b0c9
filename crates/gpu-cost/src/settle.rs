//! From books and prices to rows: every machine's time in a window, divided among all who carry it.
//!
//! A machine's span is cut where its price changes and where it became ready. The price of each piece is divided between GPUs
//! and host, then equally among the GPUs that are paid for, then among the holders of each GPU by time and share. Each step
//! divides whole units by largest remainder, so the rows of a machine sum to its price exactly.

mod cells;
mod gpu;
mod host;
mod shares;

use std::sync::Arc;

use gpu_model::NanoUsd;

use crate::apportion::{apportion, charge};
use crate::books::{Books, MachineBook};
use crate::prices::{Coverage, NodeSplit, PriceBook};
use crate::{
    Amounts, Entry, GpuTime, Grain, LedgerRow, Machine, Part, Phase, PriceNote, RowKey, ShareBasis, Slot,
    Span, Subject,
};

use cells::Cell;
pub use shares::MigBasis;

/// How the books are closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The window of settlement: no row crosses its border. An hour keeps rows few; five minutes make every roll-up exact by
    /// itself.
    pub grain: Grain,
    /// What the size of a hardware slice is.
    pub mig: MigBasis,
    /// How the price of a node is divided between its GPUs and the rest.
    pub split: NodeSplit,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            grain: Grain::Hour,
            mig: MigBasis::Compute,
            split: NodeSplit::AllToGpu,
        }
    }
}

impl Books {
    /// The rows of a window, up to its end. The same books and prices give the same rows, whenever they are asked.
    ///
    /// A window that is still open is asked with the part of it that has passed.
    pub fn settle(&self, window: Span, prices: &PriceBook, settings: &Settings) -> Vec<LedgerRow> {
        let coverage = Coverage::of(self.lives(window), prices, window);
        let mut rows = Vec::new();
        for book in self.machines.values() {
            self.settle_machine(book, window, prices, &coverage, settings, &mut rows);
        }
        rows.extend(coverage.unused(&self.cluster, window));
        rows
    }

    /// The machines that cost money in a window.
    fn lives(&self, window: Span) -> Vec<(Span, Arc<Machine>)> {
        self.machines
            .values()
            .filter_map(MachineBook::life)
            .filter(|(life, _)| !life.overlap(window).is_empty())
            .map(|(life, machine)| (life, machine.clone()))
            .collect()
    }

    fn settle_machine(
        &self,
        book: &MachineBook,
        window: Span,
        prices: &PriceBook,
        coverage: &Coverage,
        settings: &Settings,
        rows: &mut Vec<LedgerRow>,
    ) {
        let Some((life, machine)) = book.life() else {
            return;
        };
        let paid = life.overlap(window);
        if paid.is_empty() {
            return;
        }
        let ready = book.ready.unwrap_or(paid.end).max(paid.start).min(paid.end);
        let mut desk = Desk {
            books: self,
            book,
            machine,
            window,
            settings,
            rows,
        };
        for stage in [Span::new(paid.start, ready), Span::new(ready, paid.end)] {
            if stage.is_empty() {
                continue;
            }
            let booting = stage.start < ready;
            for (span, price) in prices.quotes(machine, stage, coverage) {
                if booting {
                    desk.boot(span, &price);
                } else {
                    desk.divide(span, &price);
                }
            }
        }
    }
}

/// One machine on the desk, while its rows are being written.
struct Desk<'a> {
    books: &'a Books,
    book: &'a MachineBook,
    machine: &'a Arc<Machine>,
    window: Span,
    settings: &'a Settings,
    rows: &'a mut Vec<LedgerRow>,
}

/// What a piece of the machine's time costs at its price and at the list price; absent where it has none.
type Cost = Option<(NanoUsd, NanoUsd)>;

impl Desk<'_> {
    fn cost(span: Span, price: &PriceNote) -> Cost {
        Some((charge(price.rate()?, span), charge(price.list()?, span)))
    }

    /// A node that boots has no GPU that anybody could hold: its time is one row.
    fn boot(&mut self, span: Span, price: &PriceNote) {
        let gpus = i64::from(self.machine.gpus.unwrap_or(0));
        self.whole(span, price, Part::Boot, gpus * span.milliseconds());
    }

    fn whole(&mut self, span: Span, price: &PriceNote, part: Part, held_ms: i64) {
        let cell = Cell::of_nobody(span, part, ShareBasis::WholeNode, 1);
        let time = GpuTime {
            held_ms,
            ..GpuTime::default()
        };
        self.write(&cell, Slot::Whole, time, Self::cost(span, price), price);
    }

    /// Divides a piece of time with one price.
    fn divide(&mut self, span: Span, price: &PriceNote) {
        // Only what happened before the window closed counts: a GPU that shows up later must not change what is written.
        let seen: Vec<_> = self
            .book
            .gpus
            .iter()
            .filter(|(_, gpu)| gpu.seen.as_ref().is_some_and(|(at, _)| *at < self.window.end))
            .collect();
        let paid = u64::from(self.machine.gpus.unwrap_or(0)).max(seen.len() as u64);
        if paid == 0 {
            // Nobody knows how many GPUs this is the price of.
            self.whole(span, price, Part::Unknown, 0);
            return;
        }
        let cost = Self::cost(span, price);
        let (for_gpus, for_host) = self.split(cost, price);
        let unseen = paid - seen.len() as u64;
        let mut weights = vec![1; seen.len()];
        weights.push(unseen);
        let shares = divide_cost(for_gpus, &weights);
        for ((uuid, gpu), cost) in seen.iter().zip(&shares) {
            let cells = gpu::cells(self.book, uuid, gpu, span, self.settings.mig);
            self.write_gpu(uuid, &cells, span, *cost, price);
        }
        if unseen > 0 {
            let count = u16::try_from(unseen).unwrap_or(u16::MAX);
            let cell = Cell::of_nobody(span, Part::Unknown, ShareBasis::Exclusive, 1);
            let time = GpuTime {
                held_ms: i64::from(count) * span.milliseconds(),
                ..GpuTime::default()
            };
            let cost = shares.last().copied().flatten();
            self.write(&cell, Slot::UnseenGpus { count }, time, cost, price);
        }
        if for_host.is_some_and(|(now, list)| now != NanoUsd::ZERO || list != NanoUsd::ZERO) {
            let cells = host::cells(self.book, span, paid, self.settings.mig);
            self.write_host(&cells, for_host, price);
        }
    }

    /// The price of the GPUs, and of the rest.
    fn split(&self, cost: Cost, price: &PriceNote) -> (Cost, Cost) {
        let (Some((now, list)), Some(rate)) = (cost, price.rate()) else {
            return (None, None);
        };
        let (gpu, host) = self.settings.split.weights(rate, self.machine);
        let now = apportion(now.0, &[gpu, host]);
        let list = apportion(list.0, &[gpu, host]);
        (
            Some((NanoUsd(now[0]), NanoUsd(list[0]))),
            Some((NanoUsd(now[1]), NanoUsd(list[1]))),
        )
    }

    fn write_gpu(
        &mut self,
        uuid: &gpu_model::GpuUuid,
        cells: &[Cell<'_>],
        span: Span,
        cost: Cost,
        price: &PriceNote,
    ) {
        let weights: Vec<u64> = cells.iter().map(|cell| cell.weight).collect();
        let held = apportion(span.milliseconds(), &weights);
        let costs = divide_cost(cost, &weights);
        for ((cell, held), cost) in cells.iter().zip(held).zip(costs) {
            let parts = apportion(held, &cell.use_weights());
            let time = GpuTime {
                held_ms: held,
                used_ms: parts[0],
                unmeasured_ms: parts[2],
            };
            let slot = Slot::Gpu {
                gpu: uuid.clone(),
                partition: cell.claim.map(|claim| claim.partition.clone()),
            };
            self.write(cell, slot, time, cost, price);
        }
    }

    fn write_host(&mut self, cells: &[Cell<'_>], cost: Cost, price: &PriceNote) {
        let weights: Vec<u64> = cells.iter().map(|cell| cell.weight).collect();
        for (cell, cost) in cells.iter().zip(divide_cost(cost, &weights)) {
            self.write(cell, Slot::Host, GpuTime::default(), cost, price);
        }
    }

    fn write(&mut self, cell: &Cell<'_>, slot: Slot, time: GpuTime, cost: Cost, price: &PriceNote) {
        let amounts = cost.map(|(allocated, list)| {
            let parts = apportion(allocated.0, &cell.use_weights());
            Amounts {
                list,
                allocated,
                used: NanoUsd(parts[0]),
                unused: NanoUsd(parts[1]),
                unmeasured: NanoUsd(parts[2]),
            }
        });
        let row = LedgerRow {
            key: RowKey([0; 16]),
            entry: Entry::Charge,
            revision: 0,
            cluster: self.books.cluster.clone(),
            subject: Subject::Machine(self.machine.clone()),
            span: cell.span,
            part: cell.part,
            slot,
            holder: cell.claim.map(|claim| claim.holder.clone()),
            phase: if cell.claim.is_some() {
                cell.phase
            } else {
                Phase::None
            },
            basis: cell.basis,
            time,
            amounts,
            price: price.clone(),
        };
        self.rows.push(row.sealed());
    }
}

fn divide_cost(cost: Cost, weights: &[u64]) -> Vec<Cost> {
    let Some((now, list)) = cost else {
        return vec![None; weights.len()];
    };
    apportion(now.0, weights)
        .into_iter()
        .zip(apportion(list.0, weights))
        .map(|(now, list)| Some((NanoUsd(now), NanoUsd(list))))
        .collect()
}
