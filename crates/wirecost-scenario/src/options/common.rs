//! Rows that several commands have: what such an option takes, means and is by default is said once.

use std::time::Duration;

use wirecost_proto::{ByteSize, Congestion};
use wirecost_results::resolved::Tree;
use wirecost_results::value::ValueError;
use wirecost_security::certificate::{Chain, KeyKind};
use wirecost_security::provider::{Cipher, Groups};

use super::row::{Form, Kind, Named, Names, Parsed, Seconds, SharedRow, Spec, Value, forms};
use crate::certificates;

/// Declares `NAME: FORM = DEFAULT => SPEC;`, whose comment is the help.
macro_rules! common {
    ($($(#[doc = $doc:literal])+ $name:ident: $form:ty = $default:expr => $spec:expr;)+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Debug)]
            pub struct $name;

            impl SharedRow for $name {
                type Form = $form;
                const DOC: &'static str = concat!($($doc),+);
                const SPEC: Spec = $spec;

                fn default() -> Value<Self> {
                    $default
                }
            }
        )+
    };
}

common! {
    /// Seed of all random decisions: the same seed repeats a simulated run exactly.
    Seed: u64 = 42 => Spec::FILE.takes("SEED").always_written();
    /// Use IPv6 between devices and server.
    Ipv6: bool = false => Spec::FILE;
    /// MQTT topic, CoAP path and HTTP path.
    Resource: String = "test".to_owned() => Spec::FILE.always_written();
    /// MQTT keep-alive interval; 0s turns it off.
    KeepAlive: Seconds = 60 => Spec::FILE.always_written();
    /// Time after which an answer counts as late; after twice this time the device gives up.
    Timeout: Duration = Duration::from_secs(30) => Spec::FILE.always_written();
    /// Give each message to TCP in pieces of this size, as a program does that reads a file; without TLS.
    Chunk: Option<ByteSize> = None => Spec::FILE;
    /// Leave Nagle's algorithm on: TCP holds a small segment back until the one before it is acknowledged.
    Nagle: bool = false => Spec::FILE;
    /// Send behind the request to connect without waiting for its answer: MQTT its first message (3.1.4), AMQP everything up to the
    /// link. With a 0rtt start this is early data, which can be replayed. Other protocols wait for no such answer.
    PipelinedConnect: bool = false => Spec::FILE;
    /// Congestion control of TCP at both ends of a link, cubic (RFC 9438), reno (RFC 5681, RFC 6582) or bbr: live the kernel's, and in
    /// virtual time cubic or reno.
    CongestionControl: Named<Congestion> = Congestion::Cubic => Spec::FILE.takes("NAME");
    /// Largest frame that both built-in ends of an AMQP connection accept, from 512B on, usually 65536B. A larger message is several transfers.
    AmqpFrameSize: Option<ByteSize> = None => Spec::FILE;
    /// Further header fields of each HTTP request, from 15B on: the size that they have in HTTP/1.1.
    RequestHeaders: Option<ByteSize> = None => Spec::FILE;
    /// Body of the built-in server's HTTP answer to a message, from 1B on.
    ResponseBody: Option<ByteSize> = None => Spec::FILE;
    /// Send each HTTP message as a GET with its payload in the query, percent-encoded, instead of a POST.
    ReadingInQuery: bool = false => Spec::FILE;
    /// Key and signatures of the certificates: p256, p384, rsa2048, rsa3072, ed25519, mldsa44 or mldsa65 (TLS and HTTP/3) [default:
    /// that of the chain, or p256].
    LeafKey: CertificateKey = None => Spec::FILE.takes("KEY").default_said();
    /// Certificates that a server sends: leaf, intermediate (leaf and the authority that issued it), cross-signed (these and the
    /// authority above by an older one), a profile (letsencrypt-ecdsa, letsencrypt-rsa, aws, azure, private-ca), sizes as in
    /// p256:1000+699, the sizes of a PEM file, or raw-public-key (the key alone, RFC 7250; TLS 1.3 and HTTP/3).
    ChainOf: ChainText = Chain::Leaf => Spec::FILE.takes("CHAIN|FILE");
    /// Groups of the key exchange, the best first: x25519, p256, p384, x25519mlkem768, mlkem768, mlkem1024; the first one has the
    /// key share (TLS and HTTP/3) [default: x25519; all with a server that runs already].
    Group: GroupNames = None => Spec::FILE.takes("GROUP,...").default_said();
    /// Groups of the built-in server, where they are not those of the devices: if it lacks their first one, it asks for another
    /// with a HelloRetryRequest.
    ServerGroup: GroupNames = None => Spec::FILE.takes("GROUP,...");
    /// Cipher of records: aes128-gcm, aes256-gcm or chacha20-poly1305, in TLS 1.3, HTTP/3, and TLS 1.2 with the suite of the certificates
    /// [default: aes128-gcm; all with a server that runs already].
    CipherOfRecords: CipherName = None => Spec::FILE.takes("NAME").default_said();
    /// Let DTLS have a P-256 leaf of its own beside the --chain of TLS and HTTP/3: its library sends no chain.
    DtlsLeaf: bool = false => Spec::FILE;
}

impl Names for Cipher {
    const NAMES: &'static [&'static str] = Self::NAMES;
}

impl Names for Congestion {
    const NAMES: &'static [&'static str] = &Self::NAMES;
}

/// The key of the certificates.
#[derive(Debug)]
pub struct CertificateKey;

impl Form for CertificateKey {
    type Value = Option<KeyKind>;
    const KIND: Kind = Kind::Name(KeyKind::NAMES);

    fn read(text: &str) -> Result<Self::Value, ValueError> {
        crate::table::parsed(text).map(Some)
    }

    fn write(key: &Self::Value) -> Option<Tree> {
        // P-256 is what there is without the option.
        key.filter(|key| *key != KeyKind::default()).map(Tree::text)
    }
}

forms! {
    /// The certificates that an end sends: by number, by the name of a profile, by their sizes, or as in a file.
    struct ChainText: Chain, Kind::Text, |text: &str| certificates::chain(text).map_err(ValueError::Refused), |chain| Tree::text(chain);
}

/// A cipher by name, where it need not be given.
pub type CipherName = Option<Named<Cipher>>;

/// Groups by name, with commas between them, where they need not be given.
pub type GroupNames = Option<Parsed<Groups>>;
