//! Every name by which the product meets a cluster: labels, annotations, resources, reasons of events. Nowhere else is one spelled.

/// The group of our kinds, and the prefix of our labels and annotations.
pub const GROUP: &str = "gpu-autoscaler.io";
/// The version of our kinds.
pub const VERSION: &str = "v1alpha1";
/// The prefix of our labels and annotations with its slash.
pub const PREFIX: &str = "gpu-autoscaler.io/";

/// Annotations of pods, set by their owners or, where it says so, by us.
pub mod annotation {
    /// `enabled` or `disabled`: whether the pod's GPU may be shared.
    pub const SHARING: &str = "gpu-autoscaler.io/sharing";
    /// `mig`, `mps` or `time-slicing`.
    pub const SHARING_MODE: &str = "gpu-autoscaler.io/sharing-mode";
    /// The slice that the pod would be content with.
    pub const MIG_PROFILE: &str = "gpu-autoscaler.io/mig-profile";
    /// `"false"` opts the pod out.
    pub const OPTIMIZE: &str = "gpu-autoscaler.io/optimize";
    /// `"true"`, set by the webhook.
    pub const OPTIMIZED: &str = "gpu-autoscaler.io/optimized";
    /// What the pod asked for before the webhook changed it; set by the webhook.
    pub const ORIGINAL_GPU_REQUEST: &str = "gpu-autoscaler.io/original-gpu-request";
    /// Why the webhook did what it did; set by the webhook.
    pub const EXPLANATION: &str = "gpu-autoscaler.io/explanation";
    /// Where the decision is recorded; set by the webhook.
    pub const AUDIT: &str = "gpu-autoscaler.io/audit";
    /// `"true"` or `"false"`: whether the pod may run on capacity that can be taken back.
    pub const SPOT_OK: &str = "gpu-autoscaler.io/spot-ok";
    /// `"true"` or `"false"`: whether the pod may be moved to another node.
    pub const MOVABLE: &str = "gpu-autoscaler.io/movable";
    /// Pods of a namespace with the same word work as one.
    pub const GANG: &str = "gpu-autoscaler.io/gang";
    /// A whole number; higher goes first.
    pub const PRIORITY: &str = "gpu-autoscaler.io/priority";
    /// Who pays.
    pub const COST_CENTER: &str = "gpu-autoscaler.io/cost-center";
    /// `training`, `inference`, `standby`, `notebook`, `batch`, or the owner's own word.
    pub const WORKLOAD_TYPE: &str = "gpu-autoscaler.io/workload-type";
    /// No finding before this instant.
    pub const EXEMPT_UNTIL: &str = "gpu-autoscaler.io/exempt-until";

    /// All of them: another name with our prefix is a typing error.
    pub const ALL: [&str; 15] = [
        SHARING,
        SHARING_MODE,
        MIG_PROFILE,
        OPTIMIZE,
        OPTIMIZED,
        ORIGINAL_GPU_REQUEST,
        EXPLANATION,
        AUDIT,
        SPOT_OK,
        MOVABLE,
        GANG,
        PRIORITY,
        COST_CENTER,
        WORKLOAD_TYPE,
        EXEMPT_UNTIL,
    ];
}

/// Labels of ours, and those of others that mean something to us.
pub mod label {
    /// Of a node: `spot`, `on-demand`, `reserved` or `owned`.
    pub const CAPACITY_TYPE: &str = "gpu-autoscaler.io/capacity-type";
    /// Of a node: the pool of an AutoscalingPolicy.
    pub const NODE_POOL: &str = "gpu-autoscaler.io/node-pool";
    /// Of a namespace: `enabled` or `disabled`.
    pub const OPTIMIZE: &str = "gpu-autoscaler.io/optimize";
    /// Of a namespace: whether its pods may share GPUs.
    pub const SHARING_ENABLED: &str = "gpu-autoscaler.io/sharing-enabled";
    /// Of a pod or namespace: who pays.
    pub const COST_CENTER: &str = "gpu-cost-center";
    /// Of a pod or namespace: for what.
    pub const PROJECT: &str = "gpu-project";
    /// The workflow that a pod of Argo belongs to.
    pub const ARGO_WORKFLOW: &str = "workflows.argoproj.io/workflow";

