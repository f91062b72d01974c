//! Layers 2 and 3.

use serde::{Deserialize, Serialize};

use super::error::{ConfigError, one_of, within};
use crate::tables::Tones;

/// The subframes of the downlink that carry broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DownlinkFrameConfig {
    /// Repetitions of SIB1-NB in 2560 ms: 4, 8 or 16; 0 leaves it out. TS 36.331 schedulingInfoSIB1; assumed 16.
    pub sib1_repetitions: u16,
    /// Whether other system information is sent: 8 subframes every fourth frame of 160 ms in each 5120 ms. Assumed.
    pub si_messages: bool,
    /// Whether NPBCH, NPSS and NSSS are sent. `false` makes every subframe usable; for closed forms.
    pub synchronisation: bool,
}

impl Default for DownlinkFrameConfig {
    fn default() -> Self {
        Self {
            sib1_repetitions: 16,
            si_messages: true,
            synchronisation: true,
        }
    }
}

impl DownlinkFrameConfig {
    /// Every subframe is usable: a non-anchor carrier, on which nothing is broadcast.
    pub(crate) const fn without_broadcast() -> Self {
        Self {
            sib1_repetitions: 0,
            si_messages: false,
            synchronisation: false,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        one_of(
            "downlink.sib1_repetitions",
            &self.sib1_repetitions,
            &[0, 4, 8, 16],
        )
    }
}

/// Random access.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomAccessConfig {
    /// Preamble format: 0 (5.6 ms) or 1 (6.4 ms). TS 36.211 section 10.1.6.
    pub preamble_format: u8,
    /// SNR at which a preamble of `conformance_repetitions` is detected with 99 %, in dB over 3.75 kHz. TS 36.141 section 8.5.3.
    pub conformance_snr_db: f64,
    /// Repetitions of that preamble. TS 36.141 section 8.5.3.
    pub conformance_repetitions: u16,
    /// Standard deviation of the detection threshold, in dB. Assumed.
    pub detection_sd_db: f64,
    /// Whether every preamble without a collision is detected. For comparison with LENA-NB, which models no detection.
    pub ideal_detection: bool,
    /// How much stronger than all others a preamble must be to win a collision, in dB; `null`: all are lost. LENA-NB: all are lost.
    pub capture_db: Option<f64>,
    /// Largest preambles of one access, over all levels. Assumed 30: ten per level.
    pub max_preambles: u16,
    /// Largest random wait after a failure, in ms (backoff indicator): 0 or 256 to 524288. Assumed.
    pub backoff_ms: u32,
    /// Size of Msg3, in bits. TS 36.213 section 16.3.3.
    pub msg3_bits: u16,
    /// Subframes from the end of the response to Msg3: 12, 16, 32 or 64. TS 36.213 section 16.3.3.
    pub msg3_delay_ms: u32,
    /// Responses that one block can carry.
    pub max_responses: u16,
    /// Bytes of one response: subheader 1, response 6. TS 36.321 section 6.1.5.
    pub response_bytes: u16,
    /// Time of failed attempts after which a device that gets no access loses its packets, in ms. Assumed.
    pub give_up_ms: u32,
    /// Probability that a preamble fails that is alone on its subcarrier, whatever its SNR; `null`: its SNR decides. Study nbiot
    /// section 2.1 has such errors; it does not say how many.
    pub failure: Option<f64>,
}

impl Default for RandomAccessConfig {
    fn default() -> Self {
        Self {
            preamble_format: 1,
            conformance_snr_db: 6.7,
            conformance_repetitions: 8,
            detection_sd_db: 1.2,
            ideal_detection: false,
            capture_db: None,
            max_preambles: 30,
            backoff_ms: 256,
            msg3_bits: 88,
            msg3_delay_ms: 12,
            max_responses: 12,
            response_bytes: 7,
            give_up_ms: 60_000,
            failure: None,
        }
    }
}

