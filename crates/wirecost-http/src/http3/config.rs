//! Configuration of QUIC at both ends.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use quinn_proto::{
    ConnectionId, ConnectionIdGenerator, EndpointConfig, IdleTimeout, TransportConfig, VarInt,
};
use wirecost_proto::Rng;

use super::quic::packet::CONNECTION_ID_BYTES;

/// Settings of a QUIC transport. A server and its clients may differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transport {
    /// The largest UDP payload sent, at least 1,200 bytes, which every path must carry (RFC 9000 section 14). There
    /// is no path MTU discovery.
    pub max_datagram_bytes: u16,
    /// A connection ends after this time without a packet (RFC 9000 section 10.1). The smaller value of both ends
    /// applies.
    pub idle_timeout: Duration,
    /// A PING is sent after this time without a packet. The default is none.
    pub keep_alive: Option<Duration>,
    /// The most requests that a client may have open at a time.
    pub max_requests: u32,
    /// The most bytes of a connection that are unacknowledged in one direction and unread in the other; `None` is QUIC's
    /// default, which serves fast paths and lets a peer make us hold megabytes.
    pub window_bytes: Option<u32>,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            max_datagram_bytes: 1200,
            idle_timeout: Duration::from_secs(60),
            keep_alive: None,
            max_requests: 100,
            window_bytes: None,
        }
    }
}

/// Unidirectional streams that a peer may open: control, two of QPACK, and some of unknown types (RFC 9114 section
/// 6.2.3).
const PEER_STREAMS: u32 = 16;

impl Transport {
    pub(crate) fn for_client(&self) -> Arc<TransportConfig> {
        // Servers open no bidirectional streams (RFC 9114 section 6.1).
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
        if let Some(bytes) = self.window_bytes {
            config
                .send_window(bytes.into())
                .receive_window(VarInt::from_u32(bytes))
                .stream_receive_window(VarInt::from_u32(bytes));
        }
        config
    }
}

/// The seed of every endpoint's own choices: the packet numbers that are skipped to detect optimistic
/// acknowledgements (RFC 9000 section 21.4), and the order of transport parameters. All endpoints share it, because
/// an acknowledgement around a gap is 2 B longer. With individual seeds, one device in ten would send other sizes.
/// With this seed the first gap comes after 61 packets.
const ENDPOINT_SEED: [u8; 32] = [0; 32];

/// An endpoint configuration whose connection IDs and reset key derive from `rng`. A server notes the IDs in `issued`.
pub(crate) fn endpoint(rng: Rng, issued: Option<Issued>) -> EndpointConfig {
    let mut reset_key = [0; 32];
    rng.purpose(1).fill(&mut reset_key);
    let reset_key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, &reset_key);
    let ids = Ids {
        issued,
        ..Ids::new(rng.purpose(2))
    };
    let mut config = EndpointConfig::new(Arc::new(reset_key));
    config
        .rng_seed(Some(ENDPOINT_SEED))
        .grease_quic_bit(false)
        .cid_generator(move || Box::new(ids.clone()));
    config
}

/// The connection IDs that clients choose for an unknown server (RFC 9000 section 7.2).
pub(crate) fn first_destinations(rng: Rng) -> Arc<dyn Fn() -> ConnectionId + Send + Sync> {
    let ids = Ids::new(rng.purpose(3));
    Arc::new(move || ids.next())
}

/// Generates connection IDs of constant length from a seed. Clones share it.
#[derive(Clone)]
struct Ids {
    rng: Arc<Mutex<Rng>>,
    issued: Option<Issued>,
}

/// The connection IDs that a server's endpoints have generated since they were last taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Issued(Arc<Mutex<Vec<ConnectionId>>>);

impl Issued {
    /// Takes the IDs.
    pub(crate) fn take(&self) -> Vec<ConnectionId> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Ids {
    fn new(rng: Rng) -> Self {
        let rng = Arc::new(Mutex::new(rng));
        Self { rng, issued: None }
    }

    fn next(&self) -> ConnectionId {
        let mut id = [0; CONNECTION_ID_BYTES];
        let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
        rng.fill(&mut id);
        let id = ConnectionId::new(&id);
        if let Some(Issued(issued)) = &self.issued {
            issued.lock().unwrap_or_else(PoisonError::into_inner).push(id);
        }
        id
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
