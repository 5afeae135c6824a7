//! Operations of clients: YCSB's `CoreWorkload`.

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::Zipf;

use super::properties::Properties;

/// Kind of operation on records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Reads a record.
    Read,
    /// Overwrites a field of a record.
    Update,
    /// Adds a record.
    Insert,
    /// Reads a record and those behind it.
    Scan,
    /// Reads a record and then overwrites a field of it.
    ReadModifyWrite,
    /// Removes the oldest record. YCSB's core workloads have none.
    Delete,
}

/// Kinds, with their names in reports.
const KINDS: [(Kind, &str); 6] = [
    (Kind::Read, "READ"),
    (Kind::Update, "UPDATE"),
    (Kind::Insert, "INSERT"),
    (Kind::Scan, "SCAN"),
    (Kind::ReadModifyWrite, "READ-MODIFY-WRITE"),
    (Kind::Delete, "DELETE"),
];

impl Kind {
    /// Returns YCSB's name of the kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        KINDS[self as usize].1
    }

    fn share(self, properties: &Properties) -> Result<f64> {
        let name = self.name().to_lowercase().replace('-', "");
        properties.share(&format!("{name}proportion"))
    }
}

/// Workload of one server.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Records that the load phase stores.
    pub record_count: u64,
    /// Names of a record's fields.
    pub fields: Arc<[String]>,
    /// Length of a field, in bytes.
    pub field_bytes: usize,
    /// True if it has scans.
    pub has_scans: bool,
    /// True if the keys are kept in a sorted set for scans.
    pub has_index: bool,
    /// True if it has insertions only.
    is_load: bool,
    mix: WeightedIndex<f64>,
    choice: Choice,
    scan_lengths: RangeInclusive<u64>,
    /// Random letters, from which values are cut.
    letters: Arc<str>,
    records: Records,
    random: SmallRng,
}

/// Distribution of the records that operations are for.
#[derive(Clone, Debug)]
enum Choice {
    /// Those of the load phase with equal probability.
    Uniform,
    /// Zipf, with the ranks scattered over so many numbers. There are many more ranks than numbers,
    /// so that the popular numbers do not depend on their count.
    Zipfian(Zipf<f64>, u64),
    /// Zipf over the distance from the newest record.
    Latest,
}

/// Numbers of the records on a server.
#[derive(Clone, Debug)]
struct Records {
    /// Stored records from the oldest up to a gap.
    stored: Range<u64>,
    /// Stored records beyond the gap.
    beyond: BTreeSet<u64>,
    /// Next record to be inserted.
    next: u64,
}

impl Workload {
    /// Reads a workload from properties.
    pub fn new(properties: &Properties) -> Result<Self> {
        let record_count = properties.get("recordcount")?;
        ensure!(record_count > 0, "the property recordcount is not set");
        let (fields, field_bytes): (usize, usize) =
            (properties.get("fieldcount")?, properties.get("fieldlength")?);
        ensure!(
            fields > 0 && field_bytes.checked_mul(fields).is_some_and(|it| it <= RECORD_MAX),
            "{fields} fields of {field_bytes} bytes: a record has 1 to {RECORD_MAX} bytes"
        );
        let scan_lengths = properties.get("minscanlength")?..=properties.get("maxscanlength")?;
        ensure!(!scan_lengths.is_empty(), "the longest scan is shorter than the shortest");
        let mut random = SmallRng::seed_from_u64(1);
        // Letters of YCSB's values: blank to tilde.
        let letters = (0..field_bytes + LETTERS).map(|_| random.random_range(' '..='~'));
        let letters = letters.collect::<String>().into();
        Ok(Self {
            record_count,
            fields: (0..fields).map(|number| format!("field{number}")).collect(),
            field_bytes,
            has_scans: Kind::Scan.share(properties)? > 0.0,
            has_index: properties.get("scanindex")?,
            is_load: false,
            mix: mix(properties)?,
            choice: Choice::new(properties, record_count)?,
            scan_lengths,
            letters,
            records: Records {
                stored: 0..record_count,
                beyond: BTreeSet::new(),
                next: record_count,
            },
            random,
        })
    }

