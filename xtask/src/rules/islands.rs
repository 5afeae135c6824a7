//! What only some crates may do: unsafe code, the outside world, vector instructions.

use crate::finding::Report;
use crate::rust::Mention;
use crate::source::Source;
use crate::tables::{LAYERS, layers};
use crate::tree::{Tree, crate_of};

/// A part of the outside world: its row in `layers.toml`, and where std and others keep it.
/// `Duration`, `IpAddr` and `SocketAddr` are values like others, so they are free.
struct Reach {
    row: &'static str,
    /// The module whose import as a whole would hide what is taken from it.
    whole: &'static str,
    paths: &'static [&'static str],
}

const REACHES: &[Reach] = &[
    Reach {
        row: "clock",
        whole: "std::time",
        paths: &["std::time::Instant", "std::time::SystemTime", "std::time::UNIX_EPOCH"],
    },
    Reach { row: "files", whole: "std::fs", paths: &["std::fs"] },
    Reach {
        row: "sockets",
        whole: "std::net",
        paths: &[
            "std::net::TcpListener",
            "std::net::TcpStream",
            "std::net::UdpSocket",
            "std::os::unix::net",
            "mio::net",
            "socket2",
        ],
    },
];

pub fn unsafe_islands(tree: &Tree, report: &mut Report) {
    let layers = layers(tree);
    let islands = layers.may("unsafe_code");
    for source in tree.rust_files() {
        let owner = crate_of(&source.path);
        if islands.iter().any(|island| is_of(source, island)) {
            continue;
        }
        for &line in &source.rust.unsafe_lines {
            report.add(&source.path, line, "unsafe code off the islands");
        }
        // A crate cannot forbid to all what one of its files may do.
        let folder = format!("crates/{owner}/");
        let has_island = islands.iter().any(|island| island.starts_with(&folder));
        if is_crate_root(&source.path) && !has_island && !source.rust.forbids_unsafe {
            report.add(&source.path, 1, "this crate needs `#![forbid(unsafe_code)]`");
        }
    }
}

/// Lines with unsafe code of each crate, folder or file that may have some.
pub fn unsafe_lines(tree: &Tree) -> Vec<(String, usize)> {
    let layers = layers(tree);
    let lines = |island: &&str| {
        let of = |source: &&Source| is_of(source, island);
        tree.rust_files().filter(of).map(|source| source.rust.unsafe_lines.len()).sum()
    };
    layers.may("unsafe_code").iter().map(|island| (island.to_string(), lines(island))).collect()
}

/// Whether a file is of a crate, by its name, or in a folder, or is the file itself.
fn is_of(source: &Source, who: &str) -> bool {
    let is_inside = who.ends_with('/') && source.path.starts_with(who);
    crate_of(&source.path) == who || source.path == who || is_inside
}

pub fn outside_world(tree: &Tree, report: &mut Report) {
    let layers = layers(tree);
    for source in tree.rust_files() {
        for mention in &source.rust.mentions {
            let Some(reach) = reach_of(mention) else { continue };
            let is_allowed = layers.may(reach).contains(&crate_of(&source.path));
            if !is_allowed && !source.is_test_code(mention) {
                let message =
                    format!("`{}`: {LAYERS} gives `{reach}` to other crates only", mention.path);
                report.add(&source.path, mention.line, message);
            }
        }
    }
}

pub fn simd_home(tree: &Tree, report: &mut Report) {
    let layers = layers(tree);
    let homes = layers.may("vector_instructions");
    for source in tree.rust_files() {
        if homes.iter().any(|home| source.path.starts_with(home)) {
            continue;
        }
        for mention in source.rust.mentions.iter().filter(|it| is_vector(it)) {
            let message = format!("`{}` belongs under {}", mention.path, homes.join(", "));
            report.add(&source.path, mention.line, message);
        }
    }
}

pub fn reach_of(mention: &Mention) -> Option<&'static str> {
    let hits = |reach: &&Reach| {
        let hides = mention.import.is_some() && reach.whole == mention.path;
        hides || reach.paths.iter().any(|path| mention.is_within(path))
    };
    REACHES.iter().find(hits).map(|reach| reach.row)
}

/// Prefetching and counting cycles are hints to the machine, not arithmetic on vectors.
pub fn is_vector(mention: &Mention) -> bool {
    let is_arch = ["std::arch", "core::arch"].iter().any(|prefix| mention.is_within(prefix));
    let is_hint = |name: &str| {
        ["_mm_prefetch", "_MM_HINT", "_prefetch", "_PREFETCH", "_rdtsc", "__rdtscp", "__cpuid"]
            .iter()
            .any(|hint| name.starts_with(hint))
    };
    let is_assembly = mention.last().ends_with("asm");
    is_arch && !is_assembly && !mention.path.split("::").any(is_hint)
}

fn is_crate_root(path: &str) -> bool {
    let inside = path.strip_prefix("crates/").and_then(|path| path.split_once('/'));
    inside.is_some_and(|(_, file)| file == "src/lib.rs" || file == "src/main.rs")
}
