//! The heap as the store uses it.
//! One program, since each is linked with all that it tests.

mod model;
mod reuse;
