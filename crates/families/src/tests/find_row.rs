//! Tests of `find_row` with the commands of all families.

use crate::commands::table;
use command::RowMemo;
use command::find_row::find_row;
use session::Args;
use wire::Span;

#[test]
fn a_remembered_row_is_the_one_that_would_be_found() {
    let requests: [&[&str]; 8] = [
        &["GET", "a"],
        &["get", "a"],
        &["GET", "a", "b"],
        &["COMMAND", "BAD"],
        &["COMMAND", "HELP"],
        &["COMMAND", "COUNT"],
        &["NOSUCH", "a"],
        &["GET", "b"],
    ];
    let mut memo = RowMemo::new(table());
    for words in requests {
        let (request, spans) = (words.concat(), Span::of_joined(words));
        let args = Args::new(request.as_bytes(), &spans);
        let found = find_row(table(), &args).map_or(table().nameless().id, |row| row.id);
        assert_eq!(memo.find(&args).id, found, "{words:?}");
    }
}