impl RandomAccessConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        one_of("random_access.preamble_format", &self.preamble_format, &[0, 1])?;
        within(
            "random_access.conformance_snr_db",
            self.conformance_snr_db,
            -30.0,
            40.0,
        )?;
        let repetitions = [1, 2, 4, 8, 16, 32, 64, 128];
        one_of(
            "random_access.conformance_repetitions",
            &self.conformance_repetitions,
            &repetitions,
        )?;
        within("random_access.detection_sd_db", self.detection_sd_db, 0.01, 20.0)?;
        if let Some(capture) = self.capture_db {
            within("random_access.capture_db", capture, 0.0, 60.0)?;
        }
        within("random_access.max_preambles", self.max_preambles, 1, 200)?;
        within("random_access.backoff_ms", self.backoff_ms, 0, 524_288)?;
        within("random_access.msg3_bits", self.msg3_bits, 88, 1_000)?;
        one_of(
            "random_access.msg3_delay_ms",
            &self.msg3_delay_ms,
            &[12, 16, 32, 64],
        )?;
        within("random_access.max_responses", self.max_responses, 1, 12)?;
        within("random_access.response_bytes", self.response_bytes, 1, 7)?;
        within("random_access.give_up_ms", self.give_up_ms, 100, 86_400_000)?;
        probability("random_access.failure", self.failure)
    }
}

/// Checks a probability that may not be given.
fn probability(key: &str, value: Option<f64>) -> Result<(), ConfigError> {
    value.map_or(Ok(()), |value| within(key, value, 0.0, 0.99))
}

/// Errors of NPDCCH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NpdcchConfig {
    /// Probability that a device does not decode a DCI, whatever its SINR; `null`: its SINR decides. Study nbiot section 2.1 has such
    /// errors; it does not say how many.
    pub failure: Option<f64>,
}

impl NpdcchConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        probability("npdcch.failure", self.failure)
    }
}

/// Timing, HARQ and the scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MacConfig {
    /// NPDSCH starts this many subframes after the last one of its DCI. TS 36.213 section 16.4.1.
    pub npdsch_after_dci_ms: u32,
    /// NPUSCH starts after this many whole subframes after its DCI. TS 36.213 section 16.5.1.
    pub npusch_after_dci_ms: u32,
    /// The HARQ-ACK starts this many subframes after the last one of NPDSCH. TS 36.213 section 16.4.2.
    pub harq_ack_after_npdsch_ms: u32,
    /// A device monitors NPDCCH again after this many whole subframes after NPUSCH. TS 36.213 section 16.6.
    pub npdcch_monitor_gap_ms: u32,
    /// NPUSCH pauses after this many subframes. TS 36.211 section 10.1.3.6.
    pub uplink_gap_every_ms: u32,
    /// For this many subframes; 0: never.
    pub uplink_gap_ms: u32,
    /// The longest block that link adaptation uses, in subframes on the air. Assumed.
    pub max_block_ms: u32,
    /// DCIs in one search space: 1 to 8, as far as their repetitions fit into it. Assumed; LENA-NB has several.
    pub dci_per_npdcch_period: u16,
    /// Tones that NPUSCH can use; the transmission that ends first is taken. Assumed.
    pub npusch_tones: Vec<Tones>,
    /// Bytes of a MAC subheader. TS 36.321 section 6.1.2.
    pub subheader_bytes: u32,
    /// Bytes of a buffer status report with its subheader. TS 36.321 section 6.1.3.1.
    pub bsr_bytes: u32,
    /// Whether a cell grants the uplink after a downlink block with a poll, without a request.
    pub ul_grant_after_dl: bool,
    /// Bytes of such a grant. Assumed.
    pub ul_grant_bytes: u32,
}

impl Default for MacConfig {
    fn default() -> Self {
        Self {
            npdsch_after_dci_ms: 5,
            npusch_after_dci_ms: 8,
            harq_ack_after_npdsch_ms: 13,
            npdcch_monitor_gap_ms: 3,
            uplink_gap_every_ms: 256,
            uplink_gap_ms: 40,
            max_block_ms: 2_560,
            dci_per_npdcch_period: 1,
            npusch_tones: vec![Tones::Single15k, Tones::Three, Tones::Twelve],
            subheader_bytes: 2,
            bsr_bytes: 2,
            ul_grant_after_dl: true,
            ul_grant_bytes: 16,
        }
    }
}

