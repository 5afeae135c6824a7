//! The programs as a user sees them, and servers behind wrappers.
//! One program, since each is linked with all that it tests.

#[path = "../../src/fake.rs"]
mod fake;
mod report;
mod run;
mod servers;
