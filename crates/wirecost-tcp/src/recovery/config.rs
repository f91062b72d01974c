//! The configuration of loss recovery and congestion control.

use core::time::Duration;

use crate::packed::packs;

/// The congestion control algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    /// RFC 5681 and 6582.
    NewReno,
    /// RFC 9438, in the kernel's integers; the flag is for HyStart (RFC 9406's ancestor).
    Cubic {
        /// Whether slow start may end before the first loss.
        hystart: bool,
    },
}

/// How the retransmission time-out is computed from round trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttFilter {
    /// The kernel's filter: the deviation is at least the minimum time-out, and falls at most once a round trip.
    /// (Linux: `tcp_rtt_estimator`)
    Linux,
    /// RFC 6298, section 2.
    Standard,
}

packs!(enum RttFilter {
    0 => Linux {},
    1 => Standard {},
});

/// When an end stops retransmitting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    /// At the first time-out after this time since the first retransmission.
    After(Duration),
    /// After this number of retransmissions.
    Retransmissions(u32),
}

/// The configuration of loss recovery and congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryConfig {
    /// Segments that may be sent before the first acknowledgment (RFC 6928).
    pub initial_window: u32,
    /// The largest congestion window, in segments; `u32::MAX` for no limit.
    pub window_cap: u32,
    /// The congestion control algorithm.
    pub congestion_control: CongestionControl,
    /// Whether the last segment of a flight is probed for (RFC 8985, section 7); needs selective acknowledgments.
    pub tail_loss_probe: bool,
    /// Whether the acknowledgments after a time-out can show that it was spurious (F-RTO, RFC 5682).
    pub forward_rto: bool,
    /// Whether segments lost together that fit into one are retransmitted as one. (Linux: `tcp_retrans_collapse`)
    pub collapse: bool,
    /// How the time-out is computed from round trips.
    pub rtt_filter: RttFilter,
    /// The time-out before the first measurement.
    pub initial_rto: Duration,
    /// The time-out after an opening that gave no measurement (RFC 6298, section 5.7).
    pub fallback_rto: Duration,
    /// The smallest time-out; with [`RttFilter::Linux`], the smallest deviation above the round trip.
    pub minimum_rto: Duration,
    /// The largest time-out.
    pub maximum_rto: Duration,
    /// When an end stops retransmitting.
    pub give_up: GiveUp,
    /// When an end without an application stops retransmitting.
    pub give_up_orphaned: GiveUp,
}

impl RecoveryConfig {
    /// The Linux kernel, 6.18, with CUBIC and the defaults of its settings.
    pub const fn linux() -> Self {
        Self {
            initial_window: 10,
            window_cap: u32::MAX,
            congestion_control: CongestionControl::Cubic { hystart: true },
            tail_loss_probe: true,
            forward_rto: true,
            collapse: true,
            rtt_filter: RttFilter::Linux,
            initial_rto: Duration::from_secs(1),
            fallback_rto: Duration::from_secs(3),
            minimum_rto: Duration::from_millis(200),
            maximum_rto: Duration::from_secs(120),
            // Linux: `tcp_model_timeout` of `tcp_retries2` = 15: 1,023 times 200 ms, then six times 120 s.
            give_up: GiveUp::After(Duration::from_millis(924_600)),
            // Linux: `tcp_orphan_retries`, 8 where the setting is 0: 511 times 200 ms.
            give_up_orphaned: GiveUp::After(Duration::from_millis(102_200)),
        }
    }

    /// The TCP of the NB-IoT study: an initial window of 3, a window of at most 10 segments, a first time-out of 1 s. RFC 5681,
    /// 6298 and 6582 decide what the study leaves open.
    pub const fn larmo() -> Self {
        Self {
            initial_window: 3,
            window_cap: 10,
            congestion_control: CongestionControl::NewReno,
            tail_loss_probe: false,
            forward_rto: false,
            collapse: false,
            rtt_filter: RttFilter::Standard,
            initial_rto: Duration::from_secs(1),
            fallback_rto: Duration::from_secs(3),
            minimum_rto: Duration::from_secs(1),
            maximum_rto: Duration::from_secs(60),
            give_up: GiveUp::Retransmissions(15),
            give_up_orphaned: GiveUp::Retransmissions(8),
        }
    }
}
