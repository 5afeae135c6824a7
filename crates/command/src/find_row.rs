//! Which row a request names.

use crate::call::wrong_arity;
use crate::row::{Row, Table};
use session::{Args, Refusal, begin_of, begin_of_all};

/// Cache of the row that was found last, since pipelines mostly repeat a command.
#[derive(Clone, Copy, Debug)]
pub struct RowMemo {
    name: u128,
    name_len: usize,
    words: usize,
    row: &'static Row,
}

impl RowMemo {
    /// Remembers no row of a table yet.
    pub fn new(table: &'static Table) -> RowMemo {
        RowMemo { name: 0, name_len: 0, words: 0, row: table.nameless() }
    }

    /// The cached row: the last one found, unless its name is too long or it has subcommands.
    #[inline]
    pub fn latest(&self) -> &'static Row {
        self.row
    }

    /// Finds the row of a request; a row that is always refused if the request has none.
    #[inline]
    pub fn find(&mut self, args: &Args<'_>) -> &'static Row {
        let name = args.name_bytes();
        let name_len = args.get(0).len();
        if self.name == name && self.name_len == name_len && self.words == args.len() {
            return self.row;
        }
        self.look_up(args)
    }

    /// Finds the row of a command of a file or a stream, and how many of its arguments are to be
    /// left out. With a note, the text of that is the first: it is left out if it means nothing to
    /// the command.
    #[inline]
    pub(crate) fn find_noted(&mut self, args: Args<'_>, is_noted: bool) -> (&'static Row, usize) {
        if !is_noted {
            return (self.find(&args), 0);
        }
        let noted = self.row.table().noted(args.get(1));
        match noted.filter(|row| row.spec.accepts(args.len())) {
            Some(row) => (row, 0),
            None => (self.find(&args.behind(1)), 1),
        }
    }

    /// Finds a row that is not the latest. Apart, so that the comparison is all that the batch's
    /// loop holds.
    #[inline(never)]
    fn look_up(&mut self, args: &Args<'_>) -> &'static Row {
        let (name, name_len) = (args.name_bytes(), args.get(0).len());
        let table = self.row.table();
        let Ok(row) = find_row(table, args) else { return table.nameless() };
        // These bytes do not identify a longer name, or a subcommand in the next argument.
        let is_named_by_first_word = row.parent.is_none() && row.spec.subcommands.is_empty();
        if is_named_by_first_word && name_len <= size_of::<u128>() {
            *self = RowMemo { name, name_len, words: args.len(), row };
        }
        row
    }
}

/// Refusal of a request that has no row.
#[derive(Debug)]
pub struct Misnamed {
    /// Row that it names, if only the number of arguments is wrong.
    pub row: Option<&'static Row>,
    /// What the client gets.
    pub refusal: Refusal,
}

/// Finds the row of a request, or of its subcommand if it has one.
#[inline]
pub fn find_row(table: &'static Table, args: &Args<'_>) -> Result<&'static Row, Misnamed> {
    let unknown = |refusal| Misnamed { row: None, refusal };
    let row = table.find_named(args).ok_or_else(|| unknown(unknown_command(args)))?;
    let row = if row.spec.subcommands.is_empty() {
        row
    } else {
        find_child(row, args).map_err(unknown)?
    };
    if row.spec.accepts(args.len()) {
        Ok(row)
    } else {
        Err(Misnamed { row: Some(row), refusal: wrong_arity(row) })
    }
}

fn find_child(row: &'static Row, args: &Args<'_>) -> Result<&'static Row, Refusal> {
    if args.len() < 2 {
        return Ok(row);
    }
    row.find_child(args.get(1)).map_or_else(
        || {
            if row.spec.accepts(args.len()) && row.spec.arity != -2 {
                Ok(row)
            } else {
                Err(unknown_child(row, args))
            }
        },
        Ok,
    )
}

#[cold]
fn unknown_command(args: &Args<'_>) -> Refusal {
    let (name, rest) = (begin_of(args.get(0)), begin_of_all(args.from(1)));
    let text = "ERR unknown command '{}', with args beginning with: {}";
    Refusal::naming(text, &[name, &rest])
}

#[cold]
fn unknown_child(row: &Row, args: &Args<'_>) -> Refusal {
    let (word, name) = (begin_of(args.get(1)), row.spec.name.as_bytes());
    Refusal::naming("ERR unknown subcommand '{}'. Try {} HELP.", &[word, name])
}
