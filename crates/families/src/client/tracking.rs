//! CLIENT subcommands about the keys that the client may have cached.

use command::{Call, Outcome, forget_tracking, mail_invalidations};
use session::{
    Args, ClientFlags, Instance, OwnTracking, Prefix, Refusal, Session, Tracker, TrackingOptions,
};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use store::Interests;

/// Bytes that a prefix takes with its client. The bytes of the prefix itself stand in the table of
/// prefixes, once for all clients; those of long ones count for each client, since one client could
/// fill the memory with them.
const PREFIX_BYTES: usize = size_of::<Prefix>();
const LONG_PREFIX: usize = 64;

const OTHER_MODE: &str = "before disabling tracking for this client, and then re-enabling it with \
                          a different mode.";

/// What a request asks for.
#[derive(Default)]
struct Wanted<'c> {
    options: TrackingOptions,
    /// Id of the client that is notified in the place of this one; zero for none.
    redirection: u64,
    prefixes: Vec<&'c [u8]>,
}

impl<'c> Wanted<'c> {
    fn parse(instance: &Instance, args: Args<'c>) -> Result<Wanted<'c>, Refusal> {
        let mut wanted = Wanted::default();
        let mut at = 3;
        while at < args.len() {
            let has_more = at + 1 < args.len();
            if args.is(at, "REDIRECT") && has_more {
                at += 1;
                wanted.redirect(instance, args.integer(at)?)?;
            } else if args.is(at, "PREFIX") && has_more {
                at += 1;
                wanted.prefixes.push(args.get(at));
            } else {
                let option = OPTIONS.iter().find(|(word, _)| args.is(at, word));
                wanted.options |= option.ok_or(Refusal::SYNTAX)?.1;
            }
            at += 1;
        }
        Ok(wanted)
    }

    fn redirect(&mut self, instance: &Instance, id: i64) -> Result<(), Refusal> {
        if self.redirection != 0 {
            return Err(Refusal::of("ERR A client can only redirect to a single other client"));
        }
        let client = u64::try_from(id).ok().and_then(|id| instance.clients.find(id));
        let client =
            client.ok_or(Refusal::of("ERR The client ID you want redirect to does not exist"))?;
        self.redirection = client.id;
        Ok(())
    }

    /// Refuses what does not fit together, or to the present state of the client.
    fn check(&self, present: Option<&OwnTracking>) -> Result<(), Refusal> {
        let (broadcast, opt_in, opt_out) =
            (TrackingOptions::BROADCAST, TrackingOptions::OPT_IN, TrackingOptions::OPT_OUT);
        let has = |option| self.options.contains(option);
        let had = |option| present.is_some_and(|it| it.tracker.options.contains(option));
        if !has(broadcast) && !self.prefixes.is_empty() {
            return Err(Refusal::of("ERR PREFIX option requires BCAST mode to be enabled"));
        }
        if present.is_some() && has(broadcast) != had(broadcast) {
            let text = format!("ERR You can't switch BCAST mode on/off {OTHER_MODE}");
            return Err(Refusal::new(text));
        }
        if has(broadcast) && (has(opt_in) || has(opt_out)) {
            return Err(Refusal::of("ERR OPTIN and OPTOUT are not compatible with BCAST"));
        }
        if has(opt_in) && has(opt_out) {
            return Err(Refusal::of("ERR You can't specify both OPTIN mode and OPTOUT mode"));
        }
        if (has(opt_in) && had(opt_out)) || (has(opt_out) && had(opt_in)) {
            let text = format!("ERR You can't switch OPTIN/OPTOUT mode {OTHER_MODE}");
            return Err(Refusal::new(text));
        }
        self.check_prefixes(present.map_or(&[][..], |it| &it.prefixes))
    }

    /// Refuses prefixes that overlap with each other, or with those that the client has.
    fn check_prefixes(&self, present: &[Prefix]) -> Result<(), Refusal> {
        let Some(first) = self.first_overlapping(present) else { return Ok(()) };
        let prefix = self.prefixes[first];
        let overlaps = |other: &[u8]| other.starts_with(prefix) || prefix.starts_with(other);
        let existing = present.iter().map(|other| &other[..]).filter(|other| overlaps(other)).min();
        let provided = || self.prefixes[first + 1..].iter().copied().find(|other| overlaps(other));
        let (which, other) = match existing {
            Some(other) => ("an existing", other),
            None => ("another provided", provided().unwrap_or_default()),
        };
        let text = format!(
            "ERR Prefix '{{}}' overlaps with {which} prefix '{{}}'. Prefixes for a single client \
             must not overlap."
        );
        Err(Refusal::naming(&text, &[prefix, other]))
    }

    /// Returns the place of the first prefix asked for that overlaps with a later one, or with one
    /// that the client has. In order, all that begin with a prefix stand right behind it.
    fn first_overlapping(&self, present: &[Prefix]) -> Option<usize> {
        let wanted = self.prefixes.iter().enumerate().map(|(at, prefix)| (*prefix, Some(at)));
        let mut all: Vec<(&[u8], Option<usize>)> = wanted.collect();
        all.extend(present.iter().map(|prefix| (&prefix[..], None)));
        all.sort_unstable();
        let (mut first, mut begins) = (None, Vec::<(&[u8], Option<usize>)>::new());
        for (prefix, at) in all {
            while begins.pop_if(|(begin, _)| !prefix.starts_with(begin)).is_some() {}
            let others = begins.iter().map(|(_, other)| *other);
            first = others.flat_map(|other| at.into_iter().chain(other)).chain(first).min();
            begins.push((prefix, at));
        }
        first
    }
}

const OPTIONS: [(&str, TrackingOptions); 4] = [
    ("BCAST", TrackingOptions::BROADCAST),
    ("OPTIN", TrackingOptions::OPT_IN),
    ("OPTOUT", TrackingOptions::OPT_OUT),
    ("NOLOOP", TrackingOptions::NO_LOOP),
];

/// Turns tracking on or off.
pub fn tracking(call: &mut Call<'_>) -> Outcome {
    let wanted = Wanted::parse(call.instance, call.args)?;
    if call.args.is(2, "ON") {
        wanted.check(call.session.tracking.as_deref())?;
        mail_invalidations(call.session);
        begin(call, &wanted);
    } else if call.args.is(2, "OFF") {
        mail_invalidations(call.session);
        forget_tracking(call.instance, call.session);
    } else {
        return Err(Refusal::SYNTAX.into());
    }
    call.reply.ok();
    Ok(())
}

fn begin(call: &mut Call<'_>, wanted: &Wanted<'_>) {
    let Call { instance, session, .. } = call;
    let (tracking, client) = (&instance.tracking, &Arc::clone(&session.client));
    let tracker = Arc::new(Tracker::new(Arc::clone(client), wanted.options, wanted.redirection));
    instance.add_interest(Interests::KEYS);
    tracking.begin(&tracker);
    let present = session.set_tracking(None);
    let is_exception = present.as_ref().is_some_and(|it| it.is_exception);
    let mut prefixes = present.map_or_else(Vec::new, |it| it.prefixes);
    // The table of prefixes has the tracker of each client, which has changed.
    prefixes.iter().for_each(|prefix| tracking.replace_prefix(prefix, &tracker));
    if wanted.options.contains(TrackingOptions::BROADCAST) {
        let has_all = || prefixes.iter().any(|own| own.is_empty());
        let all: [&[u8]; 1] = [b""];
        let added = match &wanted.prefixes[..] {
            [] if has_all() => &[][..],
            [] => &all[..],
            // They are new ones, as they do not overlap with those that it has.
            some => some,
        };
        prefixes.extend(added.iter().map(|prefix| tracking.add_prefix(prefix, &tracker)));
    }
    client.set_flag(ClientFlags::TRACKING, true);
    client.set_flag(ClientFlags::TRACKING_BROKEN, false);
    let is_broadcast = wanted.options.contains(TrackingOptions::BROADCAST);
    client.set_flag(ClientFlags::BROADCAST, is_broadcast);
    client.redirection.store(wanted.redirection.cast_signed(), Relaxed);
    let long = prefixes.iter().map(|prefix| prefix.len()).filter(|len| *len > LONG_PREFIX);
    let bytes = prefixes.len() * PREFIX_BYTES + long.sum::<usize>();
    client.prefix_bytes.store(bytes as u64, Relaxed);
    session.set_tracking(Some(Box::new(OwnTracking { tracker, prefixes, is_exception })));
    session.memory_changed = true;
}

/// Makes the next command an exception to what is tracked.
pub fn caching(call: &mut Call<'_>) -> Outcome {
    let options = call.session.tracking.as_ref().ok_or(Refusal::of(
        "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or \
         OPTOUT mode enabled",
    ))?;
    let options = options.tracker.options;
    let (mode, without) = if call.args.is(2, "YES") {
        let text = "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.";
        (TrackingOptions::OPT_IN, text)
    } else if call.args.is(2, "NO") {
        let text = "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.";
        (TrackingOptions::OPT_OUT, text)
    } else {
        return Err(Refusal::SYNTAX.into());
    };
    if !options.contains(mode) {
        return Err(Refusal::of(without).into());
    }
    call.session.set_caching_exception(true);
    call.reply.ok();
    Ok(())
}

/// Returns the client that is notified in the place of this one.
pub fn redirection(call: &mut Call<'_>) -> Outcome {
    call.reply.integer(call.session.client.redirection.load(Relaxed));
    Ok(())
}

/// Tells how the client is notified of keys.
pub fn tracking_info(call: &mut Call<'_>) -> Outcome {
    let Call { session, reply, .. } = call;
    let flags = shown_flags(session);
    reply.map(3);
    reply.bulk(b"flags");
    reply.set(flags.len());
    flags.iter().for_each(|flag| reply.bulk(flag.as_bytes()));
    reply.bulk(b"redirect");
    reply.integer(session.client.redirection.load(Relaxed));
    reply.bulk(b"prefixes");
    let prefixes = session.tracking.as_ref().map_or(&[][..], |it| &it.prefixes);
    let mut prefixes: Vec<&Prefix> = prefixes.iter().collect();
    prefixes.sort();
    reply.array(prefixes.len());
    prefixes.iter().for_each(|prefix| reply.bulk(prefix));
    Ok(())
}

fn shown_flags(session: &Session) -> Vec<&'static str> {
    let Some(tracking) = &session.tracking else { return vec!["off"] };
    let has = |option| tracking.tracker.options.contains(option);
    let (is_in, is_out) = (has(TrackingOptions::OPT_IN), has(TrackingOptions::OPT_OUT));
    let is_broken = session.client.flags().contains(ClientFlags::TRACKING_BROKEN);
    let rows = [
        ("on", true),
        ("bcast", has(TrackingOptions::BROADCAST)),
        ("optin", is_in),
        ("caching-yes", is_in && tracking.is_exception),
        ("optout", is_out),
        ("caching-no", is_out && tracking.is_exception),
        ("noloop", has(TrackingOptions::NO_LOOP)),
        ("broken_redirect", is_broken),
    ];
    rows.iter().filter(|(_, is_shown)| *is_shown).map(|(flag, _)| *flag).collect()
}
