//! Settings of Valkey that ask for what this server does not have, each fixed at the one value that
//! is true.
//!
//! A user who sets them relies on them: on a copy of the data elsewhere, on connections that nobody
//! reads. Without them data would be lost or open, or clients would not find the server, so any
//! other value stops the start. What only shapes such a feature is in `idle`, and is accepted.

use crate::row::{Row, fixed};

const CLUSTER: &str = "cluster mode is not supported by this version of Varve: remove the line if \
    the server is to hold all keys by itself";
const RDMA: &str = "RDMA is not supported by Varve: remove the line, and have clients use TCP";
const MARK: &str = "marking connections is not supported by this version of Varve: remove the line \
    if no firewall or route depends on the mark";

pub(crate) const ROWS: &[Row] = &[
    fixed("cluster-enabled", "no", CLUSTER).at_start(),
    fixed("rdma-port", "0", RDMA),
    fixed("rdma-bind", "", RDMA),
    fixed("socket-mark-id", "0", MARK).at_start(),
];