impl MacConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        within("mac.npdsch_after_dci_ms", self.npdsch_after_dci_ms, 1, 64)?;
        one_of(
            "mac.npusch_after_dci_ms",
            &self.npusch_after_dci_ms,
            &[8, 16, 32, 64],
        )?;
        let delays = [13, 15, 17, 18];
        one_of(
            "mac.harq_ack_after_npdsch_ms",
            &self.harq_ack_after_npdsch_ms,
            &delays,
        )?;
        within("mac.npdcch_monitor_gap_ms", self.npdcch_monitor_gap_ms, 1, 64)?;
        within("mac.uplink_gap_every_ms", self.uplink_gap_every_ms, 1, 100_000)?;
        within("mac.uplink_gap_ms", self.uplink_gap_ms, 0, 1_000)?;
        within("mac.max_block_ms", self.max_block_ms, 320, 40_960)?;
        within("mac.dci_per_npdcch_period", self.dci_per_npdcch_period, 1, 8)?;
        if self.npusch_tones.is_empty() {
            let allowed = "1x3.75kHz, 1x15kHz, 3x15kHz, 6x15kHz, 12x15kHz";
            return Err(ConfigError::not_allowed(
                "mac.npusch_tones",
                "an empty list",
                allowed,
            ));
        }
        within("mac.subheader_bytes", self.subheader_bytes, 1, 3)?;
        within("mac.bsr_bytes", self.bsr_bytes, 1, 8)?;
        within("mac.ul_grant_bytes", self.ul_grant_bytes, 1, 125)
    }
}

/// Radio link control, acknowledged mode. One entity per direction carries signalling and data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RlcConfig {
    /// Bytes of the header per service data unit. TS 36.322 section 6.2.1.4 (10-bit sequence number).
    pub header_bytes: u32,
    /// Bytes of a status report. TS 36.322 section 6.2.1.6.
    pub status_bytes: u32,
    /// Half bytes of each negative acknowledgement in it: 3 are 1.5 bytes. TS 36.322 section 6.2.2.
    pub nack_half_bytes: u32,
    /// Retransmissions of a packet data unit before the radio link fails. TS 36.331; value assumed.
    pub max_retransmissions: u8,
}

impl Default for RlcConfig {
    fn default() -> Self {
        Self {
            header_bytes: 2,
            status_bytes: 2,
            nack_half_bytes: 3,
            max_retransmissions: 8,
        }
    }
}

impl RlcConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        within("rlc.header_bytes", self.header_bytes, 1, 8)?;
        within("rlc.status_bytes", self.status_bytes, 1, 8)?;
        within("rlc.nack_half_bytes", self.nack_half_bytes, 0, 16)?;
        within("rlc.max_retransmissions", self.max_retransmissions, 1, 32)
    }
}

/// Packet data convergence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PdcpConfig {
    /// Bytes of the header of an IP packet. TS 36.323 (7-bit sequence number).
    pub drb_header_bytes: u32,
    /// Bytes of header and integrity code of a signalling message. TS 36.323.
    pub srb_header_bytes: u32,
}

impl Default for PdcpConfig {
    fn default() -> Self {
        Self {
            drb_header_bytes: 1,
            srb_header_bytes: 5,
        }
    }
}

/// How a device gets from idle to data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flow {
    /// The connection is resumed (user-plane CIoT optimisation).
    Resume,
    /// The connection is set up, with security and reconfiguration.
    Setup,
    /// Data rides in signalling from Msg5 on (control-plane CIoT optimisation).
    ControlPlane,
    /// Data rides in Msg3 where it fits, the answer in Msg4 (early data transmission); otherwise as `resume`.
    EarlyData,
    /// Data rides in a preconfigured uplink resource where it fits, the answer in its response window; otherwise as `resume`
    /// (Release 16).
    Preconfigured,
}

/// What a device says of traffic to come when its buffer is empty (TS 36.321, release assistance indication).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseAssistance {
    /// Nothing: the inactivity timer releases the connection.
    None,
    /// No packet follows in either direction.
    NoFurtherData,
    /// One downlink packet follows.
    OneDownlink,
}

/// Connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RrcConfig {
    /// How a device gets from idle to data.
    pub flow: Flow,
    /// Bytes of Msg4 that resumes a connection. Assumed (from memory).
    pub msg4_resume_bytes: u32,
    /// Bytes of Msg4 that sets a connection up. Assumed (from memory).
    pub msg4_setup_bytes: u32,
    /// Bytes of Msg5. Assumed (from memory).
    pub msg5_bytes: u32,
    /// Bytes of SecurityModeCommand and RRCConnectionReconfiguration. Assumed (from memory).
    pub security_down_bytes: u32,
    /// Bytes of the answers to them. Assumed (from memory).
    pub security_up_bytes: u32,
    /// Bytes of the header of a packet within signalling, instead of PDCP's. Assumed.
    pub nas_header_bytes: u32,
    /// Bytes of RRCConnectionRelease. Assumed (from memory).
    pub release_bytes: u32,
    /// Whether the first grant carries data beside Msg5, as the data volume report in Msg3 allows. Not with `setup`. Assumed.
    pub data_with_msg5: bool,
    /// Whether a device sends a status report for the release before it goes idle. Assumed.
    pub status_after_release: bool,
    /// Time without traffic after which a cell releases a connection, in ms. Assumed.
    pub inactivity_ms: u32,
    /// Time after which a device leaves the network once its report has arrived and nothing is on its way, in ms. Until then it stays
    /// connected, and no cell releases it. `null`: it leaves when it is released. Study nbiot section 2.3, without its length.
    pub removal_ms: Option<u32>,
    /// Time from the first preamble's wait on within which a device must be connected, or it loses its packets, in ms (TS 36.331
    /// T300); `null`: no such timer.
    pub connection_timer_ms: Option<u32>,
    /// What a device says of traffic to come.
    pub release_assistance: ReleaseAssistance,
    /// How long a cell waits for an answer before Msg4 of early data transmission, or before it acknowledges data in a preconfigured
    /// resource, in ms. Assumed: two internet delays and processing.
    pub edt_downlink_wait_ms: u32,
    /// Connections of one cell, above which it rejects further ones. Assumed.
    pub max_connections: u32,
    /// Cycle of paging of an idle device, in ms. TS 36.304; value assumed.
    pub paging_cycle_ms: u32,
}

impl Default for RrcConfig {
    fn default() -> Self {
        Self {
            flow: Flow::Resume,
            msg4_resume_bytes: 19,
            msg4_setup_bytes: 38,
            msg5_bytes: 22,
            security_down_bytes: 60,
            security_up_bytes: 30,
            nas_header_bytes: 8,
            release_bytes: 17,
            data_with_msg5: true,
            status_after_release: true,
            inactivity_ms: 1_000,
            removal_ms: None,
            connection_timer_ms: None,
            release_assistance: ReleaseAssistance::None,
            edt_downlink_wait_ms: 20,
            max_connections: 1_000,
            paging_cycle_ms: 2_560,
        }
    }
}

impl RrcConfig {
    /// Bytes of Msg4 that takes a device into a connection.
    pub(crate) const fn msg4_bytes(&self) -> u32 {
        match self.flow {
            Flow::Resume | Flow::EarlyData | Flow::Preconfigured => self.msg4_resume_bytes,
            Flow::Setup | Flow::ControlPlane => self.msg4_setup_bytes,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        within("rrc.msg4_resume_bytes", self.msg4_resume_bytes, 1, 85)?;
        within("rrc.msg4_setup_bytes", self.msg4_setup_bytes, 1, 85)?;
        within("rrc.msg5_bytes", self.msg5_bytes, 1, 1_000)?;
        within("rrc.security_down_bytes", self.security_down_bytes, 1, 1_000)?;
        within("rrc.security_up_bytes", self.security_up_bytes, 1, 1_000)?;
        within("rrc.nas_header_bytes", self.nas_header_bytes, 0, 100)?;
        within("rrc.release_bytes", self.release_bytes, 1, 1_000)?;
        within("rrc.inactivity_ms", self.inactivity_ms, 1, 3_600_000)?;
        let optional = |key, value: Option<u32>, least| {
            value.map_or(Ok(()), |value| within(key, value, least, 86_400_000))
        };
        optional("rrc.removal_ms", self.removal_ms, 0)?;
        optional("rrc.connection_timer_ms", self.connection_timer_ms, 100)?;
        within("rrc.edt_downlink_wait_ms", self.edt_downlink_wait_ms, 0, 10_000)?;
        within("rrc.max_connections", self.max_connections, 1, 1_000_000)?;
        within("rrc.paging_cycle_ms", self.paging_cycle_ms, 1, 10_485_760)
    }
}
