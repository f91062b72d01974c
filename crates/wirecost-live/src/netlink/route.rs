//! Routes: `RTM_NEWROUTE` (rtnetlink(7)).

use super::Netlink;
use super::address::octets;
use super::link::LOOPBACK;
use super::message::Request;
use std::io;
use std::net::IpAddr;

/// An address prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    /// Its first address.
    pub address: IpAddr,
    /// Its length in bits.
    pub length: u8,
}

/// The action of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// Deliver locally, to any socket bound to the destination.
    Deliver,
    /// Send through an interface, from this source address unless the socket has one.
    Send { index: u32, source: IpAddr },
}

fn request(prefix: Prefix, action: Action) -> Request {
    let (family, destination) = octets(prefix.address);
    let (table, scope, kind) = match action {
        Action::Deliver => (libc::RT_TABLE_LOCAL, libc::RT_SCOPE_HOST, libc::RTN_LOCAL),
        Action::Send { .. } => (libc::RT_TABLE_MAIN, libc::RT_SCOPE_LINK, libc::RTN_UNICAST),
    };
    // struct rtmsg: family, destination and source length, tos, table, protocol, scope, type, flags
    let fixed = [
        family,
        prefix.length,
        0,
        0,
        table,
        libc::RTPROT_STATIC,
        scope,
        kind,
        0,
        0,
        0,
        0,
    ];
    let request = Request::new(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &fixed)
        .attribute(libc::RTA_DST, &destination);
    match action {
        // As the kernel's own local routes have it: what is local passes through lo.
        Action::Deliver => request.number(libc::RTA_OIF, LOOPBACK),
        Action::Send { index, source } => request
            .number(libc::RTA_OIF, index)
            // Without it the kernel could choose the address of another interface.
            .attribute(libc::RTA_PREFSRC, &octets(source).1),
    }
}

impl Netlink {
    /// Makes every address of `prefix` local (`AnyIP`), so that a socket may bind to any of them.
    ///
    /// # Errors
    /// EPERM without CAP_NET_ADMIN; EEXIST for a route that exists.
    pub(crate) fn deliver_locally(&self, prefix: Prefix) -> io::Result<()> {
        self.ask(request(prefix, Action::Deliver)).map(drop)
    }

    /// Sends packets for `prefix` through the interface `index`, from `source` if the socket has no address.
    ///
    /// # Errors
    /// EPERM without CAP_NET_ADMIN; EINVAL if `source` is not local.
    pub(crate) fn add_route(&self, prefix: Prefix, index: u32, source: IpAddr) -> io::Result<()> {
        self.ask(request(prefix, Action::Send { index, source }))
            .map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn encodes_an_any_ip_route() {
        let prefix = Prefix {
            address: IpAddr::from([10, 77, 0, 0]),
            length: 16,
        };
        let after_header = [
            2, 16, 0, 0, 255, 4, 254, 2, 0, 0, 0,
            0, // rtmsg: table local, static, scope host, type local
            8, 0, 1, 0, 10, 77, 0, 0, // RTA_DST
            8, 0, 4, 0, 1, 0, 0, 0, // RTA_OIF: lo
        ];
        assert_eq!(request(prefix, Action::Deliver).finish(1)[16..], after_header);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn encodes_a_route_with_its_source() {
        let prefix = Prefix {
            address: IpAddr::from([10, 78, 0, 0]),
            length: 16,
        };
        let action = Action::Send {
            index: 2,
            source: IpAddr::from([10, 77, 0, 1]),
        };
        let after_header = [
            2, 16, 0, 0, 254, 4, 253, 1, 0, 0, 0, 0, // rtmsg: table main, static, scope link, unicast
            8, 0, 1, 0, 10, 78, 0, 0, // RTA_DST
            8, 0, 4, 0, 2, 0, 0, 0, // RTA_OIF
            8, 0, 7, 0, 10, 77, 0, 1, // RTA_PREFSRC
        ];
        assert_eq!(request(prefix, action).finish(1)[16..], after_header);
    }
}
