pub const FIELDS: &[(&std::ffi::CStr, crate::sandbox::Field)] = &[];
