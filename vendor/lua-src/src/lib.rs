//! Builds Lua 5.1 for `mlua-sys`, in place of the package of the same name.
//!
//! ```text
//! mlua-sys/build ──▶ Build::build ──▶ cc: lua-5.1.5/*.c ──▶ liblua5.1.a ──▶ print_cargo_metadata
//! ```
//!
//! Owner: nobody; it runs while `mlua-sys` is built.
//! Not here: the other versions of Lua, the libraries for files and for debugging.
//! Start at: here, then `README.md` for what was changed in the sources.
#![forbid(unsafe_code)]

use std::env;
use std::path::{Path, PathBuf};

/// Version of Lua; others than 5.1 are not here.
pub struct Lua51;

/// Build of the library.
#[derive(Default)]
pub struct Build;

/// Library that was built.
pub struct Artifacts {
    lib_dir: PathBuf,
}

impl Build {
    /// Returns a build that takes its folder and target from the build script's environment.
    pub fn new() -> Self {
        Self
    }

    /// Compiles the sources.
    ///
    /// # Panics
    /// Outside a build script, and where the compiler fails.
    pub fn build(&self, _: Lua51) -> Artifacts {
        let out = env::var_os("OUT_DIR").expect("a build script has an OUT_DIR");
        let lib_dir = PathBuf::from(out).join("lib");
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("lua-5.1.5");
        let mut compiler = cc::Build::new();
        compiler.warnings(false).cargo_metadata(false).include(&sources);
        // Sums of ints wrap where Lua adds before it compares.
        compiler.flag("-fwrapv").flag_if_supported("-fno-common").define("LUA_USE_LINUX", None);
        if env::var_os("PROFILE").is_some_and(|profile| profile == "debug") {
            compiler.define("LUA_USE_APICHECK", None);
        }
        compiler
            .files(SOURCES.map(|name| sources.join(name).with_extension("c")))
            .out_dir(&lib_dir)
            .compile("lua5.1");
        println!("cargo:rerun-if-changed={}", sources.display());
        Artifacts { lib_dir }
    }
}

impl Artifacts {
    /// Tells cargo what to link.
    pub fn print_cargo_metadata(&self) {
        println!("cargo:rustc-link-search=native={}", self.lib_dir.display());
        println!("cargo:rustc-link-lib=static=lua5.1");
    }
}

/// Sources, without their ending.
const SOURCES: [&str; 25] = [
    "lapi", "lauxlib", "lbaselib", "lcode", "ldebug", "ldo", "ldump", "lfunc", "lgc", "lguard",
    "llex", "lmathlib", "lmem", "lobject", "lopcodes", "loslib", "lparser", "lstate", "lstring",
    "lstrlib", "ltable", "ltablib", "ltm", "lvm", "lzio",
];
