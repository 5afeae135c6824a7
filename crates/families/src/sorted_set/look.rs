//! Scores, ranks and numbers of members: ZSCORE, ZMSCORE, ZCARD, ZRANK, ZREVRANK, ZCOUNT,
//! ZLEXCOUNT.

use super::range::{lex_range, score_range};
use command::{Call, Outcome};
use session::Refusal;
use store::value::sorted_set::{self, Pick};

pub fn zscore(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let (mut access, key, reply) = call.on_key(1);
    let set = sorted_set::read(&mut access, &key)?;
    match set.and_then(|set| set.score(args.get(2))) {
        Some(score) => reply.double(score),
        None => reply.null(),
    }
    Ok(())
}

pub fn zmscore(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let (mut access, key, reply) = call.on_key(1);
    let set = sorted_set::read(&mut access, &key)?;
    reply.array(args.len() - 2);
    for member in args.from(2) {
        match set.as_ref().and_then(|set| set.score(member)) {
            Some(score) => reply.double(score),
            None => reply.null(),
        }
    }
    Ok(())
}

pub fn zcard(call: &mut Call<'_>) -> Outcome {
    let (mut access, key, reply) = call.on_key(1);
    let set = sorted_set::read(&mut access, &key)?;
    reply.integer(set.map_or(0, |set| set.len()) as i64);
    Ok(())
}

pub fn zrank(call: &mut Call<'_>) -> Outcome {
    rank(call, false)
}

pub fn zrevrank(call: &mut Call<'_>) -> Outcome {
    rank(call, true)
}

fn rank(call: &mut Call<'_>, is_reverse: bool) -> Outcome {
    let args = call.args;
    let has_score = match args.len() {
        3 => false,
        4 if args.is(3, "WITHSCORE") => true,
        4 => return Err(Refusal::SYNTAX.into()),
        _ => return Err(call.wrong_arity().into()),
    };
    let (mut access, key, reply) = call.on_key(1);
    let set = sorted_set::read(&mut access, &key)?;
    let found = set.and_then(|set| Some((set.len(), set.rank(args.get(2))?)));
    let Some((len, (rank, score))) = found else {
        if has_score {
            reply.null_array()
        } else {
            reply.null()
        }
        return Ok(());
    };
    let rank = if is_reverse { len - 1 - rank } else { rank };
    if has_score {
        reply.array(2);
    }
    reply.integer(rank as i64);
    if has_score {
        reply.double(score);
    }
    Ok(())
}

pub fn zcount(call: &mut Call<'_>) -> Outcome {
    let range = score_range(call.args.get(2), call.args.get(3))?;
    count(call, &Pick::Scores(range))
}

pub fn zlexcount(call: &mut Call<'_>) -> Outcome {
    let range = lex_range(call.args.get(2), call.args.get(3))?;
    count(call, &Pick::Members(range))
}

fn count(call: &mut Call<'_>, pick: &Pick<'_>) -> Outcome {
    let (mut access, key, reply) = call.on_key(1);
    let set = sorted_set::read(&mut access, &key)?;
    reply.integer(set.map_or(0, |set| set.span(pick, false).count) as i64);
    Ok(())
}
