pub const FIELDS: &[(&std::ffi::CStr, crate::sandbox::Field)] = &[]; #[derive(Default)] pub struct Settings;
