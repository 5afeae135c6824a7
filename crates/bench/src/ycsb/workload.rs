//! Operations of clients: YCSB's `CoreWorkload`.

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::choose::{Chooser, fnv_hash};
use super::properties::Properties;

/// Kind of operation on records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Reads a record.
    Read,
    /// Overwrites fields of a record.
    Update,
    /// Adds a record.
    Insert,
    /// Reads a record and those behind it.
    Scan,
    /// Reads a record and then overwrites fields of it.
    ReadModifyWrite,
    /// Removes the oldest record. YCSB's core workloads have none.
    Delete,
}

/// Kinds, with their names in reports and the properties that hold their shares.
const KINDS: [(Kind, &str, &str); 6] = [
    (Kind::Read, "READ", "readproportion"),
    (Kind::Update, "UPDATE", "updateproportion"),
    (Kind::Insert, "INSERT", "insertproportion"),
    (Kind::Scan, "SCAN", "scanproportion"),
    (Kind::ReadModifyWrite, "READ-MODIFY-WRITE", "readmodifywriteproportion"),
    (Kind::Delete, "DELETE", "deleteproportion"),
];

impl Kind {
    /// Returns YCSB's name of the kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        KINDS[self as usize].1
    }
}

/// One operation. Values of fields are drawn when they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Kind of operation.
    pub kind: Kind,
    /// Number of the record, or of the first one.
    pub record: u64,
    /// Field that is read, if any is; absent for all.
    pub read: Option<usize>,
    /// Field that is written, if any is; absent for all.
    pub written: Option<usize>,
    /// Most records of a scan.
    pub count: u64,
}

/// Numbers of the records on a server.
#[derive(Clone, Debug)]
struct Records {
    /// Oldest record.
    first: u64,
    /// Next record to be inserted.
    next: u64,
    /// All records from the first to below this number are stored.
    stored: u64,
    /// Stored records above that.
    beyond: BTreeSet<u64>,
}

/// Workload of one server.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Records that the load phase stores.
    pub to_load: Range<u64>,
    /// Number of fields of a record.
    pub fields: usize,
    /// Largest length of a field, in bytes.
    pub field_bytes: usize,
    /// True if it has scans.
    pub has_scans: bool,
    /// True if the keys are kept in a sorted set for scans.
    pub has_index: bool,
    mix: WeightedIndex<f64>,
    choice: Chooser,
    scan_lengths: Chooser,
    reads_all: bool,
    writes_all: bool,
    is_hashed: bool,
    zero_padding: usize,
    names: Arc<[String]>,
    lengths: Chooser,
    /// Random letters, from which values are cut.
    letters: Arc<str>,
    records: Records,
    random: SmallRng,
}

impl Workload {
    /// Reads a workload from properties.
    pub fn new(properties: &Properties) -> Result<Self> {
        let name = properties.text("workload");
        ensure!(name.ends_with("CoreWorkload"), "there is no workload {name} here");
        let records: u64 = properties.get("recordcount")?;
        let to_load = to_load(properties, records)?;
        let fields: usize = properties.get("fieldcount")?;
        let longest: u64 = properties.get("fieldlength")?;
        ensure!(
            fields > 0 && longest.checked_mul(fields as u64).is_some_and(|it| it <= RECORD_MAX),
            "{fields} fields of {longest} bytes: a record has 1 to {RECORD_MAX} bytes"
        );
        let zero_padding = properties.get("zeropadding")?;
        ensure!(zero_padding <= DIGITS_MAX, "the property zeropadding is above {DIGITS_MAX}");
        let mut random = SmallRng::seed_from_u64(1);
        // Letters of YCSB's values: blank to tilde.
        let letters = 0..longest as usize + LETTERS;
        let letters = letters.map(|_| char::from(random.random_range(b' '..=b'~')));
        let letters = letters.collect::<String>().into();
        let prefix = properties.text("fieldnameprefix");
        let lengths = |of: &str, first, last| {
            Chooser::of_lengths(properties.text(of), properties.get(first)?, last).context(first)
        };
        Ok(Self {
            fields,
            field_bytes: longest as usize,
            has_scans: properties.share("scanproportion")? > 0.0,
            has_index: properties.get("scanindex")?,
            mix: mix(properties)?,
            choice: choice(properties, &to_load, records)?,
            scan_lengths: lengths(
                "scanlengthdistribution",
                "minscanlength",
                properties.get("maxscanlength")?,
            )?,
            reads_all: properties.get("readallfields")?,
            writes_all: properties.get("writeallfields")?,
            is_hashed: properties.text("insertorder") == "hashed",
            zero_padding,
            names: (0..fields).map(|number| format!("{prefix}{number}")).collect(),
            lengths: lengths("fieldlengthdistribution", "minfieldlength", longest)?,
            letters,
            records: Records {
                first: to_load.start,
                next: records,
                stored: records,
                beyond: BTreeSet::new(),
            },
            to_load,
            random,
        })
    }

