//! Prometheus text format and OpenMetrics: write and parse.
