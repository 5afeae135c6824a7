//! The index as the store uses it.
//! One program, since each is linked with all that it tests.

mod clustered;
mod hashes;
mod hints;
mod model;
mod shrink;
