//! Files of users.

use crate::commands::{catalog, language};
use users::{read_file, write_file};

fn read(content: &str) -> Result<String, String> {
    let catalog = catalog();
    let users = read_file(content.as_bytes(), "users.acl", &language(&catalog))?;
    Ok(String::from_utf8(write_file(&users)).expect("text"))
}

#[test]
fn a_file_is_written_in_the_order_of_names_and_has_always_default() {
    let read = read("user b on +get\r\n\n  user a off ~x (+set ~y) \t\nuser 0").expect("users");
    let expected = "user 0 off resetchannels -@all\n\
                    user a off ~x resetchannels -@all (~y resetchannels -@all +set)\n\
                    user b on resetchannels -@all +get\n\
                    user default on nopass ~* &* +@all\n";
    assert_eq!(read, expected);
}

#[test]
fn default_begins_without_rights_where_a_line_is_about_it() {
    assert_eq!(
        read("user default on +get"),
        Ok("user default on resetchannels -@all +get\n".into())
    );
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let end = "WARNING: ACL errors detected, no change to the previously active ACL rules was \
               performed";
    for (content, expected) in [
        ("# a comment", "users.acl:1 should start with user keyword followed by the username. "),
        ("\nUSER a", "users.acl:2 should start with user keyword followed by the username. "),
        ("user a\tb on", "'users.acl:1: username 'a\tb' contains invalid characters. "),
        ("user a\nuser a", "WARNING: Duplicate user 'a' found on line 2. "),
        ("user a (+get", "users.acl:1: Unmatched parenthesis in selector definition."),
        (
            "user a foo bar +nope +none",
            "users.acl:1: Syntax error. users.acl:1: Error in applying operation '+nope': Unknown \
          command or category name in ACL. users.acl:1: Error in applying operation '+none': \
          Unknown command or category name in ACL. ",
        ),
    ] {
        assert_eq!(read(content), Err(format!("{expected}{end}")), "{content:?}");
    }
}
