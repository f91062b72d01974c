//! Why a probe failed: the step, the cause, and what to do.

pub mod certificate;
mod security;

use std::net::SocketAddr;
use std::time::Duration;

use wirecost_live::limits::way_out_of;
use wirecost_proto::ResetReason;
use wirecost_proto::bare::Transport;
use wirecost_proto::units::counted;
use wirecost_security::layer::Fault;
use wirecost_stack::url::{Protocol, Scheme};

use super::answer::{Answer, did_you_mean, greeting, otherwise};
use super::event::{Refusal, RefusalKind, Trouble};
use super::notes::{Notes, Step};
use super::options::{MqttVersion, Options};
use super::resolve::ResolveError;
use wirecost_security::certificate::x509::Presented;

/// RFC 4279, section 2: a server may decline to say that an identity or a key is wrong.
const SILENT: &str = "a server may be silent where identity or key is wrong: check --psk";

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// No answer came.
    Unreachable,
    /// The server refuses, or speaks another protocol.
    Refused,
}

/// Why a probe failed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Failure {
    /// The step that failed.
    pub step: Step,
    /// The time from the beginning of the step to the failure.
    #[serde(rename = "after_ns", serialize_with = "nanos")]
    pub after: Duration,
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// The cause, in one sentence.
    pub cause: String,
    /// What to do.
    pub hint: Option<String>,
}

/// A cause with its kind and what to do.
pub(super) struct Cause {
    kind: FailureKind,
    text: String,
    hint: Option<String>,
}

impl Cause {
    fn unreachable(text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            kind: FailureKind::Unreachable,
            text: text.into(),
            hint: Some(hint.into()),
        }
    }

    fn refused(text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            kind: FailureKind::Refused,
            ..Self::unreachable(text, hint)
        }
    }

    fn at(self, step: Step, after: Duration) -> Failure {
        Failure {
            step,
            after,
            kind: self.kind,
            cause: self.text,
            hint: self.hint,
        }
    }
}

/// The failure of a name that has no address.
pub(super) fn of_name(error: &ResolveError, after: Duration) -> Failure {
    let hint = match error {
        ResolveError::Failed { .. } => "check the name, or give an IP address",
        ResolveError::TimedOut { .. } => "check /etc/resolv.conf, or give an IP address",
        ResolveError::Family { .. } => "leave out -4 or -6",
    };
    Cause::unreachable(error.to_string(), hint).at(Step::Dns, after)
}

/// A time as nanoseconds.
pub(super) fn nanos<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// What a probe knows when it has failed.
pub(super) struct Diagnosis<'a> {
    pub(super) options: &'a Options,
    pub(super) remote: SocketAddr,
    /// The interface that sent and received the packets, where it is known.
    pub(super) interface: Option<&'a str>,
    /// Datagrams sent on the flow.
    pub(super) datagrams_sent: usize,
    /// Bytes of a stream, or datagrams, that arrived in the step that failed.
    pub(super) received: u64,
    /// The server's certificate, where the server sent it again.
    pub(super) certificate: Option<&'a Presented>,
    pub(super) notes: &'a Notes,
}

