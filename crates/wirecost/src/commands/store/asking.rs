//! TLS as PostgreSQL has it: the client asks for it by an SSLRequest, and it begins when the server answers S (documentation of the
//! protocol, section "SSL Session Encryption").

use std::convert::Infallible;

use wirecost_proto::{Buffer, Cause, Endpoint, FlowId, Input, Instant, Layer, Output, Peer, PeerText, Phase};
use wirecost_security::layer::{Event, Fault};
use wirecost_security::tls;

/// The length, and the code of the request.
const SSL_REQUEST: [u8; 8] = *b"\x00\x00\x00\x08\x04\xd2\x16\x2f";

/// A client within TLS that the server is asked for.
pub(super) struct Asking<E: Endpoint> {
    client: tls::Client<E>,
    state: State,
}

enum State {
    /// There is no flow, or it is the client's.
    Passing,
    Asking(FlowId, Peer),
    Asked(FlowId, Peer),
    Refused(FlowId, String),
    Closing(FlowId),
}

impl<E: Endpoint> Asking<E> {
    /// Asks on each flow.
    pub(super) const fn new(client: tls::Client<E>) -> Self {
        let state = State::Passing;
        Self { client, state }
    }

    /// The state after the server's answer, or `None` where TLS begins. What follows the answer was not sent within TLS, and anybody can
    /// have put it there.
    fn refusal(answer: &[u8]) -> Option<&'static str> {
        match answer {
            b"S" => None,
            [b'S', ..] => Some("the server sends more than its answer before TLS begins"),
            [b'N', ..] => Some("the server has no TLS"),
            _ => Some("the server does not answer a request for TLS"),
        }
    }
}

impl<E: Endpoint<Error = Infallible>> Endpoint for Asking<E> {
    type Command = E::Command;
    type Event = Event<E::Event>;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, E::Command>, now: Instant) -> Result<(), Infallible> {
        match (&self.state, input) {
            (_, Input::Opened { flow, peer }) => self.state = State::Asking(flow, peer),
            (&State::Asked(flow, peer), Input::Received { bytes, .. }) => match Self::refusal(bytes) {
                // Never without TLS: an attacker between both could answer N, and would read what follows.
                Some(why) => self.state = State::Refused(flow, why.to_owned()),
                None => {
                    self.state = State::Passing;
                    return self.client.handle_input(Input::Opened { flow, peer }, now);
                }
            },
            (&(State::Asking(flow, _) | State::Asked(flow, _)), Input::PeerClosed { .. }) => {
                let why = "the server closed the connection when it was asked for TLS";
                self.state = State::Refused(flow, why.to_owned());
            }
            (&(State::Asking(flow, _) | State::Asked(flow, _)), Input::Reset { reason, .. }) => {
                self.state = State::Refused(flow, reason.to_string());
            }
            // The client within has not seen this flow: what comes on it now would be bytes of no connection to it.
            (State::Refused(..) | State::Closing(_), Input::Received { .. } | Input::PeerClosed { .. }) => {}
            (_, input) => return self.client.handle_input(input, now),
        }
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Self::Event> {
        match std::mem::replace(&mut self.state, State::Passing) {
            State::Asking(flow, peer) => {
                self.state = State::Asked(flow, peer);
                out.push(&SSL_REQUEST, Layer::Security, Phase::Connect, Cause::Original);
                return Output::Transmit { flow };
            }
            State::Refused(flow, why) => {
                self.state = State::Closing(flow);
                let fault = Fault::Other(PeerText::new(&why));
                return Output::Event(Event::Failed { flow, fault });
            }
            State::Closing(flow) => return Output::Close { flow, reset: false },
            asked @ State::Asked(..) => self.state = asked,
            State::Passing => {}
        }
        self.client.poll_output(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirecost_live::Clock;
    use wirecost_store::Store;
    use wirecost_store::client::{Client, Config};

    const FLOW: FlowId = FlowId(0);

    /// What the client sends after the answer: its first byte, or why there is none.
    fn after(answer: &[u8]) -> Result<u8, String> {
        let options = tls::ClientOptions::new(Clock::start().epoch(), tls::Trust::Anyone, "localhost");
        let config = tls::ClientConfig::new(options).expect("a configuration");
        let client = Client::new(Config::new(Store::Postgres, "readings", "device"));
        let mut asking = Asking::new(tls::Client::new(config, client));
        let peer = "192.0.2.1:5432".parse().expect("an address");
        let opened = Input::Opened { flow: FLOW, peer };
        asking.handle_input(opened, Instant::START).expect("no error");
        let mut out = Buffer::new();
        assert_eq!(asking.poll_output(&mut out), Output::Transmit { flow: FLOW });
        assert_eq!(out.bytes(), SSL_REQUEST);
        assert_eq!(asking.poll_output(&mut out), Output::Timeout(None));
        let received = Input::Received {
            flow: FLOW,
            bytes: answer,
        };
        asking.handle_input(received, Instant::START).expect("no error");
        let mut out = Buffer::new();
        match asking.poll_output(&mut out) {
            Output::Transmit { .. } => Ok(out.bytes()[0]),
            Output::Event(Event::Failed { fault, .. }) => {
                let close = Output::Close {
                    flow: FLOW,
                    reset: false,
                };
                assert_eq!(asking.poll_output(&mut out), close);
                Err(fault.to_string())
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn tls_begins_after_the_answer_s_alone() {
        // A handshake record (RFC 8446, section 5.1).
        assert_eq!(after(b"S"), Ok(22));
        assert_eq!(after(b"N"), Err("the server has no TLS".to_owned()));
        assert!(after(b"SR\0\0\0\x08").is_err_and(|why| why.contains("more than its answer")));
        assert!(after(b"E\0\0\0\x08").is_err());
    }
}
