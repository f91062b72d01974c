//! Enums whose values have names: each value and its name once.

use alloc::borrow::ToOwned;
use alloc::string::String;

/// A text that names no value of an enum.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown value {text:?}, expected one of {}", names.join(", "))]
pub struct NoSuchName {
    text: String,
    names: &'static [&'static str],
}

impl NoSuchName {
    /// The error of a text that is none of these names.
    pub fn new(text: &str, names: &'static [&'static str]) -> Self {
        Self {
            text: text.to_owned(),
            names,
        }
    }
}

/// Declares an enum whose values have names in files, flags or output. It has `ALL` and `NAMES` in the order of the declaration,
/// `name` and `by_name`, and is displayed and parsed by its name. It must be `Copy`.
///
/// ```
/// wirecost_proto::named! {
///     /// A side of a coin.
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     pub enum Side {
///         /// The one with the head.
///         Heads => "heads",
///         /// The other one.
///         Tails => "tails",
///     }
/// }
/// assert_eq!(Side::NAMES, ["heads", "tails"]);
/// assert_eq!(Side::by_name("tails"), Some(Side::Tails));
/// assert_eq!(Side::ALL.map(Side::name), Side::NAMES);
/// assert_eq!(format!("{:>6}", Side::Heads), " heads");
/// ```
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $scope:vis enum $enum:ident {
        $($(#[$of:meta])* $value:ident => $name:literal,)+
    }) => {
        $(#[$meta])*
        $scope enum $enum {
            $($(#[$of])* $value,)+
        }

        #[allow(dead_code, reason = "each enum has all of these, also where one of them is not called")]
        impl $enum {
            /// Every value, in the order of the declaration.
            $scope const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// The name of each, in the same order.
            $scope const NAMES: [&'static str; Self::ALL.len()] = [$($name),+];

            /// Its name.
            $scope const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }

            /// The value of a name.
            $scope fn by_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.name() == name)
            }
        }

        impl ::core::fmt::Display for $enum {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::core::str::FromStr for $enum {
            type Err = $crate::NoSuchName;

            fn from_str(text: &str) -> Result<Self, $crate::NoSuchName> {
                Self::by_name(text).ok_or_else(|| $crate::NoSuchName::new(text, &Self::NAMES))
            }
        }
    };
}
