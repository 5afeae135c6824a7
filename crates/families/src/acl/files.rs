//! ACL LOAD, ACL SAVE: the file of `aclfile`.

use super::closing::{close_all_of, close_subscribers_that_lost};
use command::{Call, Outcome};
use session::{Instance, Refusal};
use settings::replace_whole;
use settings::users::ACLFILE;
use std::path::Path;
use users::write_file;

const NO_FILE: Refusal = Refusal::of(
    "ERR This instance is not configured to use an ACL file. You may want to specify users via \
     the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a configuration \
     file set) in order to store users in the configuration.",
);
const NOT_SAVED: Refusal = Refusal::of(
    "ERR There was an error trying to save the ACLs. Please check the server logs for more \
     information",
);

/// ACL LOAD: all users of the file, or none.
pub(super) fn load(call: &mut Call<'_>) -> Outcome {
    let instance = call.instance;
    let before = instance.access.load(&file_of(instance)?, &instance.settings);
    let before = before.map_err(|text| Refusal::naming("ERR {}", &[text.as_bytes()]))?;
    for user in before.iter() {
        match instance.access.find(user.name()) {
            None => close_all_of(instance, user.name()),
            Some(now) => close_subscribers_that_lost(instance, &now.user),
        }
    }
    call.session.follow_users(&instance.access);
    call.reply.ok();
    Ok(())
}

/// ACL SAVE.
pub(super) fn save(call: &mut Call<'_>) -> Outcome {
    let path = file_of(call.instance)?;
    let content = write_file(&call.instance.access.copy());
    replace_whole(Path::new(&path), &content).map_err(|error| {
        tracing::warn!("Writing the users to {path} for ACL SAVE: {error}");
        NOT_SAVED
    })?;
    call.reply.ok();
    Ok(())
}

fn file_of(instance: &Instance) -> Result<String, Refusal> {
    let path = ACLFILE.get(&instance.settings);
    if path.is_empty() { Err(NO_FILE) } else { Ok(path.to_string()) }
}
