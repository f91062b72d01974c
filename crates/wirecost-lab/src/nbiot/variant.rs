//! What a change of the endpoints makes of a stack, and which stacks it does not concern.

use wirecost_proto::bare::Transport;
use wirecost_security::Start;
use wirecost_stack::{Application, Channel, Stack};

use super::reporter::Before;
use wirecost_scenario::options::what_if::WhatIf;

/// The endpoints of one curve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variant {
    /// The stack that runs.
    pub(super) stack: Stack,
    /// How the connection of a report starts.
    pub(super) start: Start,
    /// What a device has from before its report.
    pub(super) before: Before,
    /// Whether TCP sends data in its SYN (RFC 7413).
    pub(super) fast_open: bool,
}

impl Variant {
    /// The endpoints of `stack`, whose connections start by `start`, with a change.
    ///
    /// # Errors
    /// Why the stack cannot run so, as a sentence.
    pub(super) fn from_stack(stack: Stack, start: Start, what_if: Option<WhatIf>) -> Result<Self, String> {
        let base = Self {
            stack,
            start,
            before: Before::Nothing,
            fast_open: false,
        };
        let variant = match what_if {
            Some(WhatIf::PersistentTcp) => Self {
                // How the kept connection started does not matter to a report.
                start: Start::Cold,
                before: Before::Connection,
                ..base.on_stream("there is no connection to keep")?
            },
            Some(WhatIf::FastOpen) => Self {
                fast_open: true,
                ..base.on_stream("Fast Open is an option of TCP (RFC 7413)")?
            },
            Some(WhatIf::Resumed) => base.starting(Start::Resumed)?,
            Some(WhatIf::ZeroRtt) => base.starting(Start::ZeroRtt)?,
            Some(WhatIf::Oscore) => base.with_oscore()?,
            Some(WhatIf::NoSecurity) => base.without_security()?,
            _ => base,
        };
        // After the change: without security, for example, there is no session that could be resumed.
        if let Some(why) = variant.stack.cannot_start(variant.start) {
            return Err(why);
        }
        Ok(match variant.start {
            Start::Cold => variant,
            Start::Resumed | Start::ZeroRtt => Self {
                before: Before::Ticket,
                ..variant
            },
            Start::Edhoc | Start::EdhocByValue => {
                return Err(format!(
                    "a cell of NB-IoT has no handshake of EDHOC yet, so that {} cannot start {}",
                    variant.stack, variant.start
                ));
            }
        })
    }

    fn on_stream(self, why: &str) -> Result<Self, String> {
        match self.stack.transport() {
            Transport::Stream => Ok(self),
            Transport::Datagram => Err(format!("{} runs over UDP: {why}", self.stack)),
        }
    }

    fn starting(self, start: Start) -> Result<Self, String> {
        if self.start == start {
            return Err(format!("{} starts {start} without the change", self.stack));
        }
        Ok(Self { start, ..self })
    }

    fn with_oscore(self) -> Result<Self, String> {
        let stack = self.stack;
        if !stack.application.can_run_over(Channel::Oscore) {
            return Err(format!("{stack} is not CoAP, which OSCORE protects (RFC 8613)"));
        }
        if stack.channel == Channel::Oscore {
            return Err(format!("{stack} has OSCORE without the change"));
        }
        Ok(self.on_channel(Channel::Oscore))
    }

    fn without_security(self) -> Result<Self, String> {
        let stack = self.stack;
        if stack.application == Application::Http3 {
            return Err(format!("{stack} has no form without TLS (RFC 9114)"));
        }
        if stack.channel == Channel::Plain {
            return Err(format!("{stack} has no security without the change"));
        }
        Ok(self.on_channel(Channel::Plain))
    }

    /// On another channel, which has no handshake.
    const fn on_channel(self, channel: Channel) -> Self {
        Self {
            stack: Stack {
                channel,
                ..self.stack
            },
            start: Start::Cold,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(stack: &str, what_if: WhatIf) -> Option<String> {
        let stack = stack.parse().expect("a stack");
        Variant::from_stack(stack, Start::Cold, Some(what_if)).err()
    }

    #[test]
    fn a_change_that_does_not_concern_a_stack_says_why() {
        let refused = [
            ("coap-con", WhatIf::PersistentTcp, "runs over UDP: there is no"),
            ("udp", WhatIf::FastOpen, "runs over UDP: Fast Open"),
            ("mqtt-qos1", WhatIf::Resumed, "no handshake"),
            ("coap-con+dtls1.3", WhatIf::Resumed, "resum"),
            ("mqtt-qos1+tls1.2", WhatIf::ZeroRtt, "TLS 1.2 has no 0-RTT"),
            ("mqtt-qos1", WhatIf::Oscore, "is not CoAP"),
            ("coap-con+oscore", WhatIf::Oscore, "without the change"),
            ("tcp", WhatIf::NoSecurity, "no security"),
            ("http3", WhatIf::NoSecurity, "no form without TLS"),
        ];
        for (stack, what_if, why) in refused {
            let reason = reason(stack, what_if).expect(stack);
            assert!(reason.starts_with(stack) && reason.contains(why), "{reason}");
        }
    }

    #[test]
    fn a_change_of_security_keeps_the_application() {
        let stack = "coap-con+dtls1.2-psk".parse().expect("a stack");
        let named =
            |what_if| Variant::from_stack(stack, Start::Cold, Some(what_if)).map(|it| it.stack.to_string());
        assert_eq!(named(WhatIf::Oscore), Ok("coap-con+oscore".into()));
        assert_eq!(named(WhatIf::NoSecurity), Ok("coap-con".into()));
        assert_eq!(named(WhatIf::EarlyData), Ok("coap-con+dtls1.2-psk".into()));
    }
}
