//! Counted B+trees for large collections; their nodes are byte strings that the caller keeps.
//!
//! ```text
//! root    node, height, count                    in the value of the key
//!           │
//! inner   | child count separator | ... |        a separator is above all that is left of it
//!           │            │
//! leaf    | rows |     | rows |                   known by `Leaf` alone: count, splits, order
//! ```
//! A child is named by a number that the owner of the nodes maps to bytes, so moving a node changes
//! one entry of a table and no other node. Each child has the count of what lies below it, so
//! positions, ranks and elements by number are found on the way down.
//!
//! Owner: the owner of the nodes; a tree is a view of them and of a root.
//! Not here: where nodes lie and who may touch them (`store`), elements (`packed`).
//! Start at: `node.rs`, then `tree.rs`, then `rows.rs`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod balance;
mod build;
mod edit;
mod inner;
mod leaf;
mod memory;
mod node;
mod path;
mod redistribution;
mod root;
mod row_leaf;
mod rows;
mod tree;
mod verify;
mod view;

pub use build::Builder;
pub use edit::CELL_BYTES_MAX;
pub use leaf::{Leaf, Parts, Separator};
pub use memory::MemoryNodes;
pub use node::{NODE_BYTES, NODE_ROOM, NoRoom, NodeId, Nodes, NodesMut, resolve};
pub use path::Path;
pub use root::{ROOT_BYTES, Root};
pub use row_leaf::RowLeaf;
pub use rows::{
    ByKey, ByPosition, ByShortTag, ByTag, Order, Rows, RowsMut, Tagged, shortest_between,
};
pub use tree::Tree;
pub use verify::Unsound;
pub use view::View;
