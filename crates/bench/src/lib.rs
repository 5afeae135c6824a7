//! The null server, and the program that measures Varve beside its peers.
//!
//! ```text
//! varve-bench ──▶ scenario ──▶ servers (start, pin, stop) ──▶ a process under test
//!                    │                                              ▲        │
//!                    ├────▶ generator (load over TCP) ──────────────┤        │
//!                    ├────▶ valkey_benchmark (beside it) ───────────┤        │
//!                    ├────▶ ycsb (its workloads and connectors) ────┘        │
//!                    ├────▶ process (CPU and resident memory) ◀── /proc ─────┘
//!                    └────▶ report (tables and aims) ──▶ text, Markdown, JSON, HTML
//! ```
//!
//! Owner: how a figure is measured, which aim it is held against, and how it is written down.
//! The server under test is a black box: a command line, a TCP port and a process id.
//!
//! Not here: anything that Varve itself uses. No product crate is imported, so that a fault
//! in the product cannot also bend the ruler.
//!
//! Start at: [`scenario`] for what is measured, [`generator::Generator::run`] for how load is
//! made, [`ycsb`] for the workloads of YCSB, [`null`] for the lower limit that every server is
//! compared with.
#![forbid(unsafe_code)]

pub mod cli;
pub mod control;
pub mod generator;
pub mod null;
pub mod process;
pub mod report;
pub mod sampler;
pub mod scenario;
pub mod servers;
pub mod statistics;
pub mod trial;
pub mod valkey_benchmark;
pub mod ycsb;
