//! Operations of clients: YCSB's `CoreWorkload`.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::Zipf;

use super::properties::Properties;

/// Kind of operation on records; YCSB's core workloads have no deletions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Read,
    Update,
    Insert,
    /// Reads a record and those behind it.
    Scan,
    ReadModifyWrite,
    /// Removes the oldest record.
    Delete,
}

const KINDS: [Kind; 6] =
    [Kind::Read, Kind::Update, Kind::Insert, Kind::Scan, Kind::ReadModifyWrite, Kind::Delete];

impl Kind {
    /// Returns YCSB's name of the kind.
    pub fn name(self) -> String {
        let name = format!("{self:?}").to_uppercase();
        name.replace("READMODIFYWRITE", "READ-MODIFY-WRITE")
    }

    fn share(self, properties: &Properties) -> Result<f64> {
        properties.get(&format!("{self:?}proportion").to_lowercase())
    }
}

/// Workload of one server.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Number of records that the load phase stores.
    pub record_count: u64,
    pub fields: Arc<[String]>,
    pub field_bytes: usize,
    pub has_scans: bool,
    /// True if the keys are kept in a sorted set for scans.
    pub has_index: bool,
    /// Shares of [`KINDS`]; without them all operations are insertions.
    mix: Option<WeightedIndex<f64>>,
    choice: Choice,
    scan_lengths: RangeInclusive<u64>,
    /// Random letters, of which values are slices.
    letters: Arc<str>,
    /// Records from the oldest to the newest, which may not be stored yet.
    records: Range<u64>,
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
        let has_scans = Kind::Scan.share(properties)? > 0.0;
        let mut random = SmallRng::seed_from_u64(1);
        // Letters of YCSB's values: blank to tilde.
        let letters = (0..field_bytes + LETTERS).map(|_| random.random_range(' '..='~'));
        let letters = letters.collect::<String>().into();
        Ok(Self {
            record_count,
            fields: (0..fields).map(|number| format!("field{number}")).collect(),
            field_bytes,
            has_scans,
            has_index: has_scans || properties.get("scanindex")?,
            mix: Some(mix(properties)?),
            choice: Choice::new(properties, record_count)?,
            scan_lengths,
            letters,
            records: 0..record_count,
            random,
        })
    }

    /// Returns the load phase of this workload: insertions into an empty server.
    pub fn loading(&self) -> Self {
        Self { mix: None, has_scans: false, records: 0..0, ..self.clone() }
    }

    /// Returns this workload on the records that another one has left.
    pub fn after(self, other: &Self) -> Self {
        Self { records: other.records.clone(), ..self }
    }

    /// Returns kind and record of the next operation; `None` if no record is left for it. Records
    /// from the first one on that is `in_flight` may not be stored yet.
    pub fn draw(&mut self, in_flight: impl Iterator<Item = u64>) -> Option<(Kind, u64)> {
        let Self { mix, random, records, .. } = self;
        let kind = mix.as_ref().map_or(Kind::Insert, |mix| KINDS[mix.sample(random)]);
        let within = records.start..in_flight.min().unwrap_or(records.end);
        let record = match kind {
            Kind::Insert => {
                records.end += 1;
                records.end - 1
            }
            _ if within.is_empty() => return None,
            Kind::Delete => records.next()?,
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
    let shares = KINDS.iter().map(|kind| kind.share(properties));
    let shares = shares.collect::<Result<Vec<_>>>()?;
    let (deleted, inserted) = (shares[Kind::Delete as usize], shares[Kind::Insert as usize]);
    ensure!(
        deleted == 0.0 || shares.iter().sum::<f64>() == inserted + deleted,
        "what is done beside deletions can only be insertions"
    );
    WeightedIndex::new(shares).context("the proportions")
}

/// Returns the key of a record.
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
    use std::iter::{empty, from_fn, once};

    use super::*;

    pub fn workload(settings: &str) -> Workload {
        try_workload(settings).expect("sound properties")
    }

    fn try_workload(settings: &str) -> Result<Workload> {
        let mut properties = Properties::default();
        let settings = format!("recordcount=100 operationcount=100 {settings}");
        settings.split_whitespace().try_for_each(|property| properties.set(property))?;
        Workload::new(&properties)
    }

    #[test]
    fn operations_and_records_come_in_their_proportions() {
        // Weight of the first of a hundred Zipf ranks.
        let first = 1.0 / (1..=100).map(|rank| f64::from(rank).powf(-EXPONENT)).sum::<f64>();
        // Weight of the first of ten billion ranks, and an even part of almost all others.
        let scattered = 1.0 / 26.47 + 0.01;
        for (choice, popular, share) in
            [("uniform", 7, 0.01), ("latest", 99, first), ("zipfian", fnv_hash(0) % 101, scattered)]
        {
            let shares = "readproportion=7 updateproportion=3";
            let mut drawn = workload(&format!("{shares} requestdistribution={choice}"));
            let all: Vec<_> = (0..100_000).map_while(|_| drawn.draw(empty())).collect();
            let updates = all.iter().filter(|it| it.0 == Kind::Update).count() as f64 / 1e5;
            let popular = all.iter().filter(|it| it.1 == popular).count() as f64 / 1e5;
            assert!((updates - 0.3).abs() < 0.01, "{choice}: {updates}");
            assert!((popular - share).abs() < 0.01, "{choice}: {popular}, not {share}");
            assert!(all.iter().all(|it| it.1 < 100), "{choice}");
        }
    }

    #[test]
    fn records_are_deleted_from_the_oldest_on_up_to_one_that_may_not_be_stored() {
        let only = |kind: &str| {
            workload(&format!("recordcount=3 readproportion=0 updateproportion=0 {kind}"))
        };
        let mut inserts = only("insertproportion=1");
        assert_eq!([0; 3].map(|_| inserts.draw(empty()).unwrap().1), [3, 4, 5]);
        let mut deletes = only("deleteproportion=1").after(&inserts);
        let drawn: Vec<_> = from_fn(|| Some(deletes.draw(once(4))?.1)).collect();
        assert_eq!(drawn, [0, 1, 2, 3]);
    }

    #[test]
    fn keys_are_those_of_ycsb() {
        // Keys that YCSB's load phase stores first.
        assert_eq!([key(0), key(1)], ["user6284781860667377211", "user8517097267634966620"]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let settings = "requestdistribution=random recordcount=0 minscanlength=1001 \
            readproportion=-1 deleteproportion=0.1 fieldcount=0 fieldcount=18446744073709551615 \
            fieldlength=60000000";
        for setting in settings.split(' ') {
            assert!(try_workload(setting).is_err(), "{setting}");
        }
    }
}
