//! The words that a text in results may be, for the JSON Schemas. A field of a type of its own needs none of these.

use schemars::JsonSchema;

/// Declares the words of a text.
macro_rules! words {
    ($($(#[doc = $doc:expr])* $name:ident { $($variant:ident => $word:literal,)* })*) => {
        $(
            $(#[doc = $doc])*
            #[derive(JsonSchema)]
            #[schemars(inline)]
            #[expect(dead_code, reason = "for its schema alone")]
            pub(crate) enum $name {
                $(#[serde(rename = $word)] $variant,)*
            }
        )*
    };
}

words! {
    Engine {
        Live => "live",
        Sim => "sim",
    }
    Start {
        Cold => "cold",
        Resumed => "resumed",
        EarlyData => "0rtt",
        Edhoc => "edhoc",
        EdhocByValue => "edhoc-by-value",
    }
    LinkLayer {
        Ethernet => "ethernet",
        Wifi => "wifi",
    }
    ServerPath {
        Real => "real",
        Relay => "relay",
    }
    LoadPacketPath {
        Tun => "tun",
        Veth => "veth",
        Virtual => "virtual",
    }
    Encoding {
        Json => "json",
        Cbor => "cbor",
        SenmlJson => "senml-json",
        SenmlCbor => "senml-cbor",
    }
    Compression {
        None => "none",
        Gzip => "gzip",
        Brotli => "brotli",
        Zstd => "zstd",
    }
    NatPort {
        Same => "same-port",
        New => "new-port",
    }
    NewNatPort {
        New => "new-port",
    }
    ResponseKind {
        ToAck => "to_ack",
        ToReply => "to_reply",
        ToArrival => "to_arrival",
        None => "",
    }
    LoadResponseKind {
        ToAck => "to_ack",
        ToReply => "to_reply",
    }
    Cause {
        Original => "original",
        Acknowledgement => "acknowledgement",
        Retransmission => "retransmission",
        Probe => "probe",
    }
    Quantile {
        P50 => "p50",
        P90 => "p90",
        P95 => "p95",
        P99 => "p99",
        P999 => "p999",
    }
    FigureOfFewSamples {
        Mean => "mean",
        P50 => "p50",
        P90 => "p90",
        P95 => "p95",
        P99 => "p99",
        P999 => "p999",
    }
    Arrivals {
        Constant => "constant",
        Poisson => "poisson",
    }
    PhaseName {
        Connect => "connect",
        Publish => "publish",
        Request => "request",
        Handshakes => "handshakes",
        Hold => "hold",
        Drop => "drop",
        Reconnect => "reconnect",
        Replay => "replay",
        Close => "close",
    }
    SearchMetric {
        ResponseTime => "response_time",
        OneWayDelay => "one_way_delay",
    }
    Limit {
        AtMost => "at_most",
        AtLeast => "at_least",
        Refused => "refused",
    }
    Who {
        Generator => "generator",
        Target => "target",
        Devices => "devices",
        Link => "link",
        None => "none",
    }
}
