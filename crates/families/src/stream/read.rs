//! XREAD and XREADGROUP.

use super::add::Ids;
use super::effects::GroupConsumer;
use super::group::XGROUP_CREATECONSUMER;
use super::{entries, id, refusal_of};
use command::key_spec::find;
use command::{Call, FoundKeys, KeySpec, Outcome, Timeout, Wait};
use session::{Args, Refusal, Wants};
use smallvec::SmallVec;
use store::value::stream::group::{Given, GroupRead, read_group};
use store::value::stream::{self, Id, Stream};
use store::{Access, Key, Kind};
use wire::{Protocol, Reply};

/// Parsed request of XREAD or XREADGROUP.
#[derive(Clone, Copy, Debug)]
pub struct Request<'c> {
    args: Args<'c>,
    /// Timeout of the wait if there is nothing; `None` for no wait.
    pub block: Option<Timeout>,
    count: u64,
    no_ack: bool,
    group: Option<(&'c [u8], &'c [u8])>,
    /// Position of the first stream.
    pub first: usize,
    /// Number of streams, and of ids behind them.
    pub streams: usize,
}

/// Ids behind which the streams of a request are read.
pub type Begins = SmallVec<[Option<Id>; 4]>;

/// Finds the keys of XREADGROUP. The group or the consumer may be called STREAMS, so options are
/// walked as the handler walks them; what it would refuse is left to the specification.
pub fn keys_of_group<'r>(specs: &[KeySpec], request: &[&'r [u8]]) -> Option<FoundKeys<'r>> {
    let (mut rest, mut has_group) = (request.iter().skip(1), false);
    while let Some(word) = rest.next() {
        match word.to_ascii_uppercase().as_slice() {
            b"COUNT" | b"BLOCK" => drop(rest.next()),
            b"GROUP" => {
                has_group = true;
                rest.nth(1);
            }
            b"NOACK" => {}
            b"STREAMS" if has_group => {
                let half = rest.len() / 2;
                let keys = rest.take(half).map(|key| (*key, specs[0].flags));
                return (half > 0).then(|| keys.collect());
            }
            _ => break,
        }
    }
    find(specs, request)
}

impl<'c> Request<'c> {
    /// Reads the options of a request.
    ///
    /// # Errors
    /// When they do not fit together.
    pub fn parse(call: &Call<'c>, is_group: bool) -> Result<Request<'c>, Refusal> {
        let args = call.args;
        let mut request = Request {
            args,
            block: None,
            count: 0,
            no_ack: false,
            group: None,
            first: 0,
            streams: 0,
        };
        let mut at = 1;
        while at < args.len() {
            at += request.option(at, is_group, call)?;
            if request.first > 0 {
                break;
            }
        }
        if request.first == 0 {
            return Err(Refusal::SYNTAX);
        }
        if is_group && request.group.is_none() {
            return Err(Refusal::of("ERR Missing GROUP option for XREADGROUP"));
        }
        Ok(request)
    }

    /// Reads an option; returns its number of arguments.
    fn option(&mut self, at: usize, is_group: bool, call: &Call<'c>) -> Result<usize, Refusal> {
        let args = self.args;
        let more = args.len() - at - 1;
        if args.is(at, "STREAMS") && more > 0 {
            (self.first, self.streams) = (at + 1, more / 2);
            return if more.is_multiple_of(2) { Ok(1) } else { Err(unbalanced(call, is_group)) };
        }
        if args.is(at, "COUNT") && more > 0 {
            self.count = u64::try_from(args.integer(at + 1)?).unwrap_or(0);
            return Ok(2);
        }
        if args.is(at, "BLOCK") && more > 0 {
            self.block = Some(Timeout::millis(call, at + 1)?);
            return Ok(2);
        }
        if args.is(at, "GROUP") && more >= 2 {
            self.group = Some((args.get(at + 1), args.get(at + 2)));
            return if is_group { Ok(3) } else { Err(only_of_groups("GROUP")) };
        }
        if args.is(at, "NOACK") {
            self.no_ack = true;
            return if is_group { Ok(1) } else { Err(only_of_groups("NOACK")) };
        }
        Err(Refusal::SYNTAX)
    }

    /// Positions of the streams' keys.
    pub fn positions(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.streams
    }

    /// Returns the id behind which a stream is read; `None` for entries that its group has not
    /// delivered to any consumer.
    ///
    /// # Errors
    /// When the argument is no id, or the group is missing.
    #[inline]
    fn begin(
        &self,
        at: usize,
        key: &Key<'_>,
        stream: Option<&Stream<'_>>,
    ) -> Result<Option<Id>, Refusal> {
        let word = self.args.get(self.first + self.streams + at);
        if let Some((name, _)) = self.group {
            let group = stream.and_then(|stream| stream.groups().get(name));
            if group.is_none() {
                return Err(no_group(key.bytes, name));
            }
        }
        let is_group = self.group.is_some();
        match word {
            b"$" | b"+" if is_group => Err(meaningless(word)),
            b"$" => Ok(Some(stream.map_or(Id::MIN, Stream::last_id))),
            b"+" => {
                let stream = stream.filter(|stream| !stream.is_empty());
                let last = stream.and_then(|stream| stream.last_id().previous());
                Ok(Some(last.unwrap_or(Id::MIN)))
            }
            b">" if is_group => Ok(None),
            b">" => Err(Refusal::of(
                "ERR The > ID can be specified only when calling XREADGROUP using the GROUP \
                 <group> <consumer> option.",
            )),
            word => {
                let id = id::parse(word, 0)?;
                Ok(Some(id).filter(|id| !is_group || *id != Id::MAX))
            }
        }
    }

    /// Returns the ids behind which the streams are read.
    ///
    /// # Errors
    /// When a key holds another kind of value, an argument is no id, or a group is missing.
    pub fn begins(&self, access: &mut Access<'_>, keys: &[Key<'_>]) -> Result<Begins, Refusal> {
        let mut begins = Begins::new();
        for (at, key) in keys.iter().enumerate() {
            let stream = stream::read(access, key)?;
            begins.push(self.begin(at, key, stream.as_ref())?);
        }
        Ok(begins)
    }

