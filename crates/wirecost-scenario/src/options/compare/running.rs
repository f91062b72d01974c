//! A server that runs already, as the target of a comparison.

use std::path::PathBuf;

use wirecost_stack::url::{Scheme, Url};
use wirecost_stack::{Channel, Stack};

use super::Options;
use crate::options::refusal::{About, Checked, refuse};

/// A server that wirecost has not started.
#[derive(Clone, Debug, PartialEq)]
pub struct Running {
    /// Where it is, and its protocol.
    pub url: Url,
    /// How devices reach it.
    pub path: ServerPath,
    /// A file with the CA certificates to trust; `None` takes those of the system.
    pub ca: Option<PathBuf>,
    /// Whether any certificate is accepted.
    pub insecure: bool,
    /// Whether the user has consented to load any target. It is not part of the scenario.
    pub is_permitted: bool,
}

wirecost_proto::named! {
    /// How devices reach a server that runs already. Named as in scenarios and results.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ServerPath {
        /// On the network of this machine, without an emulated link.
        Real => "real",
        /// Over an emulated link, with a relay at its end.
        Relay => "relay",
    }
}

impl Running {
    /// The server at a URL, on the real path, which must show a certificate of a trusted authority.
    pub const fn new(url: Url) -> Self {
        Self {
            url,
            path: ServerPath::Real,
            ca: None,
            insecure: false,
            is_permitted: false,
        }
    }

    /// The server's port for a stack.
    ///
    /// # Errors
    /// Why the stack cannot be measured with this server.
    pub fn port_of(&self, stack: Stack) -> Result<u16, String> {
        let url = &self.url;
        if stack.channel == Channel::Oscore || stack.channel.has_psk() {
            return Err(format!("{stack} needs a key that {url} and wirecost share"));
        }
        if self.path == ServerPath::Real && !stack.is_answered() {
            return Err(format!(
                "{stack} has no answers, and on the real path the arrival of a message is not seen: add a link, for a \
                 relay behind it"
            ));
        }
        if url.names(stack)
            || stack.transport() != url.scheme.stack().transport() && self.is_h3_of_https(stack)
        {
            return Ok(url.port);
        }
        let other = url.scheme.counterpart();
        let elsewhere = Url {
            scheme: other,
            port: other.port(),
            ..url.clone()
        };
        if !elsewhere.names(stack) {
            return Err(format!("{url} does not name a server of {stack}"));
        }
        // With the registered port the counterpart has its registered one. Of another port nothing follows.
        if url.port != url.scheme.port() {
            let at = url.by(other);
            return Err(format!(
                "the port of {stack} is not known, because {url} names another one than the registered one: compare with \
                 the target {at} and its port"
            ));
        }
        Ok(other.port())
    }

    /// HTTP/3 has the port number of HTTPS (RFC 9114, section 3.1.2).
    fn is_h3_of_https(&self, stack: Stack) -> bool {
        let h3 = Url {
            scheme: Scheme::H3,
            ..self.url.clone()
        };
        self.url.scheme == Scheme::Https && h3.names(stack)
    }
}

impl Options {
    /// The target's name in results: of a server that wirecost starts, or the URL without user and password.
    pub fn target_name(&self) -> String {
        match &self.running {
            Some(running) => running.url.to_string(),
            None => self.target.to_string(),
        }
    }

    /// The path of a server that runs already; `None` if wirecost starts the server.
    pub fn path(&self) -> Option<ServerPath> {
        self.running.as_ref().map(|running| running.path)
    }

    /// The port of a stack's server.
    ///
    /// # Errors
    /// Why the target does not have one.
    pub(crate) fn port_of(&self, stack: Stack) -> Result<u16, String> {
        match &self.running {
            Some(running) => running.port_of(stack),
            None if self.target.speaks(stack) => Ok(stack.port()),
            None => Err(format!("{} does not speak {stack}", self.target)),
        }
    }

    /// Checks what only a server that runs already limits.
    pub(super) fn validate_running(&self) -> Checked {
        let Some(running) = &self.running else {
            return Ok(());
        };
        let url = &running.url;
        // A name may have addresses of both kinds, and the resolver chooses.
        let is_unnamed = self.ipv6 && url.host.parse::<std::net::Ipv6Addr>().is_err();
        let why = || format!("{url} says where the target is: name an IPv6 address in it, like mqtt://[::1]");
        refuse(About::Key("ipv6"), is_unnamed.then(why))?;
        let is_real = running.path == ServerPath::Real;
        for (key, is_asked) in [("one_cpu", self.one_cpu), ("packet_path", self.medium.is_some())] {
            let why = "it belongs to an emulated link: add a link, or leave it out";
            refuse(About::Key(key), (is_real && is_asked).then_some(why))?;
        }
        let has_link = self.links != [wirecost_link::LinkConfig::default()];
        let why = "the real path has no emulated link: leave out path, or the link";
        refuse(About::Key("path"), (is_real && has_link).then_some(why))?;
        let reasons: Vec<String> = self
            .stacks
            .iter()
            .filter_map(|stack| running.port_of(*stack).err())
            .collect();
        // Some stacks that the server does not speak become cells that say why; a run without any other has no figure.
        let is_none_left = reasons.len() == self.stacks.len();
        refuse(
            About::Key("target"),
            reasons.into_iter().next().filter(|_| is_none_left),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(url: &str, stack: &str) -> Result<u16, String> {
        let running = Running::new(url.parse().expect("a URL"));
        running.port_of(stack.parse().expect("a stack"))
    }

    #[test]
    fn a_stack_has_the_port_of_the_url_or_the_registered_one() {
        assert_eq!(port("mqtt://h:1884", "mqtt5-qos2"), Ok(1_884));
        assert_eq!(port("mqtt://h", "mqtt-qos1+tls1.3"), Ok(8_883));
        assert_eq!(port("mqtts://h:8884", "mqtt-qos1+tls1.2"), Ok(8_884));
        assert_eq!(port("https://h:8443", "http3"), Ok(8_443));
        assert_eq!(port("coaps://h", "coap-con+dtls1.3"), Ok(5_684));
        assert_eq!(port("coap://h", "coap-con"), Ok(5_683));
    }

    #[test]
    fn what_the_url_does_not_name_is_refused() {
        for (url, stack) in [
            ("mqtt://h:1884", "mqtt-qos1+tls1.3"),
            ("mqtt://h", "coap-con"),
            ("coap://h", "coap-con+oscore"),
            ("coaps://h", "coap-con+dtls1.2-psk"),
        ] {
            assert!(port(url, stack).is_err(), "{url} {stack}");
        }
    }
}
