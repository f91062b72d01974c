//! Offloads of an interface, by the ethtool ioctl.

use crate::sys;
use std::io;
use std::os::fd::AsFd;

// linux/ethtool.h
const SET_RX_CHECKSUM: u32 = 0x15;
const SET_TX_CHECKSUM: u32 = 0x17;
const SET_SCATTER_GATHER: u32 = 0x19;
const SET_TCP_SEGMENTATION: u32 = 0x1f;
const SET_UDP_FRAGMENTATION: u32 = 0x22;
const SET_GENERIC_SEGMENTATION: u32 = 0x24;
const SET_FLAGS: u32 = 0x26; // large receive offload, VLAN tags and the like
const SET_GENERIC_RECEIVE: u32 = 0x2c;

/// Turns off every offload of the interface `name` in the calling thread's namespace, so that packets above the MTU and
/// packets without a checksum never reach the link. Offloads that the interface does not know are off already.
///
/// # Errors
/// EPERM without CAP_NET_ADMIN, ENODEV if there is no such interface.
pub(crate) fn disable_offloads(name: &str) -> io::Result<()> {
    // SIOCETHTOOL goes over any socket; its family does not matter (netdevice(7)).
    let socket = sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    let features = [
        SET_GENERIC_RECEIVE,
        SET_GENERIC_SEGMENTATION,
        SET_TCP_SEGMENTATION,
        SET_UDP_FRAGMENTATION,
        SET_SCATTER_GATHER,
        SET_TX_CHECKSUM,
        SET_RX_CHECKSUM,
        SET_FLAGS,
    ];
    for feature in features {
        match sys::set_ethtool(socket.as_fd(), name, feature, 0) {
            Err(error) if !is_unknown(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn is_unknown(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EINVAL))
}
