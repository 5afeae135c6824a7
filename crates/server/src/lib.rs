//! The composition root: workers, connections, chores, start and stop.
