//! Typed handles to read settings.

use crate::choice::{
    AppendFsync, AuthClients, BusyScope, CertificateUser, DebugAccess, DisklessLoad, LogFormat,
    LogLevel, LogTimestampFormat, MaxmemoryPolicy, OomScore, PropagationErrorBehavior,
    PubSubDefault, RdbReader, ReclaimPolicy, ShutdownFlags, Supervised, VersionCheck,
};
use crate::live::Settings;
use crate::row::{Kind, Notation, Row};
use crate::value::{ClientsMemory, EventClasses, OutputLimits, SavePoints, Value};
use std::marker::PhantomData;
use std::sync::Arc;

/// Handle to read one setting as a `T`.
///
/// ```
/// let settings = settings::Settings::new();
/// assert_eq!(settings::network::PORT.get(&settings), 6379);
/// ```
pub struct Setting<T> {
    index: usize,
    row: &'static Row,
    reads: PhantomData<fn() -> T>,
}

impl<T> Clone for Setting<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Setting<T> {}

impl<T: Read> Setting<T> {
    /// Returns the handle for the row at an index. In a constant it does not compile if `T` cannot
    /// hold every value.
    pub(crate) const fn at(index: usize, row: &'static Row) -> Self {
        assert!(T::SHAPE.fits(row), "this type cannot hold every value of the setting");
        Setting { index, row, reads: PhantomData }
    }

    /// Returns the value in force. Numbers, choices and yes/no are one relaxed load; texts and
    /// lists take a lock for a moment, so keep them and compare [`Settings::generation`] instead.
    #[inline]
    pub fn get(self, settings: &Settings) -> T {
        T::read(settings, self.index)
    }

    /// Returns the name of the setting.
    pub fn name(self) -> &'static str {
        self.row.name
    }
}

/// Type that a setting can be read as. Implemented here only.
pub trait Read: Sized + private::Sealed {
    #[doc(hidden)]
    const SHAPE: Shape;
    #[doc(hidden)]
    fn read(settings: &Settings, index: usize) -> Self;
}

mod private {
    pub trait Sealed {}
}

/// Rows whose values a type can hold.
#[doc(hidden)]
pub enum Shape {
    YesNo,
    Number { min: i128, max: i128 },
    ClientsMemory,
    OneOf { count: usize },
    AnyOf,
    Text,
    Bytes,
    Words,
    EventClasses,
    OutputLimits,
    SavePoints,
}

impl Shape {
    const fn fits(&self, row: &Row) -> bool {
        match (self, &row.kind) {
            (Shape::Number { min: low, max: high }, Kind::Number { notation, min, max, .. }) => {
                !matches!(notation, Notation::MemoryOrPercent) && *low <= *min && *max <= *high
            }
            (Shape::ClientsMemory, Kind::Number { notation, min, max, .. }) => {
                matches!(notation, Notation::MemoryOrPercent)
                    && *min >= -100
                    && *max <= i64::MAX as i128
            }
            (Shape::OneOf { count }, Kind::OneOf { names, .. }) => *count == names.len(),
            (Shape::YesNo, Kind::YesNo { .. })
            | (Shape::AnyOf, Kind::AnyOf { .. })
            | (
                Shape::Text,
                Kind::Text { .. } | Kind::FileName { .. } | Kind::Directory | Kind::ServerOrNone,
            )
            | (Shape::Bytes, Kind::Bytes)
            | (
                Shape::Words,
                Kind::Addresses { .. } | Kind::Percentiles { .. } | Kind::Numbers { .. },
            )
            | (Shape::EventClasses, Kind::EventClasses)
            | (Shape::OutputLimits, Kind::OutputLimits)
            | (Shape::SavePoints, Kind::SavePoints) => true,
            _ => false,
        }
    }
}

macro_rules! read_numbers {
    ($($number:ty)+) => {$(
        impl private::Sealed for $number {}
        impl Read for $number {
            const SHAPE: Shape =
                Shape::Number { min: <$number>::MIN as i128, max: <$number>::MAX as i128 };
            #[inline]
            #[allow(clippy::cast_possible_truncation, reason = "the shape was checked: it fits")]
            fn read(settings: &Settings, index: usize) -> Self {
                settings.bits(index) as $number
            }
        }
    )+};
}

