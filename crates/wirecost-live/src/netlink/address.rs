//! Addresses of an interface: `RTM_NEWADDR` (rtnetlink(7)).

use super::Netlink;
use super::message::Request;
use std::io;
use std::net::IpAddr;

/// The bytes of `address` on the wire, and its family.
pub(super) fn octets(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (libc::AF_INET as u8, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6 as u8, address.octets().to_vec()),
    }
}

fn request(index: u32, address: IpAddr) -> Request {
    let (family, octets) = octets(address);
    // struct ifaddrmsg: family, prefix length, flags, scope (0: universe), index
    let mut fixed = [family, octets.len() as u8 * 8, 0, 0, 0, 0, 0, 0];
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    // Without NODAD an IPv6 address would stay tentative for a second (RFC 4862 section 5.4).
    Request::new(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &fixed)
        .attribute(libc::IFA_LOCAL, &octets)
        .attribute(libc::IFA_ADDRESS, &octets)
        .number(libc::IFA_FLAGS, libc::IFA_F_NODAD)
}

impl Netlink {
    /// Gives the interface a host address (/32 or /128), without duplicate address detection.
    ///
    /// # Errors
    /// EPERM without CAP_NET_ADMIN; EEXIST if it has the address already.
    pub(crate) fn add_address(&self, index: u32, address: IpAddr) -> io::Result<()> {
        self.ask(request(index, address)).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn encodes_a_host_address() {
        let bytes = request(5, IpAddr::from([10, 77, 0, 1])).finish(1);
        let after_header = [
            2, 32, 0, 0, 5, 0, 0, 0, // ifaddrmsg
            8, 0, 2, 0, 10, 77, 0, 1, // IFA_LOCAL
            8, 0, 1, 0, 10, 77, 0, 1, // IFA_ADDRESS
            8, 0, 8, 0, 2, 0, 0, 0, // IFA_FLAGS: NODAD
        ];
        assert_eq!(bytes[16..], after_header);
    }
}
