//! Streams, written with the nodes that clients count.

use crate::id::stream_id_of;
use rdb::{Output, StreamNode};
use store::value::stream::group::{Consumer, Group};
use store::value::stream::{self, Id, Stream};
use store::{Access, Element, Key};

/// Writes a stream: entries, facts, groups.
pub(crate) fn write_stream(access: &Access<'_>, key: &Key<'_>, to: &mut Output) {
    let Ok(Some(stream)) = stream::lookup_without_touch(access, key) else { return };
    write_nodes(&stream, to);
    to.length(stream.len());
    let first = stream.first().map_or(Id::MIN, |entry| entry.id);
    for id in [stream.last_id(), first, stream.max_deleted_id()] {
        to.length(id.ms);
        to.length(id.seq);
    }
    to.length(stream.added());
    to.length(stream.groups().len() as u64);
    stream.groups().iter().for_each(|group| write_group(&group, to));
}

fn write_nodes(stream: &Stream<'_>, to: &mut Output) {
    let entries = || stream.range(Id::MIN, Id::MAX);
    let begins = |at: usize, starts: bool| at == 0 || starts;
    let nodes = entries().enumerate().filter(|(at, entry)| begins(*at, entry.starts_node)).count();
    to.length(nodes as u64);
    let mut node: Option<StreamNode> = None;
    for entry in entries() {
        let texts = entry.pairs.flat_map(<[Element<'_>; 2]>::from);
        match node.as_mut().filter(|_| !entry.starts_node) {
            Some(node) => node.push(stream_id_of(entry.id), texts),
            None => {
                let next = StreamNode::new(stream_id_of(entry.id), texts);
                write_node(node.replace(next), to);
            }
        }
    }
    write_node(node, to);
}

fn write_node(node: Option<StreamNode>, to: &mut Output) {
    if let Some(node) = node {
        to.blob(&node.first_id().to_bytes());
        to.blob(&node.into_bytes());
    }
}

fn write_group(group: &Group<'_>, to: &mut Output) {
    to.element(group.name);
    to.length(group.last_id().ms);
    to.length(group.last_id().seq);
    to.length(group.entries_read().map_or(u64::MAX, i64::cast_unsigned));
    to.length(group.pending_len());
    for pending in group.pending(Id::MIN) {
        to.raw(&stream_id_of(pending.id).to_bytes());
        to.raw(&pending.delivered().to_le_bytes());
        to.length(pending.deliveries());
    }
    to.length(group.consumers_len() as u64);
    group.consumers().for_each(|consumer| write_consumer(&consumer, to));
}

fn write_consumer(consumer: &Consumer<'_>, to: &mut Output) {
    to.element(consumer.name);
    to.raw(&consumer.seen().to_le_bytes());
    to.raw(&consumer.active().unwrap_or(u64::MAX).to_le_bytes());
    to.length(consumer.pending_len());
    consumer.pending(Id::MIN).for_each(|pending| to.raw(&stream_id_of(pending.id).to_bytes()));
}