    /// Returns the load phase of this workload: insertions of all records into an empty server.
    #[must_use]
    pub fn loading(&self) -> Self {
        let records = Records { stored: 0..0, beyond: BTreeSet::new(), next: 0 };
        Self { is_load: true, has_scans: false, records, ..self.clone() }
    }

    /// Returns this workload on the records that another one has left.
    #[must_use]
    pub fn after(self, other: &Self) -> Self {
        Self { records: other.records.clone(), ..self }
    }

    /// Returns kind and record of the next operation; `None` if no record is left for it.
    pub fn draw(&mut self) -> Option<(Kind, u64)> {
        let drawn = KINDS[self.mix.sample(&mut self.random)].0;
        let kind = if self.is_load { Kind::Insert } else { drawn };
        let within = self.records.stored.clone();
        let record = match kind {
            Kind::Insert => {
                self.records.next += 1;
                self.records.next - 1
            }
            Kind::Delete => self.records.stored.next()?,
            _ if within.is_empty() => return None,
            _ => self.choose(&within),
        };
        Some((kind, record))
    }

    /// Returns one of the records `within`; others are drawn again.
    fn choose(&mut self, within: &Range<u64>) -> u64 {
        let random = &mut self.random;
        loop {
            let record = match &self.choice {
                Choice::Uniform => random.random_range(0..self.record_count),
                Choice::Zipfian(ranks, count) => fnv_hash(ranks.sample(random) as u64 - 1) % count,
                Choice::Latest => {
                    let ranks = Zipf::new((within.end - within.start) as f64, EXPONENT);
                    within.end - ranks.map_or(1, |ranks| ranks.sample(random) as u64)
                }
            };
            if within.contains(&record) {
                return record;
            }
        }
    }

    /// Returns the most records of a scan.
    pub fn scan_length(&mut self) -> u64 {
        self.random.random_range(self.scan_lengths.clone())
    }

    /// Returns new values of all fields, or of a random one, with their names.
    pub fn values(&mut self, all: bool) -> Vec<(&str, &str)> {
        let Self { fields, letters, random, field_bytes, .. } = self;
        let one = random.random_range(0..fields.len());
        let written = if all { &fields[..] } else { &fields[one..=one] };
        let mut value = || {
            let begin = random.random_range(0..LETTERS);
            &letters[begin..begin + *field_bytes]
        };
        written.iter().map(|name| (name.as_str(), value())).collect()
    }

    /// Marks an inserted record as stored, so that it may be read.
    pub fn note_stored(&mut self, record: u64) {
        let Records { stored, beyond, .. } = &mut self.records;
        beyond.insert(record);
        while beyond.remove(&stored.end) {
            stored.end += 1;
        }
    }
}

impl Choice {
    fn new(properties: &Properties, record_count: u64) -> Result<Self> {
        Ok(match &*properties.get::<String>("requestdistribution")? {
            "uniform" => Self::Uniform,
            "zipfian" => {
                // Room for twice the expected records, so that popular ones remain popular.
                let operations: u64 = properties.get("operationcount")?;
                let to_come = operations as f64 * Kind::Insert.share(properties)? * 2.0;
                Self::Zipfian(Zipf::new(RANKS, EXPONENT)?, record_count + to_come as u64 + 1)
            }
            "latest" => Self::Latest,
            other => bail!("requestdistribution is {other:?}, not uniform, zipfian or latest"),
        })
    }
}

fn mix(properties: &Properties) -> Result<WeightedIndex<f64>> {
    let shares = KINDS.iter().map(|(kind, _)| kind.share(properties));
    let shares = shares.collect::<Result<Vec<_>>>()?;
    let others = [Kind::Read, Kind::Update, Kind::Scan, Kind::ReadModifyWrite];
    ensure!(
        shares[Kind::Delete as usize] == 0.0
            || properties.get::<String>("requestdistribution")? == "latest"
            || others.iter().all(|kind| shares[*kind as usize] == 0.0),
        "what else is done beside deletions must be of the latest records"
    );
    WeightedIndex::new(shares).context("the proportions")
}

