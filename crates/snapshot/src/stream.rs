//! Streams, written with the nodes that clients count.

use crate::id::stream_id_of;
use crate::slice::LOOKED_AT;
use rdb::{Output, StreamNode};
use store::value::stream::group::{Consumer, Group};
use store::value::stream::{Entry, Id, Stream};
use store::{Element, ValueRef};

/// Writing of a stream: entries, facts, groups.
#[derive(Debug)]
pub(crate) struct StreamSlices {
    /// Number of nodes that clients count.
    nodes: u64,
    is_first: bool,
    part: Part,
    /// The node that is not yet written.
    open: Option<StreamNode>,
    /// Names of the group and of the consumer to which the part belongs.
    group: Vec<u8>,
    consumer: Vec<u8>,
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// Entries from this id on.
    Entries(Id),
    Facts,
    /// Pending entries of the group from this id on.
    Pending(Id),
    /// Pending entries of the consumer from this id on.
    Owned(Id),
    End,
}

impl Default for StreamSlices {
    fn default() -> StreamSlices {
        let (part, open) = (Part::Entries(Id::MIN), None);
        let (group, consumer) = (Vec::new(), Vec::new());
        StreamSlices { nodes: 0, is_first: true, part, open, group, consumer }
    }
}

impl StreamSlices {
    /// Counts nodes; returns true if all are.
    pub fn look(&mut self, value: ValueRef<'_>) -> bool {
        let (stream, mut last) = (Stream::of(value), None);
        let Part::Entries(next) = self.part else { return true };
        for entry in stream.range(next, Id::MAX).take(LOOKED_AT) {
            self.nodes += u64::from(std::mem::take(&mut self.is_first) || entry.starts_node);
            last = Some(entry.id);
        }
        let next = last.and_then(Id::next);
        self.part = Part::Entries(next.unwrap_or(Id::MIN));
        next.is_none()
    }

    /// Writes about `most` bytes; returns true if the stream is complete.
    pub fn write(
        &mut self,
        value: ValueRef<'_>,
        is_first: bool,
        to: &mut Output,
        most: usize,
    ) -> bool {
        let (stream, end) = (Stream::of(value), to.bytes().len().saturating_add(most));
        if is_first {
            to.length(self.nodes);
        }
        while to.bytes().len() < end {
            self.part = match self.part {
                Part::Entries(id) => self.write_entries(&stream, id, to, end),
                Part::Facts => {
                    write_facts(&stream, to);
                    self.write_group(stream.groups().iter().next(), to)
                }
                Part::Pending(id) => self.write_pending(&stream, id, to, end),
                Part::Owned(id) => self.write_owned(&stream, id, to, end),
                Part::End => return true,
            };
        }
        matches!(self.part, Part::End)
    }

    fn write_entries(&mut self, stream: &Stream<'_>, id: Id, to: &mut Output, end: usize) -> Part {
        for entry in stream.range(id, Id::MAX) {
            if to.bytes().len() >= end {
                return Part::Entries(entry.id);
            }
            self.add_entry(&entry, to);
        }
        write_node(self.open.take(), to);
        Part::Facts
    }

    fn add_entry(&mut self, entry: &Entry<'_>, to: &mut Output) {
        let texts = entry.pairs.flat_map(<[Element<'_>; 2]>::from);
        match self.open.as_mut().filter(|_| !entry.starts_node) {
            Some(node) => node.push(stream_id_of(entry.id), texts),
            None => {
                let next = StreamNode::new(stream_id_of(entry.id), texts);
                write_node(self.open.replace(next), to);
            }
        }
    }

    /// Writes the head of a group.
    fn write_group(&mut self, group: Option<Group<'_>>, to: &mut Output) -> Part {
        let Some(group) = group else { return Part::End };
        self.group = group.name.to_text();
        to.element(group.name);
        to.length(group.last_id().ms);
        to.length(group.last_id().seq);
        to.length(group.entries_read().map_or(u64::MAX, i64::cast_unsigned));
        to.length(group.pending_len());
        Part::Pending(Id::MIN)
    }

    fn write_pending(&mut self, stream: &Stream<'_>, id: Id, to: &mut Output, end: usize) -> Part {
        let Some(group) = stream.groups().iter_from(&self.group).next() else { return Part::End };
        for pending in group.pending(id) {
            if to.bytes().len() >= end {
                return Part::Pending(pending.id);
            }
            to.raw(&stream_id_of(pending.id).to_bytes());
            to.raw(&pending.delivered().to_le_bytes());
            to.length(pending.deliveries());
        }
        to.length(group.consumers_len() as u64);
        self.write_consumer(stream, &group, group.consumers().next(), to)
    }

    /// Writes the head of a consumer, or that of the next group if there is none.
    fn write_consumer(
        &mut self,
        stream: &Stream<'_>,
        group: &Group<'_>,
        consumer: Option<Consumer<'_>>,
        to: &mut Output,
    ) -> Part {
        let Some(consumer) = consumer else {
            let name = group.name.to_text();
            return self.write_group(stream.groups().iter_from(&name).nth(1), to);
        };
        self.consumer = consumer.name.to_text();
        to.element(consumer.name);
        to.raw(&consumer.seen().to_le_bytes());
        to.raw(&consumer.active().unwrap_or(u64::MAX).to_le_bytes());
        to.length(consumer.pending_len());
        Part::Owned(Id::MIN)
    }

    fn write_owned(&mut self, stream: &Stream<'_>, id: Id, to: &mut Output, end: usize) -> Part {
        let Some(group) = stream.groups().iter_from(&self.group).next() else { return Part::End };
        let mut consumers = group.consumers_from(&self.consumer);
        let Some(consumer) = consumers.next() else { return Part::End };
        for pending in consumer.pending(id) {
            if to.bytes().len() >= end {
                return Part::Owned(pending.id);
            }
            to.raw(&stream_id_of(pending.id).to_bytes());
        }
        self.write_consumer(stream, &group, consumers.next(), to)
    }
}

fn write_facts(stream: &Stream<'_>, to: &mut Output) {
    to.length(stream.len());
    let first = stream.first().map_or(Id::MIN, |entry| entry.id);
    for id in [stream.last_id(), first, stream.max_deleted_id()] {
        to.length(id.ms);
        to.length(id.seq);
    }
    to.length(stream.added());
    to.length(stream.groups().len() as u64);
}

fn write_node(node: Option<StreamNode>, to: &mut Output) {
    if let Some(node) = node {
        to.blob(&node.first_id().to_bytes());
        to.blob(&node.into_bytes());
    }
}
