{{/* The name before all others; names of objects may have 63 characters, and suffixes follow. */}}
{{- define "gpu-autoscaler.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of this release's objects; a release that already bears the chart's name does not get it twice. */}}
{{- define "gpu-autoscaler.fullname" -}}
{{- $name := include "gpu-autoscaler.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* What never changes between two versions of a release, as the Deployment's selector must not. */}}
{{- define "gpu-autoscaler.selector" -}}
app.kubernetes.io/name: {{ include "gpu-autoscaler.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "gpu-autoscaler.labels" -}}
{{ include "gpu-autoscaler.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "gpu-autoscaler.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "gpu-autoscaler.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* An image's name, of the values of an image and the chart's own version. */}}
{{- define "gpu-autoscaler.image" -}}
{{- if .image.digest -}}
{{- printf "%s@%s" .image.repository .image.digest -}}
{{- else -}}
{{- printf "%s:%s" .image.repository (default .version .image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The same for every container: no rights, no writable root, no new privileges. */}}
{{- define "gpu-autoscaler.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "gpu-autoscaler.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "gpu-exporter.selector" -}}
app.kubernetes.io/name: gpu-exporter
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "gpu-exporter.labels" -}}
{{ include "gpu-exporter.selector" . }}
app.kubernetes.io/component: exporter
app.kubernetes.io/part-of: gpu-autoscaler
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "gpu-exporter.serviceAccount" -}}
{{- if .Values.exporter.serviceAccount.create -}}
{{- default .Values.exporter.name .Values.exporter.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.exporter.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* What a probe asks: the page where the kubelet may see it, the port alone where clients need a certificate. */}}
{{- define "gpu-exporter.probe" -}}
{{- if eq .tls "mutual" -}}
tcpSocket: { port: metrics }
{{- else -}}
httpGet: { path: {{ .path }}, port: metrics, scheme: {{ eq .tls "server" | ternary "HTTPS" "HTTP" }} }
{{- end -}}
{{- end -}}

{{/* The user: root for the kubelet's socket and nothing else, an ordinary one without it. */}}
{{- define "gpu-exporter.podSecurity" -}}
{{- if .Values.exporter.attribution.enabled -}}
runAsNonRoot: false
runAsUser: 0
runAsGroup: 0
{{- else -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* Each term alone suffices: a node with any of these labels has a GPU. */}}
{{- define "gpu-exporter.gpuNodes" -}}
nodeAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    nodeSelectorTerms:
      # NVIDIA's GPU operator and feature discovery.
      - matchExpressions: [{ key: nvidia.com/gpu.present, operator: In, values: ["true"] }]
      # Set by hand and by several installers.
      - matchExpressions: [{ key: nvidia.com/gpu, operator: In, values: [present, "true"] }]
      # Google's node pools.
      - matchExpressions: [{ key: cloud.google.com/gke-accelerator, operator: Exists }]
      # Azure's node pools.
      - matchExpressions: [{ key: kubernetes.azure.com/accelerator, operator: Exists }]
      # Amazon's, by Karpenter and by the cluster autoscaler.
      - matchExpressions: [{ key: karpenter.k8s.aws/instance-gpu-count, operator: Exists }]
      - matchExpressions: [{ key: k8s.amazonaws.com/accelerator, operator: Exists }]
      # AMD's GPU operator, its node labeller, and labels set by hand.
      - matchExpressions: [{ key: feature.node.kubernetes.io/amd-gpu, operator: In, values: ["true"] }]
      - matchExpressions: [{ key: amd.com/gpu.device-id, operator: Exists }]
      - matchExpressions: [{ key: amd.com/gpu.present, operator: In, values: ["true"] }]
      - matchExpressions: [{ key: amd.com/gpu, operator: In, values: [present, "true"] }]
{{- end -}}
