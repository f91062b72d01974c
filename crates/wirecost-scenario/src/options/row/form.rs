//! How the values of options are read and written.

use std::fmt::Display;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use wirecost_proto::ByteSize;
use wirecost_proto::units::DisplayDuration;
use wirecost_results::resolved::Tree;
use wirecost_results::value::ValueError;

use super::{Kind, Spec};
use crate::table;

/// How the value of an option is read and written.
pub trait Form {
    /// The type of the option's field.
    type Value;
    /// What it is.
    const KIND: Kind;

    /// Reads it.
    ///
    /// # Errors
    /// The text is no such value.
    fn read(text: &str) -> Result<Self::Value, ValueError>;

    /// Writes it; `None` where there is none.
    fn write(value: &Self::Value) -> Option<Tree>;
}

/// Declares forms: the value of each, its kind, how it is read, and how it is written.
macro_rules! forms {
    ($($(#[doc = $doc:literal] struct)? $form:ident: $value:ty, $kind:expr, $read:expr, |$of:ident| $write:expr;)*) => {
        $(
            $(#[doc = $doc] #[derive(Debug)] pub struct $form;)?

            impl $crate::options::row::Form for $form {
                type Value = $value;
                const KIND: $crate::options::row::Kind = $kind;

                fn read(text: &str) -> Result<$value, ValueError> {
                    $read(text)
                }

                fn write($of: &$value) -> Option<Tree> {
                    Some($write)
                }
            }
        )*
    };
}
pub(crate) use forms;

forms! {
    bool: bool, Kind::Flag, table::flag, |value| Tree::Bool(*value);
    u64: u64, Kind::Number, table::whole, |value| Tree::number(*value);
    u32: u32, Kind::Count, table::whole, |value| Tree::number(u64::from(*value));
    Duration: Duration, Kind::Time, table::time, |value| Tree::text(DisplayDuration(*value));
    String: String, Kind::Text, table::text, |value| Tree::text(value);
    ByteSize: ByteSize, Kind::Size, table::parsed, |value| Tree::text(value);
    PathBuf: PathBuf, Kind::File, |text: &str| Ok(text.into()), |value| Tree::text(value.display());
    /// A number from 1 on, which may have a factor: `50k`.
    struct Scaled: u32, Kind::Scaled, table::count, |value| Tree::number(u64::from(*value));
    /// Whole seconds.
    struct Seconds: u16, Kind::Time, table::keep_alive, |value| Tree::text(DisplayDuration(Duration::from_secs((*value).into())));
}

/// A value that may be missing.
impl<F: Form> Form for Option<F> {
    type Value = Option<F::Value>;
    const KIND: Kind = F::KIND;

    fn read(text: &str) -> Result<Self::Value, ValueError> {
        F::read(text).map(Some)
    }

    fn write(value: &Self::Value) -> Option<Tree> {
        value.as_ref().and_then(F::write)
    }
}

/// A value that reads itself, of no other kind.
#[derive(Debug)]
pub struct Parsed<T>(PhantomData<T>);

impl<T: FromStr<Err: Display> + Display> Form for Parsed<T> {
    type Value = T;
    const KIND: Kind = Kind::Text;

    fn read(text: &str) -> Result<T, ValueError> {
        table::parsed(text)
    }

    fn write(value: &T) -> Option<Tree> {
        Some(Tree::text(value))
    }
}

/// An option that several commands have.
pub trait SharedRow {
    /// How it is read and written.
    type Form: Form;
    /// What it is for.
    const DOC: &'static str;
    /// What is known of it, but for its heading in the help of a command.
    const SPEC: Spec;

    /// What the option is where neither file nor flag names it.
    fn default() -> Value<Self>;
}

/// How an option that several commands have is read and written.
pub type FormOf<C> = <C as SharedRow>::Form;
/// The value of an option that several commands have.
pub type Value<C> = <FormOf<C> as Form>::Value;

/// A value with a name.
pub trait Names: FromStr<Err: Display> + Display {
    /// Every name.
    const NAMES: &'static [&'static str];
}

/// The name of a value.
#[derive(Debug)]
pub struct Named<T>(PhantomData<T>);

impl<T: Names> Form for Named<T> {
    type Value = T;
    const KIND: Kind = Kind::Name(T::NAMES);

    fn read(text: &str) -> Result<T, ValueError> {
        table::parsed(text)
    }

    fn write(value: &T) -> Option<Tree> {
        Some(Tree::text(value))
    }
}
