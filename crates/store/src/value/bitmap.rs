//! Bits of strings.
