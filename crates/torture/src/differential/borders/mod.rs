//! Each command on both sides of each border between the forms in which values are kept.
//!
//! ```text
//! shapes, singles ─▶ states ─┐
//! forms/*.txt ──────────────▶├─▶ cases ─beside─▶ Varve and the reference, compared
//! rows of the family, drawn ─┘         ─alone──▶ Varve, which has to survive
//! ```

mod alone;
mod beside;
mod collections;
mod families;
mod forms;
mod shapes;
mod singles;
mod state;
mod texts;
mod tried;
mod words;

pub use alone::alone;
pub use beside::beside;