    /// Writes the entries of the streams behind these ids. Writes nothing and returns false if no
    /// stream has any, which is what a client waits for. Each key is read once more, behind the
    /// reads of `begins`: to clients, that is two hits or two misses.
    ///
    /// # Errors
    /// When a group has gone, or there is no memory for what becomes pending.
    pub fn serve(
        &self,
        access: &mut Access<'_>,
        keys: &[Key<'_>],
        begins: &Begins,
        reply: &mut Reply<'_>,
    ) -> Result<bool, Refusal> {
        let mark = reply.deferred_map();
        let mut served = 0;
        for (key, begin) in keys.iter().zip(begins) {
            let is_served = match self.group {
                Some(group) => self.serve_group(access, key, group, *begin, reply)?,
                None => self.serve_one(access, key, begin.unwrap_or(Id::MAX), reply)?,
            };
            served += usize::from(is_served);
        }
        match (served, reply.protocol()) {
            (0, _) => reply.truncate(mark),
            (_, Protocol::Resp2) => reply.close_array(mark, served),
            (_, Protocol::Resp3) => reply.close_map(mark, served),
        }
        Ok(served > 0)
    }

    /// Serves a request now, or makes its client wait if it asked for that.
    fn serve_or_wait(
        &self,
        access: &mut Access<'_>,
        keys: &[Key<'_>],
        wait: Option<Wait<'_>>,
        reply: &mut Reply<'_>,
    ) -> Outcome {
        let begins = self.begins(access, keys)?;
        let is_served = self.serve(access, keys, &begins, reply)?;
        match wait {
            _ if is_served => {}
            Some(wait) => return self.wait(wait, &begins),
            None => reply.null_array(),
        }
        Ok(())
    }

    /// Makes the client wait, with the ids of its arrival in place of `$`. `+` stays: it is what
    /// comes last when the client is woken.
    fn wait(&self, wait: Wait<'_>, begins: &Begins) -> Outcome {
        let ids_at = self.first + self.streams;
        let ids: Vec<Vec<u8>> = (ids_at..self.args.len())
            .zip(begins)
            .map(|(at, begin)| match (self.args.get(at), begin) {
                (b"$", Some(begin)) => id::text(*begin),
                (word, _) => word.to_vec(),
            })
            .collect();
        let words: Vec<&[u8]> =
            self.args.from(0).take(ids_at).chain(ids.iter().map(Vec::as_slice)).collect();
        wait.begin_with(self.positions(), &words)
    }

    #[inline]
    fn serve_one(
        &self,
        access: &mut Access<'_>,
        key: &Key<'_>,
        begin: Id,
        reply: &mut Reply<'_>,
    ) -> Result<bool, Refusal> {
        let stream = stream::read(access, key)?.filter(|stream| stream.has_above(begin));
        let (Some(stream), Some(from)) = (stream, begin.next()) else { return Ok(false) };
        open(reply, key);
        entries::write_all(reply, stream.range(from, Id::MAX), self.count);
        Ok(true)
    }

    fn serve_group(
        &self,
        access: &mut Access<'_>,
        key: &Key<'_>,
        (group, consumer): (&[u8], &[u8]),
        begin: Option<Id>,
        reply: &mut Reply<'_>,
    ) -> Result<bool, Refusal> {
        let (mut list, mut len) = (None, 0);
        let (is_recording, mut given_ids) = (access.is_recording(), Ids::new());
        let read =
            GroupRead { group, consumer, after: begin, count: self.count, no_ack: self.no_ack };
        let done = read_group(access, key, read, |given| match given {
            Given::Begins => {
                open(reply, key);
                list = Some(reply.deferred_array());
            }
            Given::Entry(entry) => {
                entries::write(reply, entry);
                given_ids.extend(is_recording.then_some(entry.id));
                len += 1;
            }
            Given::Gone(id) => {
                reply.array(2);
                id::write(reply, id);
                reply.null_array();
                len += 1;
            }
        });
        let done = done.map_err(|error| refusal_of(error, || no_group(key.bytes, group)))?;
        if let Some(list) = list {
            reply.close_array(list, len);
        }
        access.report_changes(u64::from(done.is_new_consumer), XGROUP_CREATECONSUMER, key);
        access.report_changes_silently(u64::from(done.is_served));
        access.leave_out_request();
        let group_consumer = GroupConsumer { group, consumer };
        if done.is_new_consumer {
            group_consumer.record_consumer_effect(access, key);
        }
        if !self.no_ack || begin.is_some() {
            group_consumer.record_pending_effects(access, key, &given_ids);
        }
        if done.is_served && begin.is_none() {
            group_consumer.record_position_effect(access, key);
        }
        Ok(done.is_served)
    }
}

/// Writes the name of a stream, which its entries follow.
#[inline]
fn open(reply: &mut Reply<'_>, key: &Key<'_>) {
    if reply.protocol() == Protocol::Resp2 {
        reply.array(2);
    }
    reply.bulk(key.bytes);
}

pub fn xread(call: &mut Call<'_>) -> Outcome {
    read(call, false)
}

pub fn xreadgroup(call: &mut Call<'_>) -> Outcome {
    read(call, true)
}

fn read(call: &mut Call<'_>, is_group: bool) -> Outcome {
    let request = Request::parse(call, is_group)?;
    let wants = Wants { kind: Kind::Stream, minds_loss: request.group.is_some() };
    let wait = request.block.map(|timeout| call.wait(timeout, wants));
    if request.streams == 1 {
        let (mut access, key, reply) = call.on_key(request.first);
        request.serve_or_wait(&mut access, &[key], wait, reply)
    } else {
        let (mut access, keys, reply) = call.on_keys(request.positions());
        request.serve_or_wait(&mut access, &keys, wait, reply)
    }
}

fn unbalanced(call: &Call<'_>, is_group: bool) -> Refusal {
    let (name, symbol) = (&call.row.full_name, if is_group { '>' } else { '$' });
    Refusal::new(format!(
        "ERR Unbalanced '{name}' list of streams: for each stream key an ID or '{symbol}' must be \
         specified."
    ))
}

fn only_of_groups(option: &str) -> Refusal {
    Refusal::new(format!(
        "ERR The {option} option is only supported by XREADGROUP. You called XREAD instead."
    ))
}

fn meaningless(word: &[u8]) -> Refusal {
    Refusal::naming(
        "ERR The {} ID is meaningless in the context of XREADGROUP: you want to read the history \
         of this consumer by specifying a proper ID, or use the > ID to get new messages. The {} \
         ID would just return an empty result set.",
        &[word, word],
    )
}

fn no_group(key: &[u8], group: &[u8]) -> Refusal {
    Refusal::naming(
        "NOGROUP No such key '{}' or consumer group '{}' in XREADGROUP with GROUP option",
        &[key, group],
    )
}
