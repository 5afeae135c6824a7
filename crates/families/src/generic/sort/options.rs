//! Arguments of SORT.

use super::pattern::Pattern;
use command::Call;
use command::rights::{databases_of, permits_on_all_keys};
use session::{Args, Refusal};
use users::Access;

const BY_DENIED: Refusal =
    Refusal::of("ERR BY option of SORT denied due to insufficient ACL permissions.");
const GET_DENIED: Refusal =
    Refusal::of("ERR GET option of SORT denied due to insufficient ACL permissions.");

/// Options of SORT.
pub(super) struct Options<'c> {
    pub is_falling: bool,
    pub is_alpha: bool,
    /// LIMIT: index of the first element, and number of elements; negative for all.
    pub limit: Option<(i64, i64)>,
    /// BY with its pattern, which may lack a star.
    pub by: Option<Pattern<'c>>,
    /// True for BY with a word without a star: nothing is sorted.
    pub keeps_order: bool,
    /// True if a set, which has no order, is sorted even then: what is stored, and what a script
    /// reads, is always the same.
    pub sorts_sets: bool,
    pub get: Vec<Pattern<'c>>,
    pub store: Option<&'c [u8]>,
}

impl<'c> Options<'c> {
    pub fn parse(call: &Call<'c>, may_store: bool) -> Result<Options<'c>, Refusal> {
        let args = call.args;
        let mut options = Options {
            is_falling: false,
            is_alpha: false,
            limit: None,
            by: None,
            keeps_order: false,
            sorts_sets: false,
            get: Vec::new(),
            store: None,
        };
        let mut at = 2;
        while at < args.len() {
            let words = options.add(args, at, may_store)?;
            let leads_on = args.is(at, "BY") && options.by.as_ref().is_some_and(Pattern::has_star);
            if (leads_on || args.is(at, "GET")) && !may_read_all_keys(call) {
                return Err(if leads_on { BY_DENIED } else { GET_DENIED });
            }
            at += words;
        }
        Ok(options)
    }

    /// Reads the option that begins at a position; returns its number of arguments.
    fn add(&mut self, args: Args<'c>, at: usize, may_store: bool) -> Result<usize, Refusal> {
        let left = args.len() - at - 1;
        if args.is(at, "ASC") {
            self.is_falling = false;
        } else if args.is(at, "DESC") {
            self.is_falling = true;
        } else if args.is(at, "ALPHA") {
            self.is_alpha = true;
        } else if args.is(at, "LIMIT") && left >= 2 {
            self.limit = Some((args.integer(at + 1)?, args.integer(at + 2)?));
            return Ok(3);
        } else if args.is(at, "STORE") && left >= 1 && may_store {
            self.store = Some(args.get(at + 1));
            self.sorts_sets = true;
            return Ok(2);
        } else if args.is(at, "BY") && left >= 1 {
            let pattern = Pattern::new(args.get(at + 1));
            self.keeps_order |= !pattern.has_star();
            self.by = Some(pattern);
            return Ok(2);
        } else if args.is(at, "GET") && left >= 1 {
            self.get.push(Pattern::new(args.get(at + 1)));
            return Ok(2);
        } else {
            return Err(Refusal::SYNTAX);
        }
        Ok(1)
    }

    /// Returns true if other keys are looked at.
    pub fn looks_up(&self) -> bool {
        self.get.iter().chain(&self.by).any(Pattern::has_star)
    }

    /// Returns the window that LIMIT leaves of `len` elements: index of the first, and number.
    pub fn window(&self, len: usize) -> (usize, usize) {
        let Some((first, count)) = self.limit else { return (0, len) };
        let first = usize::try_from(first.max(0)).unwrap_or(usize::MAX).min(len);
        let left = len - first;
        (first, usize::try_from(count).map_or(left, |count| count.min(left)))
    }
}

/// Returns true if the user may run this, and read any key, as patterns lead to.
fn may_read_all_keys(call: &Call<'_>) -> bool {
    let databases = databases_of(call);
    let may = |user| permits_on_all_keys(user, call.row, call.args, databases, Access::READ);
    call.session.user().is_none_or(|user| may(user))
}
