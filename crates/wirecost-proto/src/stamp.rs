//! The stamp at the front of a payload. It identifies the device and the message, and has the intended send time.

use core::fmt;

/// The first [`Stamp::BYTES`] bytes of a payload, or the whole payload if it is shorter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Front {
    bytes: [u8; Stamp::BYTES],
    len: u8,
}

impl Front {
    /// The front of a payload before its first byte.
    pub const EMPTY: Self = Self {
        bytes: [0; Stamp::BYTES],
        len: 0,
    };

    /// The front of a whole payload.
    pub fn from_payload(payload: &[u8]) -> Self {
        let mut front = Self::EMPTY;
        front.extend(payload);
        front
    }

    /// Adds the next bytes of the payload, as far as they belong to the front.
    pub fn extend(&mut self, more: &[u8]) {
        let have = usize::from(self.len);
        let taken = more.len().min(Stamp::BYTES - have);
        self.bytes[have..have + taken].copy_from_slice(&more[..taken]);
        self.len += taken as u8;
    }

    /// The stamp, if the payload is long enough for one.
    pub fn stamp(&self) -> Option<Stamp> {
        (usize::from(self.len) == Stamp::BYTES).then(|| Stamp::from_bytes(self.bytes))
    }
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Logs do not contain the payloads of devices.
        write!(f, "{} B", self.len)
    }
}

/// The first [`Stamp::BYTES`] of a payload: device, message number and the intended send time, big-endian.
///
/// ```text
/// 0       4        8                        16
/// | device | message | intended time in ns    | the rest of the payload
/// ```
///
/// All times of a load are on one clock, `CLOCK_MONOTONIC`, which all processes of a machine share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The device, from 0.
    pub device: u32,
    /// The number of the message among the device's messages, from 0; it wraps to 0.
    pub message: u32,
    /// The intended send time, in nanoseconds of `CLOCK_MONOTONIC`.
    pub intended_ns: u64,
}

impl Stamp {
    /// Bytes of a stamp; a shorter payload has no stamp.
    pub const BYTES: usize = 16;

    /// The stamp in its encoding at the front of a payload.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let head = (u64::from(self.device) << 32) | u64::from(self.message);
        ((u128::from(head) << 64) | u128::from(self.intended_ns)).to_be_bytes()
    }

    /// The stamp with the mark of a run on its device, or without it if it has one: the device of another run's stamp becomes a
    /// number that hardly any run has.
    #[must_use]
    pub const fn marked(self, mark: u32) -> Self {
        Self {
            device: self.device ^ mark,
            ..self
        }
    }

    /// Writes the stamp over the front of `payload`, unless `payload` is too short.
    pub fn put(self, payload: &mut [u8]) {
        if let Some(front) = payload.first_chunk_mut() {
            *front = self.to_bytes();
        }
    }

    /// The stamp at the front of `payload`, if `payload` is long enough for one.
    pub fn read(payload: &[u8]) -> Option<Self> {
        payload.first_chunk().copied().map(Self::from_bytes)
    }

    const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let number = u128::from_be_bytes(bytes);
        Self {
            device: (number >> 96) as u32,
            message: (number >> 64) as u32,
            intended_ns: number as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp {
        device: 0x0102_0304,
        message: 0x0506_0708,
        intended_ns: 0x090a_0b0c_0d0e_0f10,
    };

    #[test]
    fn a_stamp_is_device_message_and_time_in_network_order() {
        let bytes: [u8; Stamp::BYTES] = core::array::from_fn(|index| index as u8 + 1);
        assert_eq!(STAMP.to_bytes(), bytes);
        assert_eq!(Stamp::from_bytes(bytes), STAMP);
    }

    #[test]
    fn a_stamp_survives_and_a_short_payload_has_none() {
        let mut payload = [0xaa; 20];
        STAMP.put(&mut payload);
        assert_eq!(payload[Stamp::BYTES..], [0xaa; 4]);
        assert_eq!(Stamp::read(&payload), Some(STAMP));
        let mut short = [7; 15];
        STAMP.put(&mut short);
        assert_eq!((short, Stamp::read(&short)), ([7; 15], None));
    }

    #[test]
    fn a_mark_is_taken_away_by_itself_alone() {
        let marked = STAMP.marked(0xdead_beef);
        assert_eq!(marked.marked(0xdead_beef), STAMP);
        assert_ne!(marked.marked(0xdead_bee0), STAMP);
        assert_eq!(STAMP.marked(0), STAMP);
    }

    #[test]
    fn a_front_is_found_however_the_payload_comes() {
        let mut payload = STAMP.to_bytes().to_vec();
        payload.extend([0xff; 20]);
        for cut in 0..payload.len() {
            let mut front = Front::from_payload(&payload[..cut]);
            assert_eq!(front.stamp().is_some(), cut >= Stamp::BYTES);
            front.extend(&payload[cut..]);
            assert_eq!(front.stamp(), Some(STAMP), "cut at {cut}");
        }
    }
}