    /// Returns this workload on the records that another one has left.
    #[must_use]
    pub fn after(self, other: Self) -> Self {
        Self { records: other.records, ..self }
    }

    /// Returns the operation that stores a record of the load phase.
    #[must_use]
    pub fn insertion(record: u64) -> Operation {
        Operation { kind: Kind::Insert, record, read: None, written: None, count: 0 }
    }

    /// Returns the next operation of the run phase; `None` if no record is left for it.
    pub fn draw(&mut self) -> Option<Operation> {
        let kind = KINDS[self.mix.sample(&mut self.random)].0;
        let within = self.records.all()?;
        let record = match kind {
            Kind::Insert => self.records.issue(),
            Kind::Delete => self.records.take_oldest(),
            _ => self.choice.draw(&within, &mut self.random),
        };
        let one = |random: &mut SmallRng| Some(random.random_range(0..self.fields));
        let read = if self.reads_all { None } else { one(&mut self.random) };
        let writes_all = self.writes_all || kind == Kind::Insert;
        let written = if writes_all { None } else { one(&mut self.random) };
        let count = match kind {
            Kind::Scan => self.scan_lengths.draw(&(0..=u64::MAX), &mut self.random),
            _ => 0,
        };
        Some(Operation { kind, record, read, written, count })
    }

    /// Marks an inserted record as stored, so that it may be read.
    pub fn note_stored(&mut self, record: u64) {
        self.records.note_stored(record);
    }

    /// Returns the key of a record.
    #[must_use]
    pub fn key(&self, record: u64) -> String {
        let number = if self.is_hashed { fnv_hash(record) } else { record };
        format!("user{number:0width$}", width = self.zero_padding)
    }

    /// Returns the name of a field.
    #[must_use]
    pub fn name(&self, field: usize) -> &str {
        &self.names[field]
    }

    /// Returns one field, or all, with new values.
    pub fn values(&mut self, written: Option<usize>) -> Vec<(&str, &str)> {
        let fields = written.map_or(0..self.fields, |field| field..field + 1);
        let mut cut = || {
            let length = self.lengths.draw(&(0..=u64::MAX), &mut self.random) as usize;
            let begin = self.random.random_range(0..LETTERS);
            begin..begin + length
        };
        let cuts: Vec<_> = fields.map(|field| (field, cut())).collect();
        let value =
            |(field, cut): (usize, Range<usize>)| (self.names[field].as_str(), &self.letters[cut]);
        cuts.into_iter().map(value).collect()
    }
}

impl Records {
    fn all(&self) -> Option<RangeInclusive<u64>> {
        (self.first < self.stored).then(|| self.first..=self.stored - 1)
    }

    fn issue(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    fn take_oldest(&mut self) -> u64 {
        self.first += 1;
        self.first - 1
    }

    fn note_stored(&mut self, record: u64) {
        self.beyond.insert(record);
        while self.beyond.first() == Some(&self.stored) {
            self.beyond.pop_first();
            self.stored += 1;
        }
    }
}

fn to_load(properties: &Properties, records: u64) -> Result<Range<u64>> {
    ensure!(records > 0, "the property recordcount is not set");
    let first: u64 = properties.get("insertstart")?;
    let count: u64 = match properties.text("insertcount") {
        "" => records.saturating_sub(first),
        _ => properties.get("insertcount")?,
    };
    let end = first.checked_add(count).filter(|end| count > 0 && *end <= records);
    let end = end.with_context(|| {
        format!("insertstart {first} and insertcount {count} reach beyond recordcount {records}")
    })?;
    Ok(first..end)
}

fn mix(properties: &Properties) -> Result<WeightedIndex<f64>> {
    let shares = KINDS.iter().map(|(_, _, name)| properties.share(name));
    let shares = shares.collect::<Result<Vec<_>>>()?;
    let is_safe = |(kind, share): (&(Kind, _, _), &f64)| {
        *share == 0.0 || matches!(kind.0, Kind::Insert | Kind::Delete)
    };
    let deletes = shares[Kind::Delete as usize] > 0.0;
    ensure!(
        !deletes
            || properties.text("requestdistribution") == "latest"
            || KINDS.iter().zip(&shares).all(is_safe),
        "what else is done beside deletions must be of the latest records"
    );
    WeightedIndex::new(shares).context("the proportions")
}

fn choice(properties: &Properties, to_load: &Range<u64>, records: u64) -> Result<Chooser> {
    let (first, count) = (to_load.start, to_load.end - to_load.start);
    Ok(match properties.text("requestdistribution") {
        "uniform" => Chooser::Uniform { first, last: to_load.end - 1 },
        "sequential" => Chooser::Sequential { first, count, drawn: 0 },
        "zipfian" => {
            // Room for twice the expected records, so that popular ones remain popular.
            let operations: u64 = properties.get("operationcount")?;
            let to_come = operations as f64 * properties.share("insertproportion")? * 2.0;
            Chooser::scrambled(first, count + to_come as u64 + 1)?
        }
        "latest" => Chooser::Latest,
        "hotspot" => {
            let hot = (count as f64 * properties.share("hotspotdatafraction")?) as u64;
            let share = properties.share("hotspotopnfraction")?;
            Chooser::HotSpot { first, hot, cold: count - hot, share }
        }
        "exponential" => Chooser::exponential(
            properties.get("exponential.percentile")?,
            records as f64 * properties.share("exponential.frac")?,
        )?,
        other => bail!("there is no requestdistribution {other:?}"),
    })
}

/// Bytes of the largest value that servers take; Memcached keeps a record as one value.
const RECORD_MAX: u64 = 512 << 20;
/// Most digits of a key.
const DIGITS_MAX: usize = 200;
/// Number of letters at which a value may begin.
const LETTERS: usize = 1 << 16;

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn workload(settings: &[(&str, &str)]) -> Workload {
        try_workload(settings).expect("sound properties")
    }

