//! Users from outside: the language, decisions, files.

mod commands;
mod decisions;
mod files;
mod language;
mod printing;
