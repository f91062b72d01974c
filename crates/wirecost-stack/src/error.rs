//! Why a stack cannot do what it is asked to do.

use wirecost_coap::edhoc;
use wirecost_coap::option::OptionError;
use wirecost_coap::oscore::ContextError;
use wirecost_http::message::TemplateError;
use wirecost_mqtt::client as mqtt;
use wirecost_mqtt::codec::{FieldError, Malformed};
use wirecost_security::object::SealError;
use wirecost_security::{dtls, tls};

use crate::{Channel, Stack};

/// Why a stack cannot send a message, or has no client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{stack} cannot do this: {reason}")]
pub struct ClientError {
    /// The stack.
    pub stack: Stack,
    /// What its protocol or its channel refuses.
    pub reason: StackError,
}

/// What a protocol or a channel refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StackError {
    /// MQTT has no such quality of service.
    #[error("there is no QoS {0}")]
    QoS(u8),
    /// MQTT cannot carry a text.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// MQTT cannot carry a message.
    #[error(transparent)]
    Publish(#[from] mqtt::TemplateError),
    /// A topic filter is ill-formed.
    #[error("topic filter {filter:?} is ill-formed: {error}")]
    Filter {
        /// The filter.
        filter: String,
        /// What is wrong with it.
        error: Malformed,
    },
    /// MQTT-SN cannot carry a client identifier.
    #[error("a client identifier of MQTT-SN has 1 to 23 bytes, got {0:?}")]
    SnClientId(String),
    /// A topic at QoS -1 differs from message to message or from device to device.
    #[error(
        "at QoS -1 nothing is registered: write a topic of two characters, or a predefined topic id, the same for all messages"
    )]
    SnTopic,
    /// CoAP cannot carry a request.
    #[error(transparent)]
    CoapRequest(#[from] OptionError),
    /// HTTP cannot carry a request.
    #[error(transparent)]
    HttpRequest(#[from] TemplateError),
    /// The payload cannot be sealed.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The OSCORE secret cannot be used.
    #[error(transparent)]
    Oscore(#[from] ContextError),
    /// EDHOC cannot be set up.
    #[error(transparent)]
    Edhoc(#[from] edhoc::Failure),
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] tls::ConfigError),
    /// DTLS cannot be set up.
    #[error(transparent)]
    Dtls(#[from] dtls::ConfigError),
    /// DTLS with a pre-shared key has no key.
    #[error("no pre-shared key was given")]
    NoPsk,
    /// A TLS server has no certificate.
    #[error("{0} needs a certificate")]
    NoCertificate(Stack),
    /// A channel is not TLS.
    #[error("{0:?} is not TLS")]
    NotTls(Channel),
    /// A channel is not DTLS.
    #[error("{0:?} is not DTLS")]
    NotDtls(Channel),
    /// The protocol has no requests.
    #[error("its protocol has no requests: CoAP and HTTP have them")]
    NoRequests,
    /// The protocol has no subscriptions.
    #[error(
        "its client has no way to receive: MQTT over TCP has subscriptions, CoAP has observation, and HTTP can poll"
    )]
    NoSubscriptions,
    /// The protocol has no shared subscriptions.
    #[error("only MQTT has shared subscriptions")]
    NoSharedSubscriptions,
    /// The address of an AMQP link differs from message to message.
    #[error("an AMQP link has one address: remove %n, %t and %r from it")]
    AddressByMessage,
    /// The database differs from message to message.
    #[error("a connection has one database: remove %n, %t and %r from its name")]
    DatabaseByMessage,
}

impl StackError {
    /// The error of `stack`.
    pub(crate) const fn with_stack(self, stack: Stack) -> ClientError {
        ClientError { stack, reason: self }
    }
}

/// Why a client cannot carry out a command. It ends the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The client has no message of its own to send.
    #[error("the client has no message of its own")]
    NoMessage,
    /// The message or the subscription is another protocol's.
    #[error("a {0} of another protocol")]
    OtherProtocol(&'static str),
    /// The next message cannot be made.
    #[error(transparent)]
    Message(#[from] ClientError),
    /// The protocol cannot carry the subscription.
    #[error(transparent)]
    Subscription(StackError),
}
