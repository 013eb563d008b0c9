//! Pods that ended, kept until somebody who counts their time asks: a pod of seconds may never be in a picture.

use std::collections::VecDeque;
use std::sync::Arc;

use gpu_cost::{EndedPod, Moment};
use gpu_model::GpuPod;
use jiff::Timestamp;

/// Ten minutes of thirty pods a second; where nobody asks, the oldest are forgotten.
const MOST: usize = 20_000;

#[derive(Debug, Default)]
pub(super) struct Endings {
    pods: VecDeque<EndedPod>,
}

impl Endings {
    pub(super) fn note(&mut self, pod: Arc<GpuPod>, at: Timestamp) {
        // One that never started held nothing.
        if pod.node.is_none() || pod.pod.started_at.is_none() {
            return;
        }
        if self.pods.len() >= MOST {
            self.pods.pop_front();
        }
        let ended_at = Moment::from(at);
        self.pods.push_back(EndedPod { pod, ended_at });
    }

    pub(super) fn take(&mut self) -> Vec<EndedPod> {
        std::mem::take(&mut self.pods).into()
    }
}
