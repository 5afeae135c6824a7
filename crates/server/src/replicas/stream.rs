//! The stream, as commands see it.

use crate::journal::Journal;
use session::Stream;
use std::sync::Arc;

/// The stream of a journal.
pub struct JournalStream(pub Arc<Journal>);

impl Stream for JournalStream {
    fn offset(&self) -> u64 {
        self.0.tail()
    }

    fn ask_for_acknowledgements(&self) {
        if let Some(door) = self.0.door() {
            // What is acknowledged has to be written first.
            self.0.write_soon();
            door.ask_for_acknowledgements();
        }
    }
}