/// Returns the key of a record.
#[must_use]
pub fn key(record: u64) -> String {
    format!("user{}", fnv_hash(record))
}

/// Hash by which YCSB scatters numbers: FNV-1a over their eight bytes, without the sign.
fn fnv_hash(number: u64) -> u64 {
    let hash = number.to_le_bytes().iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    });
    (hash as i64).unsigned_abs()
}

/// Bytes of the largest value that servers take; Memcached keeps a record as one value.
const RECORD_MAX: usize = 512 << 20;
/// Number of letters at which a value may begin.
const LETTERS: usize = 1 << 16;
/// Exponent of YCSB's Zipf distributions.
const EXPONENT: f64 = 0.99;
/// Ranks of a scattered Zipf distribution.
const RANKS: f64 = 1e10;

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn workload(settings: &[&str]) -> Workload {
        try_workload(settings).expect("sound properties")
    }

    fn try_workload(settings: &[&str]) -> Result<Workload> {
        let mut properties = Properties::default();
        for property in ["recordcount=100", "operationcount=100"].iter().chain(settings) {
            properties.set(property)?;
        }
        Workload::new(&properties)
    }

    #[test]
    fn operations_and_records_come_in_their_proportions() {
        // Weight of the first of a hundred Zipf ranks.
        let first = 1.0 / (1..=100).map(|rank| f64::from(rank).powf(-EXPONENT)).sum::<f64>();
        // The first of ten billion ranks, and an even part of almost all others.
        let popular = (fnv_hash(0) % 101, 1.0 / 26.47 + 0.01);
        for (choice, (popular, share)) in
            [("uniform", (7, 0.01)), ("latest", (99, first)), ("zipfian", popular)]
        {
            let choice = format!("requestdistribution={choice}");
            let shares = ["readproportion=0.7", "updateproportion=0.3"];
            let mut drawn = workload(&[&shares[..], &[&choice]].concat());
            let all: Vec<_> = (0..100_000).map_while(|_| drawn.draw()).collect();
            let count = |is_meant: &dyn Fn(&(Kind, u64)) -> bool| {
                all.iter().filter(|it| is_meant(it)).count() as f64 / 1e5
            };
            assert!((count(&|it| it.0 == Kind::Update) - 0.3).abs() < 0.01, "{choice}");
            assert!((count(&|it| it.1 == popular) - share).abs() < 0.015, "{choice}");
            assert!(all.iter().all(|it| it.1 < 100), "{choice}");
        }
    }

    #[test]
    fn deletions_take_the_oldest_until_none_is_left() {
        let shares = ["readproportion=0", "updateproportion=0", "deleteproportion=1"];
        let mut deletions = workload(&[&shares[..], &["recordcount=3"]].concat());
        let drawn: Vec<_> = std::iter::from_fn(|| Some(deletions.draw()?.1)).collect();
        assert_eq!(drawn, [0, 1, 2]);
    }

    #[test]
    fn records_are_read_once_all_before_them_are_stored() {
        let mut inserts =
            workload(&["readproportion=0", "updateproportion=0", "insertproportion=1"]);
        let issued = [0; 3].map(|_| inserts.draw().unwrap().1);
        assert_eq!(issued, [100, 101, 102]);
        inserts.note_stored(102);
        inserts.note_stored(101);
        assert_eq!(inserts.records.stored, 0..100);
        inserts.note_stored(100);
        assert_eq!(workload(&[]).after(&inserts).records.stored, 0..103);
    }

    #[test]
    fn keys_are_those_of_ycsb() {
        // Keys that YCSB's load phase stores first.
        assert_eq!([key(0), key(1)], ["user6284781860667377211", "user8517097267634966620"]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for settings in [
            &["requestdistribution=random"][..],
            &["recordcount=0"],
            &["minscanlength=1001"],
            &["readproportion=2"],
            &["readproportion=0", "updateproportion=0"],
            &["deleteproportion=0.1"],
            &["fieldcount=0"],
            &["fieldcount=18446744073709551615"],
            &["fieldlength=60000000"],
        ] {
            assert!(try_workload(settings).is_err(), "{settings:?}");
        }
    }
}
