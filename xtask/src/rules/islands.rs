//! Code that only some crates may contain: unsafe code, the outside world, vector instructions.

use crate::finding::Report;
use crate::rust::Mention;
use crate::source::Source;
use crate::tables::{LAYERS, layers};
use crate::tree::{Tree, crate_of};

/// Part of the outside world: its row in `layers.toml`, and its paths in std and other crates.
/// `Duration`, `IpAddr` and `SocketAddr` are plain values and free to all.
struct Reach {
    row: &'static str,
    /// Module that must not be imported as a whole, since that would hide the items used from it.
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
        // A crate cannot forbid unsafe code to all files if one of them may contain it.
        let folder = format!("crates/{owner}/");
        let has_island = islands.iter().any(|island| island.starts_with(&folder));
        if is_crate_root(&source.path) && !has_island && !source.rust.forbids_unsafe {
            report.add(&source.path, 1, "this crate needs `#![forbid(unsafe_code)]`");
        }
    }
}

/// Returns the number of lines with unsafe code of each crate, folder or file that may have some.
pub fn unsafe_lines(tree: &Tree) -> Vec<(String, usize)> {
    let layers = layers(tree);
    let lines = |island: &&str| {
        let of = |source: &&Source| is_of(source, island);
        tree.rust_files().filter(of).map(|source| source.rust.unsafe_lines.len()).sum()
    };
    layers.may("unsafe_code").iter().map(|island| (island.to_string(), lines(island))).collect()
}

/// Returns true if a file belongs to the crate of this name, is in this folder, or has this path.
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

pub fn simd_folder(tree: &Tree, report: &mut Report) {
    let layers = layers(tree);
    let folders = layers.may("vector_instructions");
    for source in tree.rust_files() {
        if folders.iter().any(|folder| source.path.starts_with(folder)) {
            continue;
        }
        for mention in source.rust.mentions.iter().filter(|it| is_vector(it)) {
            let message = format!("`{}` belongs under {}", mention.path, folders.join(", "));
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

/// Returns true for vector instructions; prefetching and cycle counters are not arithmetic on
/// vectors.
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