read_numbers!(u16 u32 i32 u64 i64 usize);

macro_rules! read_choices {
    ($($choice:ty)+) => {$(
        impl private::Sealed for $choice {}
        impl Read for $choice {
            const SHAPE: Shape = Shape::OneOf { count: <$choice>::NAMES.len() };
            #[inline]
            fn read(settings: &Settings, index: usize) -> Self {
                <$choice>::at(settings.bits(index))
            }
        }
    )+};
}

read_choices!(AppendFsync BusyScope MaxmemoryPolicy LogLevel DebugAccess OomScore);
read_choices!(DisklessLoad PropagationErrorBehavior RdbReader VersionCheck ReclaimPolicy);
read_choices!(LogFormat LogTimestampFormat Supervised PubSubDefault);
read_choices!(AuthClients CertificateUser);

impl private::Sealed for bool {}
impl Read for bool {
    const SHAPE: Shape = Shape::YesNo;
    #[inline]
    fn read(settings: &Settings, index: usize) -> Self {
        settings.bits(index) != 0
    }
}

impl private::Sealed for ShutdownFlags {}
impl Read for ShutdownFlags {
    const SHAPE: Shape = Shape::AnyOf;
    fn read(settings: &Settings, index: usize) -> Self {
        ShutdownFlags(narrow::low_u32(settings.bits(index)))
    }
}

impl private::Sealed for ClientsMemory {}
impl Read for ClientsMemory {
    const SHAPE: Shape = Shape::ClientsMemory;
    fn read(settings: &Settings, index: usize) -> Self {
        let signed = settings.bits(index).cast_signed();
        match u64::try_from(signed) {
            Ok(0) => ClientsMemory::Unlimited,
            Ok(bytes) => ClientsMemory::Bytes(bytes),
            Err(_) => ClientsMemory::Percent(u8::try_from(-signed).unwrap_or(100)),
        }
    }
}

impl private::Sealed for Arc<str> {}
impl Read for Arc<str> {
    const SHAPE: Shape = Shape::Text;
    fn read(settings: &Settings, index: usize) -> Self {
        settings.value(index, |value| match value {
            Value::Text(text) => text.clone(),
            _ => "".into(),
        })
    }
}

impl private::Sealed for Arc<[u8]> {}
impl Read for Arc<[u8]> {
    const SHAPE: Shape = Shape::Bytes;
    fn read(settings: &Settings, index: usize) -> Self {
        settings.value(index, |value| match value {
            Value::Bytes(bytes) => bytes.clone(),
            _ => Arc::from([]),
        })
    }
}

impl private::Sealed for Arc<[String]> {}
impl Read for Arc<[String]> {
    const SHAPE: Shape = Shape::Words;
    fn read(settings: &Settings, index: usize) -> Self {
        settings.value(index, |value| match value {
            Value::Words(words) => words.clone(),
            _ => Arc::from([]),
        })
    }
}

impl private::Sealed for EventClasses {}
impl Read for EventClasses {
    const SHAPE: Shape = Shape::EventClasses;
    fn read(settings: &Settings, index: usize) -> Self {
        EventClasses::of_bits(narrow::low_u32(settings.bits(index)))
    }
}

impl private::Sealed for OutputLimits {}
impl Read for OutputLimits {
    const SHAPE: Shape = Shape::OutputLimits;
    fn read(settings: &Settings, index: usize) -> Self {
        settings.value(index, |value| match value {
            Value::OutputLimits(limits) => *limits,
            _ => OutputLimits::DEFAULT,
        })
    }
}

impl private::Sealed for SavePoints {}
impl Read for SavePoints {
    const SHAPE: Shape = Shape::SavePoints;
    fn read(settings: &Settings, index: usize) -> Self {
        settings.value(index, |value| match value {
            Value::SavePoints(points) => points.clone(),
            _ => SavePoints::defaults(),
        })
    }
}
