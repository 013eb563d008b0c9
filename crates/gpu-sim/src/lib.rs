//! A deterministic simulated GPU fleet with a virtual clock.
