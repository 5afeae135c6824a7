//! ACL LOAD, ACL SAVE: the file of `aclfile`.

use super::closing::close_all_that_lost;
use command::{Call, Outcome};
use session::{Instance, Refusal};
use settings::users::ACLFILE;

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
    let loaded = instance.access.load(&file_of(instance)?, &instance.settings);
    loaded.map_err(|text| Refusal::naming("ERR {}", &[text.as_bytes()]))?;
    close_all_that_lost(call);
    call.session.follow_users(&instance.access);
    call.reply.ok();
    Ok(())
}

/// ACL SAVE.
pub(super) fn save(call: &mut Call<'_>) -> Outcome {
    let path = file_of(call.instance)?;
    call.instance.access.save(&path).map_err(|error| {
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
