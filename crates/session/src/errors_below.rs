//! Errors of the layers below, in the words that clients know.

use crate::refusal::Refusal;
use rdb::Flaw;
use store::value::hash::HashError;
use store::value::hyperloglog::HyperLogLogError;
use store::value::stream::{AddError, SetIdError};
use store::value::string::StringError;
use text::FloatError;

const VERSION_OR_CHECKSUM: Refusal = Refusal::of("ERR DUMP payload version or checksum are wrong");
const BAD_FORMAT: Refusal = Refusal::of("ERR Bad data format");
const TOO_LONG: Refusal =
    Refusal::of("ERR string exceeds maximum allowed size (proto-max-bulk-len)");

impl From<store::WrongKind> for Refusal {
    fn from(_: store::WrongKind) -> Refusal {
        Refusal::WRONG_TYPE
    }
}

impl From<store::Fault> for Refusal {
    fn from(fault: store::Fault) -> Refusal {
        match fault {
            store::Fault::WrongKind => Refusal::WRONG_TYPE,
            store::Fault::NoSpace => Refusal::OUT_OF_MEMORY,
        }
    }
}

impl From<store::NoSpace> for Refusal {
    fn from(_: store::NoSpace) -> Refusal {
        Refusal::OUT_OF_MEMORY
    }
}

impl From<rdb::Error> for Refusal {
    fn from(error: rdb::Error) -> Refusal {
        match error.flaw {
            Flaw::UnknownVersion(_) | Flaw::Checksum { .. } => VERSION_OR_CHECKSUM,
            Flaw::ForeignType(number) => {
                let number = number.to_string();
                Refusal::naming("ERR Unsupported foreign data type: {}", &[number.as_bytes()])
            }
            _ => BAD_FORMAT,
        }
    }
}

impl From<HashError> for Refusal {
    fn from(error: HashError) -> Refusal {
        match error {
            HashError::NotInteger => Refusal::of("ERR hash value is not an integer"),
            HashError::Overflow => Refusal::of("ERR increment or decrement would overflow"),
            HashError::NotFloat => Refusal::of("ERR hash value is not a float"),
            HashError::NotFinite => Refusal::of("ERR increment would produce NaN or Infinity"),
            HashError::NoSpace => Refusal::OUT_OF_MEMORY,
        }
    }
}

impl From<HyperLogLogError> for Refusal {
    fn from(error: HyperLogLogError) -> Refusal {
        match error {
            HyperLogLogError::WrongKind => Refusal::WRONG_TYPE,
            HyperLogLogError::NotOne => {
                Refusal::of("WRONGTYPE Key is not a valid HyperLogLog string value.")
            }
            HyperLogLogError::Corrupted => Refusal::of("INVALIDOBJ Corrupted HLL object detected"),
            HyperLogLogError::NoSpace => Refusal::OUT_OF_MEMORY,
        }
    }
}

impl From<AddError> for Refusal {
    fn from(error: AddError) -> Refusal {
        match error {
            AddError::NotAbove => Refusal::of(
                "ERR The ID specified in XADD is equal or smaller than the target stream top item",
            ),
            AddError::Exhausted => Refusal::of(
                "ERR The stream has exhausted the last possible ID, unable to add more items",
            ),
            AddError::TooLong => Refusal::of("ERR Elements are too large to be stored"),
            AddError::Fault(fault) => fault.into(),
        }
    }
}

impl From<SetIdError> for Refusal {
    fn from(error: SetIdError) -> Refusal {
        match error {
            SetIdError::NoStream => Refusal::NO_SUCH_KEY,
            SetIdError::BelowDeleted => Refusal::of(
                "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id",
            ),
            SetIdError::BelowTop => Refusal::of(
                "ERR The ID specified in XSETID is smaller than the target stream top item",
            ),
            SetIdError::TooFewAdded => Refusal::of(
                "ERR The entries_added specified in XSETID is smaller than the target stream \
                 length",
            ),
            SetIdError::WrongKind => Refusal::WRONG_TYPE,
        }
    }
}

impl From<StringError> for Refusal {
    fn from(error: StringError) -> Refusal {
        match error {
            StringError::NotInteger => Refusal::NOT_INTEGER,
            StringError::Overflow => Refusal::of("ERR increment or decrement would overflow"),
            StringError::Float(FloatError::NotAFloat) => Refusal::NOT_FLOAT,
            StringError::Float(FloatError::NotFinite) => {
                Refusal::of("ERR increment would produce NaN or Infinity")
            }
            StringError::TooLong => TOO_LONG,
            StringError::NoSpace => Refusal::OUT_OF_MEMORY,
            StringError::WrongKind => Refusal::WRONG_TYPE,
        }
    }
}
