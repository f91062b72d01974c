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
    /// The value.
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

impl Form for bool {
    type Value = Self;
    const KIND: Kind = Kind::Flag;

    fn read(text: &str) -> Result<Self, ValueError> {
        table::flag(text)
    }

    fn write(value: &Self) -> Option<Tree> {
        Some(Tree::Bool(*value))
    }
}

impl Form for u64 {
    type Value = Self;
    const KIND: Kind = Kind::Number;

    fn read(text: &str) -> Result<Self, ValueError> {
        table::whole(text)
    }

    fn write(value: &Self) -> Option<Tree> {
        Some(Tree::number(*value))
    }
}

impl Form for u32 {
    type Value = Self;
    const KIND: Kind = Kind::Count;

    fn read(text: &str) -> Result<Self, ValueError> {
        table::whole(text)
    }

    fn write(value: &Self) -> Option<Tree> {
        Some(Tree::number(u64::from(*value)))
    }
}

impl Form for Duration {
    type Value = Self;
    const KIND: Kind = Kind::Time;

    fn read(text: &str) -> Result<Self, ValueError> {
        table::time(text)
    }

    fn write(value: &Self) -> Option<Tree> {
        Some(Tree::text(DisplayDuration(*value)))
    }
}

impl Form for String {
    type Value = Self;
    const KIND: Kind = Kind::Text;

    fn read(text: &str) -> Result<Self, ValueError> {
        table::text(text)
    }

    fn write(value: &Self) -> Option<Tree> {
        Some(Tree::text(value))
    }
}

impl Form for ByteSize {
    type Value = Self;
    const KIND: Kind = Kind::Size;

    fn read(text: &str) -> Result<Self, ValueError> {
        table::parsed(text)
    }

    fn write(value: &Self) -> Option<Tree> {
        Some(Tree::text(value))
    }
}

impl Form for PathBuf {
    type Value = Self;
    const KIND: Kind = Kind::File;

    fn read(text: &str) -> Result<Self, ValueError> {
        Ok(text.into())
    }

    fn write(value: &Self) -> Option<Tree> {
        Some(Tree::text(value.display()))
    }
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

/// A number from 1 on, which may have a factor: `50k`.
#[derive(Debug)]
pub struct Scaled;

impl Form for Scaled {
    type Value = u32;
    const KIND: Kind = Kind::Scaled;

    fn read(text: &str) -> Result<u32, ValueError> {
        table::count(text)
    }

    fn write(value: &u32) -> Option<Tree> {
        u32::write(value)
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

    /// Its default.
    fn default() -> Value<Self>;
}

/// How an option that several commands have is read and written.
pub type FormOf<C> = <C as SharedRow>::Form;
/// The value of an option that several commands have.
pub type Value<C> = <FormOf<C> as Form>::Value;

/// Whole seconds.
#[derive(Debug)]
pub struct Seconds;

impl Form for Seconds {
    type Value = u16;
    const KIND: Kind = Kind::Time;

    fn read(text: &str) -> Result<u16, ValueError> {
        table::keep_alive(text)
    }

    fn write(value: &u16) -> Option<Tree> {
        Some(Tree::text(DisplayDuration(Duration::from_secs((*value).into()))))
    }
}

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
