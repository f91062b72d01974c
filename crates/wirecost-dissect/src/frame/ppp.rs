//! PPP (RFC 1661, RFC 1662) and its carriers.

use super::{CUT, NoPacket, Other, Unread, after_ether_type, behind, u16_at};

/// Numbers of IANA's registry "PPP DLL Protocol Numbers".
mod protocol {
    pub(super) const IPV4: u16 = 0x0021;
    pub(super) const IPV6: u16 = 0x0057;
}

/// Address and control of a frame (RFC 1662 section 3.1).
const ADDRESS_AND_CONTROL: [u8; 2] = [0xff, 3];

/// The packet in a PPP frame, with or without address and control.
pub(super) fn packet(frame: &[u8]) -> Result<&[u8], NoPacket> {
    let frame = frame.strip_prefix(&ADDRESS_AND_CONTROL).unwrap_or(frame);
    // RFC 1661 section 2: the last byte of a number is odd, the ones before it are even.
    let (number, rest) = match *frame {
        [first, ..] if first & 1 == 1 => (u16::from(first), behind(frame, 1)?),
        _ => (u16_at(frame, 0)?, behind(frame, 2)?),
    };
    match number {
        protocol::IPV4 | protocol::IPV6 => Ok(rest),
        // RFC 1661 section 2: network control protocols, then link control and authentication.
        0x8000..=0xbfff => Err(Other("PPP network control")),
        0xc000..=0xffff => Err(Other("PPP link control")),
        _ => Err(Unread(format!("PPP frames of protocol 0x{number:04x}").into())),
    }
}

/// The packet in a frame on a serial line: of PPP, or of Cisco's HDLC, which has an EtherType.
pub(super) fn serial(frame: &[u8]) -> Result<&[u8], NoPacket> {
    match frame {
        [0x0f | 0x8f, 0, ..] => after_ether_type(frame, 2),
        _ => packet(frame),
    }
}

/// The packet in a PPPoE session (RFC 2516 section 4): version, type, code, session and length, then PPP.
pub(super) fn of_session(frame: &[u8]) -> Result<&[u8], NoPacket> {
    match frame {
        [_, 0, ..] => packet(behind(frame, 6)?),
        [_, _, ..] => Err(Other("PPPoE discovery")),
        _ => Err(CUT),
    }
}

/// The packet in a frame whose address is replaced by the direction.
pub(super) fn behind_direction(frame: &[u8]) -> Result<&[u8], NoPacket> {
    match frame {
        [0 | 1, 3, rest @ ..] => packet(rest),
        _ => packet(frame),
    }
}
