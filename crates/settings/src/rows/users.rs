//! Settings of users. The users themselves are lines `user`, which are no settings.

use crate::choice::PubSubDefault;
use crate::row::{integer, one_of, text};
use std::sync::Arc;

super::declare::rows! { from super::scripting::END;
    ACLFILE: Arc<str> = text("aclfile", "",
        "File of the users, read at the start and by ACL LOAD, written by ACL SAVE. Empty: the \
         users are lines `user` of this file, of which there may be none otherwise.").at_start();
    ACL_PUBSUB_DEFAULT: PubSubDefault = one_of("acl-pubsub-default", PubSubDefault::NAMES,
        PubSubDefault::ResetChannels as usize,
        "Channels that a new user may use: all, or none.");
    ACLLOG_MAX_LEN: u64 = integer("acllog-max-len", 0..=i64::MAX as i128, 128,
        "Most refusals that ACL LOG keeps.");
}