impl Diagnosis<'_> {
    /// The failure, if the probe has failed.
    pub(super) fn failure(&self) -> Option<Failure> {
        let (step, trouble, after) = self.notes.trouble.as_ref()?;
        let cause = self.echo().or_else(|| self.wrong_protocol(*step, trouble));
        let cause = cause.unwrap_or_else(|| self.cause(*step, trouble));
        Some(cause.at(*step, *after))
    }

    fn echo(&self) -> Option<Cause> {
        let text = format!(
            "{} sent back what it was sent: it is an echo server, or something on the way returns the packets",
            self.remote
        );
        self.notes.is_echo.then(|| Cause::refused(text, "check the port"))
    }

    fn scheme(&self) -> Scheme {
        self.options.url.scheme
    }

    fn protocol(&self) -> &'static str {
        self.scheme().protocol().name()
    }

    /// The cause where the server answered in another protocol, or closed the connection without an answer.
    fn wrong_protocol(&self, step: Step, trouble: &Trouble) -> Option<Cause> {
        let scheme = self.scheme();
        let is_over = matches!(trouble, Trouble::Closed | Trouble::Broken(ResetReason::ByPeer));
        let is_no_tls = matches!(
            trouble,
            Trouble::Insecure(Fault::Protocol { .. } | Fault::Other(_))
        );
        let is_odd = is_over || is_no_tls || matches!(trouble, Trouble::Foreign(_) | Trouble::TimedOut);
        if !is_odd || scheme.stack().transport() != Transport::Stream {
            return None;
        }
        if scheme.is_secure() && step != Step::Security {
            return None;
        }
        let answer = Answer::from_bytes(&self.notes.first_bytes);
        if answer == Answer::Nothing && (is_over || is_no_tls) {
            return Some(self.ended(step, trouble));
        }
        let told = otherwise(
            &self.options.url,
            self.remote.port(),
            self.greeting(step),
            &answer,
        );
        told.map(|[text, hint]| Cause::refused(text, hint))
    }

    /// The cause where the server closed the connection without an answer.
    fn ended(&self, step: Step, trouble: &Trouble) -> Cause {
        let ended = match trouble {
            Trouble::Broken(ResetReason::ByPeer) => "reset",
            _ => "closed",
        };
        let text = format!(
            "{} {ended} the connection without an answer to {}",
            self.remote,
            self.greeting(step)
        );
        Cause::refused(text, did_you_mean(&self.options.url, self.expected_there()))
    }

    /// The scheme that the port is registered for, or else the same protocol with or without protection.
    fn expected_there(&self) -> Scheme {
        let scheme = self.scheme();
        let registered = Scheme::registered_on(self.remote.port());
        registered
            .filter(|registered| *registered != scheme)
            .unwrap_or(scheme.counterpart())
    }

    /// The first message that the client sent in a step.
    const fn greeting(&self, step: Step) -> &'static str {
        match step {
            Step::Security => "a TLS ClientHello",
            _ => greeting(self.options.url.scheme.protocol()),
        }
    }

    fn cause(&self, step: Step, trouble: &Trouble) -> Cause {
        let remote = self.remote;
        match trouble {
            Trouble::Unconnected(reason) | Trouble::Broken(reason) => self.broken(*reason),
            Trouble::TimedOut => self.timed_out(step),
            Trouble::GaveUp { transmissions } => self.unanswered(*transmissions as usize, None),
            Trouble::Insecure(fault) => self.insecure(fault),
            Trouble::Rejected(refusal) => self.rejected(refusal),
            Trouble::Refused(refusal) => self.message_refused(refusal),
            Trouble::Foreign(reason) => Cause::refused(
                format!("{remote} does not keep to {}: {reason}", self.protocol()),
                "the server is at fault, or something on the way: its log may say more",
            ),
            Trouble::TooLong(reason) => Cause::refused(
                format!("{remote} cannot be sent this: {reason}"),
                "use a shorter name, address, identifier or password",
            ),
            Trouble::Closed => Cause::refused(
                format!(
                    "{remote} closed the connection before the {} was over",
                    step.name()
                ),
                "the server's log says why",
            ),
        }
    }

    fn broken(&self, reason: ResetReason) -> Cause {
        let remote = self.remote;
        match (reason, self.scheme().stack().transport()) {
            (ResetReason::Refused, Transport::Stream) => Cause::unreachable(
                format!("{remote} refused the connection: nothing listens there"),
                self.start_one(),
            ),
            (ResetReason::Refused, Transport::Datagram) => Cause::unreachable(
                format!("{remote}/udp: ICMP says that the port is closed: nothing listens there"),
                self.start_one(),
            ),
            (ResetReason::ByPeer, _) => Cause::refused(
                format!("{remote} reset the connection"),
                "the server's log says why",
            ),
            (ResetReason::TimedOut, _) => Cause::unreachable(
                format!("{remote}: no answer"),
                "check the address and the firewalls on the way",
            ),
            (ResetReason::Unreachable, _) => Cause::unreachable(
                format!("{remote}: there is no route"),
                "check the address and the routes of this machine: ip route get ADDRESS",
            ),
            (ResetReason::Unread, _) => Cause::refused(
                format!("{remote} does not read what it makes this client send: the connection was ended"),
                "the server's log may say why; is it the server that you mean?",
            ),
            (ResetReason::NoPort | ResetReason::NoFile, _) => Cause::unreachable(
                format!("{remote}: this machine has no room for one more connection: {reason}"),
                way_out_of(reason).unwrap_or_default(),
            ),
            (ResetReason::Local, _) => Cause::unreachable(
                format!("{remote}: this machine ended the connection"),
                "check the address, the routes and the firewall of this machine",
            ),
        }
    }

    fn start_one(&self) -> String {
        let start = "check the port, or start the server";
        let name = match self.scheme() {
            Scheme::Mqtt => "mqtt",
            Scheme::Mqttsn => "mqttsn",
            Scheme::Coap => "coap",
            Scheme::CoapTcp => "coap-tcp",
            Scheme::Amqp => "amqp",
            Scheme::Http => "http1",
            Scheme::H3 => "http3",
            Scheme::Postgres => "postgres",
            Scheme::Mariadb => "mariadb",
            Scheme::Mongodb => "mongodb",
            Scheme::Mqtts
            | Scheme::Mqttsns
            | Scheme::Coaps
            | Scheme::CoapsTcp
            | Scheme::Amqps
            | Scheme::Https
            | Scheme::Tcp
            | Scheme::Udp => return start.to_owned(),
        };
        format!(
            "{start}; 'wirecost serve {name}' gives one on port {}",
            self.scheme().port()
        )
    }

    fn timed_out(&self, step: Step) -> Cause {
        let seconds = self.options.timeout.as_secs_f64();
        let remote = self.remote;
        let awaited = match (step, self.scheme().protocol()) {
            (Step::Connect | Step::Ticket, _) => {
                let text = format!("{remote}: no answer to SYN within {seconds} s");
                return Cause::unreachable(
                    text,
                    "check the firewalls on the way, or give it longer with --timeout",
                );
            }
            (_, Protocol::MqttSn | Protocol::Coap | Protocol::Http3) if self.notes.first_bytes.is_empty() => {
                return self.unanswered(self.datagrams_sent, Some(self.options.timeout));
            }
            (Step::Security, Protocol::MqttSn | Protocol::Coap) if self.options.psk.is_some() => {
                let came = self.came();
                let text = format!("{remote}/udp: waited {seconds} s for the handshake to be complete{came}");
                return Cause::unreachable(text, format!("{SILENT}, or give it longer with --timeout"));
            }
            (Step::Security, _) => "the handshake to be complete",
            (Step::Open, Protocol::MqttSn) => "CONNACK or REGACK",
            (Step::Open, Protocol::Mqtt) => "CONNACK",
            (Step::Open, Protocol::Store(_)) => "the statement to be prepared",
            (Step::Open, _) => "credit to send",
            (_, Protocol::Mqtt | Protocol::MqttSn) => "the acknowledgement of the PUBLISH",
            (_, Protocol::Amqp) => "the disposition of the transfer",
            (_, Protocol::Store(_)) => "the answer to the insert",
            _ => "the response",
        };
        let text = format!("{remote}: waited {seconds} s for {awaited}{}", self.came());
        let later = "or give it longer with --timeout";
        match (&self.notes.ignored, self.received) {
            (Some(_), _) => Cause::refused(
                text,
                "the server is at fault, or something on the way: its log may say more",
            ),
            (None, 0) => Cause::unreachable(
                text,
                format!("check the port, the scheme and the server's log, {later}"),
            ),
            (None, _) => Cause::unreachable(text, format!("check the port and the server's log, {later}")),
        }
    }

    /// What arrived while the client waited for something else.
    fn came(&self) -> String {
        let received = self.received;
        match (&self.notes.ignored, self.scheme().stack().transport()) {
            (Some(what), _) => format!("; the server answered, but with {what}"),
            (None, _) if received == 0 => "; nothing came".to_owned(),
            (None, Transport::Stream) => format!("; {received} B came, and it was not in them, or not whole"),
            (None, Transport::Datagram) => {
                let answer = Answer::from_bytes(&self.notes.first_bytes);
                let came = counted(received, "datagram");
                let them = if received == 1 { "it" } else { "them" };
                format!("; {came} came, and it was not in {them}, or not whole; the first is {answer}")
            }
        }
    }

    /// The cause where no datagram was answered. UDP gives no other reason.
    fn unanswered(&self, sent: usize, within: Option<Duration>) -> Cause {
        let what = match (self.scheme(), within) {
            (_, None) => format!(
                "no answer to {} CoAP retransmissions (after 2, 4, 8 and 16 s; RFC 7252, section 4.8)",
                sent.saturating_sub(1)
            ),
            (Scheme::Coap, Some(within)) => format!(
                "no answer to a CoAP request and {} within {} s",
                counted(sent.saturating_sub(1) as u64, "retransmission"),
                within.as_secs_f64()
            ),
            (_, Some(within)) => format!(
                "no answer to {} of the handshake within {} s",
                counted(sent as u64, "datagram"),
                within.as_secs_f64()
            ),
        };
        let route = self
            .interface
            .map_or_else(String::new, |name| format!(". Route: via {name}"));
        let mut hint = "try --timeout or check a firewall; UDP gives no 'refused'".to_owned();
        if self.options.psk.is_some() {
            hint = format!("{hint}; {SILENT}");
        }
        Cause::unreachable(format!("{}/udp: {what}. ICMP: none{route}", self.remote), hint)
    }

    fn rejected(&self, refusal: &Refusal) -> Cause {
        let Refusal {
            reason,
            kind,
            reference,
        } = refusal;
        match kind {
            RefusalKind::Authentication => {
                Cause::refused(format!("{reason}. {}", self.who()), self.credentials())
            }
            RefusalKind::Version => Cause::refused(
                format!(
                    "{} refused the version of {}: {reason}",
                    self.remote,
                    self.protocol()
                ),
                match self.options.mqtt_version {
                    MqttVersion::V3_1_1 => "try --mqtt 5",
                    MqttVersion::V5 => "try --mqtt 3.1.1",
                },
            ),
            RefusalKind::Elsewhere => Cause::refused(
                format!("{} sends clients to another server: {reason}", self.remote),
                match reference {
                    Some(_) => "name the server of the reference in the URL",
                    None => "it names none: whoever runs it knows the other one",
                },
            ),
            RefusalKind::Other => Cause::refused(
                format!("{} refused the connection: {reason}", self.remote),
                "the server's log says more",
            ),
        }
    }

    fn message_refused(&self, refusal: &Refusal) -> Cause {
        let text = format!(
            "the message to {} was refused: {}",
            self.options.url, refusal.reason
        );
        match refusal.kind {
            RefusalKind::Authentication => {
                Cause::refused(format!("{text}. {}", self.who()), self.credentials())
            }
            _ => Cause::refused(
                text,
                "check topic, path or address; the bytes above are those of the refusal",
            ),
        }
    }

    fn who(&self) -> String {
        let id = &self.options.client_id;
        match (&self.options.login, self.scheme().protocol()) {
            (Some(login), _) => format!("User {:?}, client id {id:?}", login.user),
            (None, Protocol::Mqtt | Protocol::Amqp) => format!("No user, client id {id:?}"),
            (None, _) => "No credentials".to_owned(),
        }
    }

    fn credentials(&self) -> &'static str {
        match (&self.options.login, self.scheme().protocol()) {
            (Some(_), _) => "check user and password, and what the server allows them",
            (None, Protocol::Mqtt | Protocol::Amqp) => {
                "give --user and --password, or a certificate with --cert and --key"
            }
            (None, _) => {
                "the resource asks for credentials, which probe can only give as a certificate: --cert and --key"
            }
        }
    }
}
