//! The table of commands and their families.
