//! State as few bytes: of a connection at rest most numbers are small or 0.

mod bytes;

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::time::Duration;

use wirecost_proto::Instant;

use crate::Config;
use crate::on_demand::OnDemand;
pub(crate) use bytes::{Packer, Unpacker, Usual};
use bytes::{unzigzag, zigzag};

/// A value that is written as bytes, and read back as it was.
pub(crate) trait Pack: Sized {
    /// Appends it.
    fn pack(&self, out: &mut Packer);

    /// Reads it; `None` if these are not its bytes.
    fn unpack(from: &mut Unpacker<'_>) -> Option<Self>;
}

/// Implements [`Pack`] for a struct by all of its fields, or for an enum by all of its variants, each with a number.
macro_rules! packs {
    (enum $type:ident { $($tag:literal => $variant:ident { $($place:tt: $name:ident),* }),+ $(,)? }) => {
        impl $crate::packed::Pack for $type {
            fn pack(&self, out: &mut $crate::packed::Packer) {
                match self {
                    $(Self::$variant { $($place: $name),* } => {
                        out.byte($tag);
                        $($crate::packed::Pack::pack($name, out);)*
                    })+
                }
            }

            fn unpack(from: &mut $crate::packed::Unpacker<'_>) -> Option<Self> {
                let tag: u8 = $crate::packed::Pack::unpack(from)?;
                Some(match tag {
                    $($tag => Self::$variant { $($place: $crate::packed::Pack::unpack(from)?),* },)+
                    _ => return None,
                })
            }
        }
    };
    ($type:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::packed::Pack for $type {
            fn pack(&self, out: &mut $crate::packed::Packer) {
                let Self { $($field),+ } = self;
                $($crate::packed::Pack::pack($field, out);)+
            }

            fn unpack(from: &mut $crate::packed::Unpacker<'_>) -> Option<Self> {
                Some(Self { $($field: $crate::packed::Pack::unpack(from)?),+ })
            }
        }
    };
}
pub(crate) use packs;

impl Pack for u8 {
    fn pack(&self, out: &mut Packer) {
        out.byte(*self);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        from.byte()
    }
}

/// It is the number after it that is written: "none" is often the largest number.
impl Pack for u64 {
    fn pack(&self, out: &mut Packer) {
        out.number(self.wrapping_add(1));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some(from.number()?.wrapping_sub(1))
    }
}

/// As [`u64`], so that its largest number is as short as 0.
impl Pack for u32 {
    fn pack(&self, out: &mut Packer) {
        u64::from(self.wrapping_add(1)).wrapping_sub(1).pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let next = Self::try_from(u64::unpack(from)?.wrapping_add(1)).ok()?;
        Some(next.wrapping_sub(1))
    }
}

impl Pack for u16 {
    fn pack(&self, out: &mut Packer) {
        u64::from(*self).pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Self::try_from(u64::unpack(from)?).ok()
    }
}

impl Pack for usize {
    fn pack(&self, out: &mut Packer) {
        (*self as u64).pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Self::try_from(u64::unpack(from)?).ok()
    }
}

/// The sign in the lowest bit.
impl Pack for i64 {
    fn pack(&self, out: &mut Packer) {
        zigzag(*self).pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some(unzigzag(u64::unpack(from)?))
    }
}

impl Pack for bool {
    fn pack(&self, out: &mut Packer) {
        out.byte(u8::from(*self));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some(from.byte()? != 0)
    }
}

/// As [`u64`]: the last instant, which is often "none", is 0.
impl Pack for Instant {
    fn pack(&self, out: &mut Packer) {
        self.as_nanos().wrapping_add(1).pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some(Self::from_nanos(u64::unpack(from)?.wrapping_sub(1)))
    }
}

impl Pack for Duration {
    fn pack(&self, out: &mut Packer) {
        self.as_secs().pack(out);
        self.subsec_nanos().pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let (seconds, nanos) = (u64::unpack(from)?, u32::unpack(from)?);
        (nanos < 1_000_000_000).then(|| Self::new(seconds, nanos))
    }
}

impl<T: Pack> Pack for Option<T> {
    fn pack(&self, out: &mut Packer) {
        self.is_some().pack(out);
        if let Some(value) = self {
            value.pack(out);
        }
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        match bool::unpack(from)? {
            true => T::unpack(from).map(Some),
            false => Some(None),
        }
    }
}

impl<A: Pack, B: Pack> Pack for (A, B) {
    fn pack(&self, out: &mut Packer) {
        self.0.pack(out);
        self.1.pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some((A::unpack(from)?, B::unpack(from)?))
    }
}

impl<T: Pack> Pack for [T; 3] {
    fn pack(&self, out: &mut Packer) {
        self.iter().for_each(|value| value.pack(out));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some([T::unpack(from)?, T::unpack(from)?, T::unpack(from)?])
    }
}

/// The connection is packed while it has none.
impl<T> Pack for OnDemand<T> {
    fn pack(&self, _: &mut Packer) {}

    fn unpack(_: &mut Unpacker<'_>) -> Option<Self> {
        Some(Self::NONE)
    }
}

/// As [`OnDemand`].
impl<T> Pack for VecDeque<T> {
    fn pack(&self, _: &mut Packer) {}

    fn unpack(_: &mut Unpacker<'_>) -> Option<Self> {
        Some(Self::new())
    }
}

/// Shared by all connections of a host.
impl Pack for Arc<Config> {
    fn pack(&self, _: &mut Packer) {}

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some(Self::clone(&from.usual.config))
    }
}

#[cfg(test)]
mod tests;
