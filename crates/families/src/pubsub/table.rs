//! Rows of the family.

use super::{count_patterns, count_subscribers, list, publish, subscribe, unsubscribe};
use crate::server::help::help;
use command::{Command, Flags, Group, Handler, KeyFlags, KeySpec, NamesChannels};
use session::Topic::{Channel, Pattern, ShardChannel};

const ANY_TIME: Flags = Flags::LOADING.union(Flags::STALE);
const ASKS: Flags = ANY_TIME.union(Flags::PUBSUB);
const SUBSCRIBES: Flags = ASKS.union(Flags::NOSCRIPT).union(Flags::WHILE_SUBSCRIBED);
const PUBLISHES: Flags = ASKS.union(Flags::FAST).union(Flags::MAY_REPLICATE);

/// Rows of the family.
pub const TABLE: &[Command] = &[
    Command {
        channels: NamesChannels::Patterns,
        summary: "Subscribes to all channels whose names match a pattern.",
        syntax: "pattern [pattern ...]",
        complexity: "O(N), N patterns",
        ..row("PSUBSCRIBE", -2, SUBSCRIBES, "2.0.0", |call| subscribe(call, Pattern))
    },
    Command {
        channels: NamesChannels::First,
        summary: "Sends a message to all who have subscribed to a channel.",
        syntax: "channel message",
        complexity: "O(N+M), N subscribers of the channel, M patterns of all clients",
        ..row("PUBLISH", 3, PUBLISHES, "2.0.0", |call| publish(call, Channel))
    },
    Command {
        summary: "Knows who has subscribed to what.",
        ..Command::parent(Group::PubSub, "PUBSUB", "2.8.0", SUBCOMMANDS)
    },
    Command {
        summary: "Ends subscriptions to patterns; without any, to all.",
        syntax: "[pattern [pattern ...]]",
        complexity: "O(N), N patterns",
        ..row("PUNSUBSCRIBE", -1, SUBSCRIBES, "2.0.0", |call| unsubscribe(call, Pattern))
    },
    Command {
        keys: &[KeySpec::one(KeyFlags::NOT_KEY)],
        channels: NamesChannels::First,
        summary: "Sends a message to all who have subscribed to a shard channel.",
        syntax: "shardchannel message",
        complexity: "O(N), N subscribers of the channel",
        ..row("SPUBLISH", 3, PUBLISHES, "7.0.0", |call| publish(call, ShardChannel))
    },
    Command {
        keys: &[KeySpec::all(KeyFlags::NOT_KEY)],
        channels: NamesChannels::All,
        summary: "Subscribes to shard channels.",
        syntax: "shardchannel [shardchannel ...]",
        complexity: "O(N), N channels",
        ..row("SSUBSCRIBE", -2, SUBSCRIBES, "7.0.0", |call| subscribe(call, ShardChannel))
    },
    Command {
        channels: NamesChannels::All,
        summary: "Subscribes to channels.",
        syntax: "channel [channel ...]",
        complexity: "O(N), N channels",
        ..row("SUBSCRIBE", -2, SUBSCRIBES, "2.0.0", |call| subscribe(call, Channel))
    },
    Command {
        keys: &[KeySpec::all(KeyFlags::NOT_KEY)],
        summary: "Ends subscriptions to shard channels; without any, to all.",
        syntax: "[shardchannel [shardchannel ...]]",
        complexity: "O(N), N channels",
        ..row("SUNSUBSCRIBE", -1, SUBSCRIBES, "7.0.0", |call| unsubscribe(call, ShardChannel))
    },
    Command {
        summary: "Ends subscriptions to channels; without any, to all.",
        syntax: "[channel [channel ...]]",
        complexity: "O(N), N channels",
        ..row("UNSUBSCRIBE", -1, SUBSCRIBES, "2.0.0", |call| unsubscribe(call, Channel))
    },
];

const SUBCOMMANDS: &[Command] = &[
    Command {
        summary: "Lists the channels that somebody has subscribed to.",
        syntax: "[pattern]",
        complexity: "O(N), N channels with subscribers",
        ..row("CHANNELS", -2, ASKS, "2.8.0", |call| list(call, Channel))
    },
    Command { summary: "Shows this text.", ..row("HELP", 2, ANY_TIME, "6.2.0", help) },
    Command {
        summary: "Returns the number of patterns that somebody has subscribed to.",
        ..row("NUMPAT", 2, ASKS, "2.8.0", count_patterns)
    },
    Command {
        summary: "Returns how many clients have subscribed to each of the channels.",
        syntax: "[channel [channel ...]]",
        complexity: "O(N), N channels that are asked for",
        ..row("NUMSUB", -2, ASKS, "2.8.0", |call| count_subscribers(call, Channel))
    },
    Command {
        summary: "Lists the shard channels that somebody has subscribed to.",
        syntax: "[pattern]",
        complexity: "O(N), N channels with subscribers",
        ..row("SHARDCHANNELS", -2, ASKS, "7.0.0", |call| list(call, ShardChannel))
    },
    Command {
        summary: "Returns how many clients have subscribed to each of the shard channels.",
        syntax: "[shardchannel [shardchannel ...]]",
        complexity: "O(N), N channels that are asked for",
        ..row("SHARDNUMSUB", -2, ASKS, "7.0.0", |call| count_subscribers(call, ShardChannel))
    },
];

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Handler,
) -> Command {
    Command { complexity: "O(1)", ..Command::plain(Group::PubSub, name, arity, flags, since, run) }
}