    fn try_workload(settings: &[(&str, &str)]) -> Result<Workload> {
        let mut properties = Properties::default();
        let common = [("recordcount", "1000"), ("operationcount", "1000")];
        for (name, value) in common.iter().chain(settings) {
            properties.set(name, value)?;
        }
        Workload::new(&properties)
    }

    #[test]
    fn operations_come_in_their_proportions() {
        let mut mixed = workload(&[
            ("readproportion", "0.5"),
            ("updateproportion", "0.2"),
            ("scanproportion", "0.1"),
            ("readmodifywriteproportion", "0.2"),
        ]);
        let mut counts = [0; 6];
        for _ in 0..100_000 {
            counts[mixed.draw().unwrap().kind as usize] += 1;
        }
        for (count, expected) in counts.into_iter().zip([50_000, 20_000, 0, 10_000, 20_000, 0]) {
            assert!(i64::abs_diff(count, expected) < 600, "{counts:?}");
        }
    }

    #[test]
    fn every_distribution_stays_with_records_that_are_there() {
        let names = ["uniform", "sequential", "zipfian", "latest", "hotspot", "exponential"];
        for name in names {
            let mut drawn = workload(&[("requestdistribution", name), ("insertproportion", "0.2")]);
            let mut last = 999;
            for _ in 0..20_000 {
                let operation = drawn.draw().unwrap();
                if operation.kind == Kind::Insert {
                    last += 1;
                    assert_eq!(operation.record, last, "{name}");
                    drawn.note_stored(last);
                } else {
                    assert!(operation.record <= last, "{name}");
                }
            }
            assert!(last > 4_000);
        }
    }

    #[test]
    fn deletions_take_the_oldest_until_none_is_left() {
        let shares = [("readproportion", "0"), ("updateproportion", "0"), ("recordcount", "3")];
        let mut deletions = workload(&[&shares[..], &[("deleteproportion", "1")]].concat());
        let drawn: Vec<_> = std::iter::from_fn(|| Some(deletions.draw()?.record)).collect();
        assert_eq!(drawn, [0, 1, 2]);
        assert!(try_workload(&[("deleteproportion", "0.1")]).is_err());
    }

    #[test]
    fn records_are_read_once_all_before_them_are_stored() {
        let mut drawn = workload(&[]);
        let issued = [0; 3].map(|_| drawn.records.issue());
        assert_eq!(issued, [1000, 1001, 1002]);
        drawn.note_stored(1002);
        drawn.note_stored(1001);
        assert_eq!(drawn.records.all(), Some(0..=999));
        drawn.note_stored(1000);
        assert_eq!(workload(&[]).after(drawn).records.all(), Some(0..=1002));
    }

    #[test]
    fn keys_are_those_of_ycsb() {
        let key = |settings: &[_], record| workload(settings).key(record);
        let ordered = ("insertorder", "ordered");
        assert_eq!(key(&[ordered], 42), "user42");
        assert_eq!(key(&[ordered, ("zeropadding", "8")], 42), "user00000042");
        // Key that YCSB's load phase stores first.
        assert_eq!(key(&[], 0), "user6284781860667377211");
        assert_eq!(key(&[], 1), "user8517097267634966620");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let exponential = ("requestdistribution", "exponential");
        for settings in [
            &[("requestdistribution", "random")][..],
            &[("recordcount", "0")],
            &[("insertstart", "1001")],
            &[("insertcount", "2000")],
            &[("insertcount", "18446744073709551615")],
            &[("fieldlengthdistribution", "histogram")],
            &[("minfieldlength", "101")],
            &[("scanlengthdistribution", "histogram")],
            &[("readproportion", "2")],
            &[("readproportion", "0"), ("updateproportion", "0")],
            &[("fieldcount", "0")],
            &[("fieldcount", "18446744073709551615")],
            &[("fieldlength", "60000000")],
            &[("zeropadding", "65536")],
            &[("workload", "site.ycsb.workloads.RestWorkload")],
            &[exponential, ("exponential.percentile", "0")],
            &[exponential, ("exponential.percentile", "100")],
            &[exponential, ("exponential.percentile", "NaN")],
        ] {
            assert!(try_workload(settings).is_err(), "{settings:?}");
        }
    }
}
