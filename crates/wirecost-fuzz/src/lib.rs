//! Fuzz targets: properties of parsers and protocol machines that hold for any bytes.
//!
//! `fuzz/` at the root of the repository runs them with libFuzzer. `tests/replay.rs` runs them on stable Rust with the stored
//! inputs and seeded mutations of these. See `docs/fuzzing.md`.
//!
//! - [`wire`]: IP packets and what they carry, TCP segments, ICMP messages, captures
//! - [`mqtt`]: packets, framing, client, broker
//! - [`mqtt_sn`]: messages, client, gateway of MQTT-SN
//! - [`coap`]: messages, client, server, over datagrams and over a stream
//! - [`oscore`]: the option; client and server that protect their messages
//! - [`edhoc`]: client and server that agree on their security context
//! - [`amqp`]: frames, client, container
//! - [`store`]: client and server of databases
//! - [`http1`]: heads, chunked content, client, server of HTTP/1.1
//! - [`http3`]: field sections, frames and packets of HTTP/3 and QUIC, client, server, connection
//! - [`tls`], [`dtls`]: records, client, server, connection; certificates as text
//! - [`object`]: protected objects, files of keys
//! - [`tcp`]: one end of TCP in virtual time, and two of them over a path
//! - [`sim`]: whole simulations
//! - [`schc`]: header compression
//! - [`cost`]: the ledger
//! - [`agents`]: messages between the coordinator of a load and its agents
//! - [`mod@dissect`]: captures of other programs
//! - [`text`]: quantities, names of stacks, rows of samples
//! - [`scenario`]: scenario files
//! - [`lab`]: the names of packets in a ladder
//! - `script`: bytes as a sequence of decisions
//! - `rig`: an endpoint under such a script, with the rules of its contract checked
//! - `conversation`: two such endpoints that talk to each other while a script changes what is under way
//! - `fixture`: certificates and configurations of secure endpoints
//!
//! ```
//! assert!(wirecost_fuzz::text::quantities(b"128B"));
//! assert!(!wirecost_fuzz::text::quantities(b"128 parsecs"));
//! ```

pub mod agents;
pub mod amqp;
pub mod coap;
mod conversation;
pub mod cost;
pub mod dissect;
pub mod dtls;
pub mod edhoc;
mod fixture;
pub mod http1;
pub mod http3;
pub mod lab;
pub mod mqtt;
pub mod mqtt_sn;
pub mod object;
pub mod oscore;
mod rig;
pub mod scenario;
pub mod schc;
mod script;
pub mod sim;
pub mod store;
pub mod tcp;
pub mod text;
pub mod tls;
pub mod wire;

/// Checks one input; returns whether the target understood it to its end. Panics if a property does not hold.
pub type Target = fn(&[u8]) -> bool;

/// Every target, by the name of its libFuzzer target and of its input folders.
pub const TARGETS: [(&str, Target); 63] = [
    ("wire_ip", wire::ip_packet),
    ("wire_tcp", wire::tcp_segment),
    ("wire_icmp", wire::icmp_message),
    ("wire_pcapng", wire::capture),
    ("mqtt_packet", mqtt::packet),
    ("mqtt_framer", mqtt::framer),
    ("mqtt_client", mqtt::client),
    ("mqtt_broker", mqtt::broker),
    ("mqtt_sn_message", mqtt_sn::message),
    ("mqtt_sn_client", mqtt_sn::client),
    ("mqtt_sn_gateway", mqtt_sn::gateway),
    ("coap_message", coap::message),
    ("coap_client", coap::client),
    ("coap_server", coap::server),
    ("coap_stream", coap::stream),
    ("coap_stream_client", coap::stream_client),
    ("coap_stream_server", coap::stream_server),
    ("oscore_option", oscore::option),
    ("oscore_client", oscore::client),
    ("oscore_server", oscore::server),
    ("edhoc_client", edhoc::client),
    ("edhoc_server", edhoc::server),
    ("amqp_frames", amqp::frames),
    ("amqp_client", amqp::client),
    ("amqp_container", amqp::container),
    ("http1_head", http1::head),
    ("http1_chunks", http1::chunks),
    ("http_page", http1::page),
    ("http1_client", http1::client),
    ("http1_server", http1::server),
    ("tls_records", tls::stream),
    ("tls_pem", tls::pem),
    ("tls_client", tls::client),
    ("tls_server", tls::server),
    ("tls_connection", tls::connection),
    ("dtls_records", dtls::datagram),
    ("dtls_client", dtls::client),
    ("dtls_server", dtls::server),
    ("dtls_connection", dtls::connection),
    ("qpack_section", http3::section),
    ("qpack_huffman", http3::string),
    ("http3_request_stream", http3::request_stream),
    ("http3_unidirectional_stream", http3::unidirectional_stream),
    ("quic_frames", http3::frames),
    ("quic_datagrams", http3::datagrams),
    ("http3_client", http3::client),
    ("http3_server", http3::server),
    ("http3_connection", http3::connection),
    ("object", object::object),
    ("object_key", object::key),
    ("tcp_segments", tcp::segments),
    ("tcp_pair", tcp::pair),
    ("sim_world", sim::world),
    ("schc_packet", schc::packet),
    ("cost_ledger", cost::ledger),
    ("dissect_capture", dissect::capture),
    ("store_client", store::client),
    ("store_server", store::server),
    ("load_agents", agents::stream),
    ("proto_units", text::quantities),
    ("lab_scenario", scenario::file),
    ("lab_text", text::names_and_rows),
    ("lab_label", lab::label),
];