    pub const INSTANCE_TYPE: [&str; 2] = [
        "node.kubernetes.io/instance-type",
        "beta.kubernetes.io/instance-type",
    ];
    pub const REGION: [&str; 2] = [
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/region",
    ];
    pub const ZONE: [&str; 2] = [
        "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/zone",
    ];

    pub const KARPENTER_CAPACITY_TYPE: &str = "karpenter.sh/capacity-type";
    pub const EKS_CAPACITY_TYPE: &str = "eks.amazonaws.com/capacityType";
    pub const GKE_SPOT: &str = "cloud.google.com/gke-spot";
    pub const GKE_PREEMPTIBLE: &str = "cloud.google.com/gke-preemptible";
    pub const GKE_PROVISIONING: &str = "cloud.google.com/gke-provisioning";
    pub const GKE_RESERVATION: &str = "cloud.google.com/reservation-name";
    pub const AKS_PRIORITY: &str = "kubernetes.azure.com/scalesetpriority";
    /// Set by hand or by older tools: `spot` or `normal`.
    pub const LIFECYCLE: &str = "node.kubernetes.io/lifecycle";
}

/// The id of a machine of GKE, which unlike its name does not come back.
pub const GKE_INSTANCE_ID: &str = "container.googleapis.com/instance_id";

/// Resources that mean GPUs.
pub mod resource {
    pub const NVIDIA_GPU: &str = "nvidia.com/gpu";
    pub const NVIDIA_SHARED: &str = "nvidia.com/gpu.shared";
    /// Followed by the profile.
    pub const NVIDIA_MIG: &str = "nvidia.com/mig-";
    /// At the end of a resource whose devices share time.
    pub const SHARED_SUFFIX: &str = ".shared";
    pub const HAMI_MEMORY: &str = "nvidia.com/gpumem";
    pub const HAMI_MEMORY_PERCENT: &str = "nvidia.com/gpumem-percentage";
    pub const HAMI_CORES: &str = "nvidia.com/gpucores";
    pub const AMD_GPU: &str = "amd.com/gpu";
    pub const AMD_PREFIX: &str = "amd.com/";
    pub const INTEL_I915: &str = "gpu.intel.com/i915";
    pub const INTEL_XE: &str = "gpu.intel.com/xe";
}

/// Dynamic Resource Allocation.
pub mod dra {
    pub const GROUP: &str = "resource.k8s.io";
    /// From the newest to the oldest that we read.
    pub const VERSIONS: [&str; 3] = ["v1", "v1beta2", "v1beta1"];
    /// The drivers whose devices are GPUs; their device classes bear the same names or end with them.
    pub const DRIVERS: [&str; 4] = ["gpu.nvidia.com", "mig.nvidia.com", "gpu.amd.com", "gpu.intel.com"];
}

/// Reasons of our events.
pub mod reason {
    pub const WASTE_DETECTED: &str = "GPUWasteDetected";
    pub const WASTE_RESOLVED: &str = "GPUWasteResolved";
    pub const SIGNALS_CONTRADICT: &str = "GPUSignalsContradict";
    pub const RIGHT_SIZED: &str = "GPURightSized";
    pub const RIGHT_SIZE_SKIPPED: &str = "GPURightSizeSkipped";
    pub const WORKLOAD_SCALED: &str = "WorkloadScaled";
    pub const SCALING_HELD: &str = "ScalingHeld";
    pub const NODE_POOL_SCALED_UP: &str = "NodePoolScaledUp";
    pub const NODE_POOL_SCALED_DOWN: &str = "NodePoolScaledDown";
    pub const SCALE_UP_IMPOSSIBLE: &str = "ScaleUpImpossible";
    pub const SPOT_NOTICE_RECEIVED: &str = "SpotNoticeReceived";
    pub const GPU_NEVER_APPEARED: &str = "GPUNeverAppeared";
    pub const GPU_UNHEALTHY: &str = "GPUUnhealthy";
    pub const BUDGET_THRESHOLD_CROSSED: &str = "BudgetThresholdCrossed";
}
