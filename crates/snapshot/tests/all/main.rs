//! Values as RDB, in a store of their own.
//! One program, since each is linked with all that it tests.

mod large;
mod load;
mod round_trip;
mod world;
