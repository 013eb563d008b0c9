//! Claims, their templates and device classes, as far as pods with claims need them.

use std::collections::BTreeMap;

use gpu_k8s::convert::{ClaimFacts, ClaimSource, ClaimUse};
use gpu_model::GpuRequest;

use super::ObjectKey;
use crate::watch::Kind;

#[derive(Debug, Default)]
pub(super) struct Claims {
    claims: BTreeMap<ObjectKey, ClaimFacts>,
    templates: BTreeMap<ObjectKey, ClaimFacts>,
    /// Only those whose devices are GPUs.
    gpu_classes: BTreeMap<Box<str>, ()>,
}

impl Claims {
    /// Answers whether something changed.
    pub(super) fn put_claim(&mut self, key: &ObjectKey, facts: ClaimFacts) -> bool {
        replaced(&mut self.claims, key, facts)
    }

    pub(super) fn put_template(&mut self, key: &ObjectKey, facts: ClaimFacts) -> bool {
        replaced(&mut self.templates, key, facts)
    }

    pub(super) fn put_class(&mut self, key: &ObjectKey, is_gpu: bool) -> bool {
        if is_gpu {
            self.gpu_classes.insert(key.name.clone(), ()).is_none()
        } else {
            self.gpu_classes.remove(&key.name).is_some()
        }
    }

    pub(super) fn remove(&mut self, kind: Kind, key: &ObjectKey) -> bool {
        match kind {
            Kind::Claims => self.claims.remove(key).is_some(),
            Kind::ClaimTemplates => self.templates.remove(key).is_some(),
            Kind::DeviceClasses => self.gpu_classes.remove(&key.name).is_some(),
            _ => false,
        }
    }

    pub(super) fn keys(&self, kind: Kind) -> Vec<ObjectKey> {
        match kind {
            Kind::Claims => self.claims.keys().cloned().collect(),
            Kind::ClaimTemplates => self.templates.keys().cloned().collect(),
            Kind::DeviceClasses => super::plain(self.gpu_classes.keys().map(AsRef::as_ref)),
            _ => Vec::new(),
        }
    }

    /// The GPUs that a pod gets by its claims. A claim that was not seen yet is judged by its template.
    pub(super) fn gpu_requests(&self, namespace: &str, uses: &[ClaimUse]) -> Vec<GpuRequest> {
        let of = |used: &ClaimUse| {
            let claim = |name: &str| self.claims.get(&ObjectKey::new(namespace, name));
            let facts = match &used.source {
                ClaimSource::Claim(name) => claim(name),
                ClaimSource::Template { template, made } => made
                    .as_deref()
                    .and_then(claim)
                    .or_else(|| self.templates.get(&ObjectKey::new(namespace, template))),
                ClaimSource::Nothing => None,
            };
            facts.map_or_else(Vec::new, |facts| {
                used.gpu_requests(facts, |class| self.gpu_classes.contains_key(class))
            })
        };
        uses.iter().flat_map(of).collect()
    }
}

fn replaced(map: &mut BTreeMap<ObjectKey, ClaimFacts>, key: &ObjectKey, facts: ClaimFacts) -> bool {
    if map.get(key) == Some(&facts) {
        return false;
    }
    map.insert(key.clone(), facts);
    true
}
