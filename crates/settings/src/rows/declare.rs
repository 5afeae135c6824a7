//! Macro that declares the rows of a group.

/// Declares the rows of a group and one typed handle for each. The indices of a group begin where
/// those of the group before it end.
macro_rules! rows {
    (from $first:expr; $($handle:ident: $kind:ty = $row:expr;)+) => {
        pub(crate) const ROWS: &[$crate::row::Row] = &[$($row),+];
        // Index of the first row, and the index behind the last.
        const FIRST: usize = $first;
        pub(crate) const END: usize = FIRST + ROWS.len();

        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Place { $($handle),+ }

        $(
            #[doc = concat!("Reads the setting of this name (see the row, or the manual).")]
            pub const $handle: $crate::handle::Setting<$kind> = $crate::handle::Setting::at(
                FIRST + Place::$handle as usize,
                &ROWS[Place::$handle as usize],
            );
        )+
    };
}
pub(crate) use rows;
