//! How QUIC is set up at both ends.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use quinn_proto::{
    ConnectionId, ConnectionIdGenerator, EndpointConfig, IdleTimeout, TransportConfig, VarInt,
};
use wirecost_proto::Rng;

use super::quic::packet::CONNECTION_ID_BYTES;

/// How a QUIC transport behaves; a server and its clients may differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transport {
    /// Bytes of the largest UDP payload that is sent: 1,200 at least, which every path must carry (RFC 9000 section 14).
    /// The path is not probed for more.
    pub max_datagram_bytes: u16,
    /// After how long without a packet a connection is gone (RFC 9000 section 10.1); the smaller one of both ends'.
    pub idle_timeout: Duration,
    /// After how long without a packet a PING is sent; none by default.
    pub keep_alive: Option<Duration>,
    /// Requests that a client may have open at the same time.
    pub max_requests: u32,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            max_datagram_bytes: 1200,
            idle_timeout: Duration::from_secs(60),
            keep_alive: None,
            max_requests: 100,
        }
    }
}

/// Unidirectional streams that a peer may have open: control, two of QPACK, and some that mean nothing (RFC 9114
/// section 6.2.3).
const PEER_STREAMS: u32 = 16;

impl Transport {
    pub(crate) fn for_client(&self) -> Arc<TransportConfig> {
        // Servers open no bidirectional stream (RFC 9114 section 6.1).
        Arc::new(self.transport(0))
    }

    pub(crate) fn for_server(&self) -> Arc<TransportConfig> {
        Arc::new(self.transport(self.max_requests))
    }

    fn transport(&self, requests: u32) -> TransportConfig {
        let mut config = TransportConfig::default();
        config
            .initial_mtu(self.max_datagram_bytes)
            .mtu_discovery_config(None)
            .enable_segmentation_offload(false)
            .max_idle_timeout(IdleTimeout::try_from(self.idle_timeout).ok())
            .keep_alive_interval(self.keep_alive)
            .max_concurrent_bidi_streams(VarInt::from_u32(requests))
            .max_concurrent_uni_streams(VarInt::from_u32(PEER_STREAMS))
            .datagram_receive_buffer_size(None);
        config
    }
}

/// The seed of every endpoint's own choices: which packet numbers are left out against acknowledgements of what never
/// arrived (RFC 9000 section 21.4), and the order of transport parameters. It is the same for all, because an
/// acknowledgement around a gap is 2 B longer: with a seed of its own, one device in ten would send other sizes. With
/// this one the first gap comes after 61 packets.
const ENDPOINT_SEED: [u8; 32] = [0; 32];

/// Endpoints whose connection ids and reset key follow from `rng`; those of one configuration share the ids.
pub(crate) fn endpoint(rng: Rng) -> EndpointConfig {
    let mut reset_key = [0; 32];
    rng.purpose(1).fill(&mut reset_key);
    let reset_key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, &reset_key);
    let ids = Ids::new(rng.purpose(2));
    let mut config = EndpointConfig::new(Arc::new(reset_key));
    config
        .rng_seed(Some(ENDPOINT_SEED))
        .grease_quic_bit(false)
        .cid_generator(move || Box::new(ids.clone()));
    config
}

/// The connection ids that clients choose for a server they do not know yet (RFC 9000 section 7.2).
pub(crate) fn first_destinations(rng: Rng) -> Arc<dyn Fn() -> ConnectionId + Send + Sync> {
    let ids = Ids::new(rng.purpose(3));
    Arc::new(move || ids.next())
}

/// Connection ids of one length, from a seed. Clones share it.
#[derive(Clone)]
struct Ids {
    rng: Arc<Mutex<Rng>>,
}

impl Ids {
    fn new(rng: Rng) -> Self {
        let rng = Arc::new(Mutex::new(rng));
        Self { rng }
    }

    fn next(&self) -> ConnectionId {
        let mut id = [0; CONNECTION_ID_BYTES];
        let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
        rng.fill(&mut id);
        ConnectionId::new(&id)
    }
}

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        self.next()
    }

    fn cid_len(&self) -> usize {
        CONNECTION_ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}
