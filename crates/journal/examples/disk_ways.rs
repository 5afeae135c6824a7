//! What it costs to write to the disk in different ways.
//!
//! ```text
//! disk_ways FOLDER [MEGABYTES]
//! ```
//! Through the system's cache and past it, by the size of the pieces; then syncs of a file that
//! each makes longer, beside syncs of what takes the place of padding.

use journal::disk::{Directory, File, Files, OpenFile, Stage, append_all, append_all_past_cache};
use rustix::time::{ClockId, clock_gettime};
use std::env::args;
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of a unit, by which costs are told.
const UNIT_BYTES: f64 = 150.0;
/// Bytes between two syncs, and how many of them.
const SYNCED_BYTES: usize = 7_500;
const SYNCS: u32 = 1_000;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let mut args = args().skip(1);
    let folder = args.next().ok_or("which folder?")?;
    let megabytes: usize = args.next().map_or(Ok(1024), |text| text.parse())?;
    let directory = Directory::open(Path::new(&folder))?;
    println!("written                 piece KiB    MB/s  ns of CPU per {UNIT_BYTES} bytes");
    for piece in [64, 256, 1024] {
        for (way, past_cache) in [("through the cache", false), ("past the cache", true)] {
            let file = directory.create("disk_ways")?;
            let (began, cpu) = (Instant::now(), cpu_time());
            write(&file, megabytes << 20, piece << 10, past_cache)?;
            let bytes = (megabytes << 20) as f64;
            let speed = bytes / began.elapsed().as_secs_f64() / 1e6;
            let cost = (cpu_time() - cpu).as_secs_f64() * 1e9 / bytes * UNIT_BYTES;
            println!("{way:<22} {piece:>10} {speed:>7.0} {cost:>7.1}");
        }
    }
    println!("synced                    per second  us of CPU each");
    for (way, pads) in [("longer with each", false), ("in place of padding", true)] {
        let file = directory.create("disk_ways")?;
        let (began, cpu) = (Instant::now(), cpu_time());
        sync(&file, pads)?;
        let speed = f64::from(SYNCS) / began.elapsed().as_secs_f64();
        println!(
            "{way:<22} {speed:>13.0} {:>15}",
            (cpu_time() - cpu).as_micros() / u128::from(SYNCS)
        );
    }
    Ok(directory.remove("disk_ways")?)
}

fn write(file: &OpenFile, bytes: usize, piece: usize, past_cache: bool) -> Outcome<()> {
    let mut stage = Stage::default();
    let mut synced = Instant::now();
    for from in (0..bytes).step_by(piece) {
        stage.begin_at(from as u64);
        stage.push(&vec![b'x'; piece]);
        file.allocate(from as u64, piece as u64);
        if past_cache {
            append_all_past_cache(file, stage.bytes())?;
        } else {
            append_all(file, stage.bytes())?;
            file.write_back(from as u64, piece as u64);
        }
        if synced.elapsed() > Duration::from_secs(1) {
            file.sync()?;
            synced = Instant::now();
        }
    }
    Ok(file.sync()?)
}

fn sync(file: &OpenFile, pads: bool) -> Outcome<()> {
    let bytes = vec![b'x'; SYNCED_BYTES];
    let (mut end, mut padded) = (0, 0);
    for _ in 0..SYNCS {
        if pads && padded < end + 2 * SYNCED_BYTES {
            file.pad(1 << 20)?;
            padded = end + (1 << 20);
        } else if !pads && padded < end + SYNCED_BYTES {
            file.allocate(padded as u64, 8 << 20);
            padded += 8 << 20;
        }
        append_all(file, &bytes)?;
        file.sync()?;
        end += SYNCED_BYTES;
    }
    Ok(())
}

fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}
