//! Looks up the addresses of a host.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use std::{io, thread};

use wirecost_live::patience::Patience;
use wirecost_stack::url::Family;

/// Why a host has no address.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// The resolver refused.
    #[error("cannot resolve {host:?}: {reason}")]
    Failed {
        /// The name.
        host: String,
        /// The resolver's words.
        reason: String,
    },
    /// The resolver did not answer.
    #[error("no answer from the resolver for {host:?} within {} s", waited.as_secs())]
    TimedOut {
        /// The name.
        host: String,
        /// The time-out.
        waited: Duration,
    },
    /// The host has addresses, but none of the IP version that you asked for.
    #[error("{host:?} has no address of {family}")]
    Family {
        /// The name.
        host: String,
        /// `IPv4` or `IPv6`.
        family: &'static str,
    },
}

/// The addresses of `host`, the best first. There is at least one.
///
/// # Errors
/// [`ResolveError`] says whether the name, the resolver or the IP version is the cause.
pub fn resolve(
    host: &str,
    port: u16,
    family: Option<Family>,
    patience: Patience<'_>,
) -> Result<Vec<SocketAddr>, ResolveError> {
    let all = match host.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, port)],
        Err(_) => look_up(host, port, patience)?,
    };
    let is_wanted = |address: &SocketAddr| match family {
        None => true,
        Some(Family::V4) => address.is_ipv4(),
        Some(Family::V6) => address.is_ipv6(),
    };
    let wanted: Vec<SocketAddr> = all.into_iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        return Err(ResolveError::Family {
            host: host.to_owned(),
            family: if family == Some(Family::V6) {
                "IPv6"
            } else {
                "IPv4"
            },
        });
    }
    Ok(wanted)
}

/// Asks the resolver of the system. Its call cannot be cancelled, so that a thread that waits too long is left running.
fn look_up(host: &str, port: u16, patience: Patience<'_>) -> Result<Vec<SocketAddr>, ResolveError> {
    let (sender, receiver) = mpsc::channel();
    let name = host.to_owned();
    thread::spawn(move || {
        let found: io::Result<Vec<SocketAddr>> =
            (name.as_str(), port).to_socket_addrs().map(Iterator::collect);
        // The receiver is gone after a time-out.
        drop(sender.send(found));
    });
    let answer = patience.wait(|slice| match receiver.recv_timeout(slice) {
        Err(RecvTimeoutError::Timeout) => None,
        answer => Some(answer),
    });
    match answer {
        Some(Ok(Ok(addresses))) => Ok(addresses),
        Some(Ok(Err(error))) => Err(ResolveError::Failed {
            host: host.to_owned(),
            reason: words(&error),
        }),
        None | Some(Err(_)) => Err(ResolveError::TimedOut {
            host: host.to_owned(),
            waited: patience.most(),
        }),
    }
}

/// The resolver's message without the prefix of the standard library.
fn words(error: &io::Error) -> String {
    let text = error.to_string();
    let bare = text.rsplit(": ").next().unwrap_or(&text);
    bare.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Patience<'_> = Patience::at_most(Duration::from_secs(1));

    #[test]
    fn an_address_needs_no_resolver() {
        let found = resolve("127.0.0.1", 1_883, None, SECOND).expect("an address");
        assert_eq!(found, ["127.0.0.1:1883".parse().expect("an address")]);
        let error = resolve("127.0.0.1", 1_883, Some(Family::V6), SECOND).expect_err("no IPv6");
        assert_eq!(error.to_string(), "\"127.0.0.1\" has no address of IPv6");
    }

    #[test]
    fn a_name_that_cannot_be_looked_up_is_named() {
        // RFC 6761, section 6.4: no resolver knows it.
        let error = resolve(
            "host.invalid",
            1,
            None,
            Patience::at_most(Duration::from_secs(20)),
        )
        .expect_err("no such name");
        assert!(error.to_string().contains("\"host.invalid\""), "{error}");
    }
}
