//! Operations of clients: YCSB's `CoreWorkload`.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail, ensure};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::choose::{Chooser, EXPONENT, Zipf};
use super::properties::Properties;
use super::record::{Fields, Naming};

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
}

impl Kind {
    /// All kinds, in the order in which YCSB reports them.
    pub const ALL: [Kind; 5] =
        [Kind::Read, Kind::Update, Kind::Insert, Kind::Scan, Kind::ReadModifyWrite];

    /// Returns YCSB's name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Read => "READ",
            Kind::Update => "UPDATE",
            Kind::Insert => "INSERT",
            Kind::Scan => "SCAN",
            Kind::ReadModifyWrite => "READ-MODIFY-WRITE",
        }
    }
}

/// Fields of a record that are read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All fields.
    All,
    /// The field of a number.
    One(usize),
}

/// One operation. Values of fields are drawn when they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Kind of operation.
    pub kind: Kind,
    /// Number of the record, or of the first one.
    pub record: u64,
    /// Fields that are read, if any are.
    pub read: Wanted,
    /// Fields that are written, if any are.
    pub written: Wanted,
    /// Most records of a scan.
    pub count: u64,
}

/// Records on a server, shared by all of its clients.
#[derive(Debug)]
pub struct Records {
    /// Number of records that the load phase stores.
    at_first: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Number of the next record.
    next: u64,
    /// All records below this number are stored.
    stored: u64,
    /// Stored records above that.
    beyond: BTreeSet<u64>,
}

impl Records {
    fn new(count: u64) -> Records {
        let state = State { next: count, stored: count, beyond: BTreeSet::new() };
        Records { at_first: count, state: Mutex::new(state) }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn issue(&self) -> u64 {
        let mut state = self.state();
        state.next += 1;
        state.next - 1
    }

    /// Marks a record as stored, so that it may be read.
    pub fn note_stored(&self, record: u64) {
        let mut state = self.state();
        state.beyond.insert(record);
        while state.beyond.first() == Some(&state.stored) {
            state.beyond.pop_first();
            state.stored += 1;
        }
    }

    /// Returns the highest number up to which all records are stored.
    fn last(&self) -> u64 {
        self.state().stored - 1
    }
}

/// Choice of records.
#[derive(Clone, Debug)]
enum Choice {
    /// By number.
    Number(Chooser),
    /// By the distance from the last record.
    BeforeLast(Chooser),
    /// By the distance from the last record, in Zipf ranks.
    Latest(Zipf),
}

/// Workload of one client.
#[derive(Clone, Debug)]
pub struct Workload {
    mix: Vec<(Kind, f64)>,
    choice: Choice,
    scan_lengths: Chooser,
    reads_all: bool,
    writes_all: bool,
    /// Names of records.
    pub naming: Naming,
    /// Fields of records.
    pub fields: Fields,
    /// Stored records.
    pub records: Arc<Records>,
    /// Random numbers of this client.
    pub random: SmallRng,
}

/// Records that the load phase stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Number of the first record.
    pub first: u64,
    /// Number of records.
    pub count: u64,
}

impl Load {
    /// Reads the load phase from properties.
    ///
    /// # Errors
    /// If recordcount is not set, or the load phase is empty or reaches beyond recordcount.
    pub fn new(properties: &Properties) -> Result<Load> {
        let records: u64 = properties.get("recordcount")?;
        ensure!(records > 0, "the property recordcount is not set");
        let first = properties.get("insertstart")?;
        let count = match properties.text("insertcount") {
            "" => records.saturating_sub(first),
            _ => properties.get("insertcount")?,
        };
        ensure!(
            count > 0 && first.checked_add(count).is_some_and(|last| last <= records),
            "insertstart {first} and insertcount {count} reach beyond recordcount {records}"
        );
        Ok(Load { first, count })
    }
}

impl Workload {
    /// Reads the workload of the first client from properties.
    ///
    /// # Errors
    /// If a property has an invalid value.
    pub fn new(properties: &Properties) -> Result<Workload> {
        let name = properties.text("workload");
        ensure!(name.ends_with("CoreWorkload"), "there is no workload {name} here");
        let load = Load::new(properties)?;
        let field_count: usize = properties.get("fieldcount")?;
        ensure!(field_count > 0, "the property fieldcount is 0");
        let longest: u64 = properties.get("fieldlength")?;
        ensure!(
            longest.checked_mul(field_count as u64).is_some_and(|bytes| bytes <= RECORD_BYTES_MAX),
            "fieldcount {field_count} and fieldlength {longest} make records of more than \
             {RECORD_BYTES_MAX} bytes"
        );
        let zero_padding = properties.get("zeropadding")?;
        ensure!(zero_padding <= DIGITS_MAX, "the property zeropadding is above {DIGITS_MAX}");
        let fields = Fields::new(
            properties.text("fieldnameprefix"),
            field_count,
            field_lengths(properties, longest)?,
            longest as usize,
        );
        let records: u64 = properties.get("recordcount")?;
        Ok(Workload {
            mix: mix(properties)?,
            choice: choice(properties, load, records)?,
            scan_lengths: scan_lengths(properties)?,
            reads_all: properties.get("readallfields")?,
            writes_all: properties.get("writeallfields")?,
            naming: Naming { is_hashed: properties.text("insertorder") == "hashed", zero_padding },
            fields,
            records: Arc::new(Records::new(records)),
            random: SmallRng::seed_from_u64(0),
        })
    }

    /// Returns the same workload for another client: with the same records and other random
    /// numbers.
    #[must_use]
    pub fn for_client(&self, number: u64) -> Workload {
        Workload { random: SmallRng::seed_from_u64(number), ..self.clone() }
    }

    /// Returns the same workload for another server, without the records that were inserted.
    #[must_use]
    pub fn for_server(&self) -> Workload {
        Workload { records: Arc::new(Records::new(self.records.at_first)), ..self.clone() }
    }

    /// Returns the operation that stores a record of the load phase.
    pub fn insertion(&self, record: u64) -> Operation {
        let (read, written) = (Wanted::All, Wanted::All);
        Operation { kind: Kind::Insert, record, read, written, count: 0 }
    }

    /// Returns the next operation of the run phase.
    pub fn draw(&mut self) -> Operation {
        let kind = self.draw_kind();
        let record = match kind {
            Kind::Insert => self.records.issue(),
            _ => self.draw_record(),
        };
        let read = if self.reads_all { Wanted::All } else { self.draw_field() };
        let written = match kind {
            Kind::Insert => Wanted::All,
            _ if self.writes_all => Wanted::All,
            _ => self.draw_field(),
        };
        let count = match kind {
            Kind::Scan => self.scan_lengths.draw(&mut self.random),
            _ => 0,
        };
        Operation { kind, record, read, written, count }
    }

    fn draw_kind(&mut self) -> Kind {
        let total: f64 = self.mix.iter().map(|(_, weight)| weight).sum();
        let mut place = self.random.random::<f64>() * total;
        for (kind, weight) in &self.mix {
            if place < *weight {
                return *kind;
            }
            place -= weight;
        }
        self.mix[self.mix.len() - 1].0
    }

    fn draw_record(&mut self) -> u64 {
        let last = self.records.last();
        loop {
            let record = match &mut self.choice {
                // Numbers of records that do not exist yet are drawn again.
                Choice::Number(numbers) => Some(numbers.draw(&mut self.random)),
                Choice::BeforeLast(numbers) => last.checked_sub(numbers.draw(&mut self.random)),
                Choice::Latest(ranks) => {
                    Some(last - ranks.draw_below(last.max(1), &mut self.random).min(last))
                }
            };
            if let Some(record) = record.filter(|record| *record <= last) {
                return record;
            }
        }
    }

    fn draw_field(&mut self) -> Wanted {
        Wanted::One(self.fields.draw(&mut self.random))
    }
}

fn mix(properties: &Properties) -> Result<Vec<(Kind, f64)>> {
    let names = [
        "readproportion",
        "updateproportion",
        "insertproportion",
        "scanproportion",
        "readmodifywriteproportion",
    ];
    let mut mix = Vec::new();
    for (kind, name) in Kind::ALL.into_iter().zip(names) {
        let share = properties.share(name)?;
        if share > 0.0 {
            mix.push((kind, share));
        }
    }
    ensure!(!mix.is_empty(), "all proportions are 0");
    Ok(mix)
}

fn choice(properties: &Properties, load: Load, records: u64) -> Result<Choice> {
    let Load { first, count } = load;
    let last = first + count - 1;
    Ok(match properties.text("requestdistribution") {
        "uniform" => Choice::Number(Chooser::Uniform { first, last }),
        "sequential" => Choice::Number(Chooser::Sequential { first, count, drawn: 0 }),
        "zipfian" => {
            // Room for twice the expected records, so that popular ones remain popular.
            let operations: u64 = properties.get("operationcount")?;
            let to_come = operations as f64 * properties.share("insertproportion")? * 2.0;
            Choice::Number(Chooser::scrambled(first, count + to_come as u64 + 1))
        }
        "latest" => Choice::Latest(Zipf::new((records - 1).max(1), EXPONENT)),
        "hotspot" => {
            let hot = (count as f64 * properties.share("hotspotdatafraction")?) as u64;
            let share = properties.share("hotspotopnfraction")?;
            Choice::Number(Chooser::HotSpot { first, hot, cold: count - hot, share })
        }
        "exponential" => {
            let range = records as f64 * properties.share("exponential.frac")?;
            let percentile: f64 = properties.get("exponential.percentile")?;
            ensure!(
                percentile > 0.0 && percentile < 100.0 && range > 0.0,
                "exponential.percentile is {percentile}, of {range} records"
            );
            Choice::BeforeLast(Chooser::exponential(percentile, range))
        }
        other => bail!("there is no requestdistribution {other:?}"),
    })
}

fn field_lengths(properties: &Properties, longest: u64) -> Result<Chooser> {
    let first = properties.get("minfieldlength")?;
    ensure!(first <= longest, "minfieldlength is {first}, above fieldlength {longest}");
    Ok(match properties.text("fieldlengthdistribution") {
        "constant" => Chooser::Constant(longest),
        "uniform" => Chooser::Uniform { first, last: longest },
        "zipfian" => Chooser::Zipf { first, ranks: Zipf::new(longest - first + 1, EXPONENT) },
        other => bail!("there is no fieldlengthdistribution {other:?} here"),
    })
}

fn scan_lengths(properties: &Properties) -> Result<Chooser> {
    let (first, last) = (properties.get("minscanlength")?, properties.get("maxscanlength")?);
    ensure!(first <= last, "minscanlength is {first}, above maxscanlength {last}");
    Ok(match properties.text("scanlengthdistribution") {
        "uniform" => Chooser::Uniform { first, last },
        "zipfian" => Chooser::Zipf { first, ranks: Zipf::new(last - first + 1, EXPONENT) },
        other => bail!("there is no scanlengthdistribution {other:?}"),
    })
}

/// Largest value that servers take; Memcached keeps a record as one value.
const RECORD_BYTES_MAX: u64 = 512 << 20;
/// Most digits of a key.
const DIGITS_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(settings: &[(&str, &str)]) -> Workload {
        try_workload(settings).expect("sound properties")
    }

    fn try_workload(settings: &[(&str, &str)]) -> Result<Workload> {
        let mut properties = Properties::default();
        properties.set("recordcount", "1000")?;
        properties.set("operationcount", "1000")?;
        for (name, value) in settings {
            properties.set(name, value)?;
        }
        Workload::new(&properties)
    }

    #[test]
    fn operations_come_in_their_proportions() {
        let mut mixed = workload(&[
            ("readproportion", "0.5"),
            ("updateproportion", "0.2"),
            ("insertproportion", "0"),
            ("scanproportion", "0.1"),
            ("readmodifywriteproportion", "0.2"),
        ]);
        let mut counts = [0; 5];
        for _ in 0..100_000 {
            counts[mixed.draw().kind as usize] += 1;
        }
        let expected = [50_000, 20_000, 0, 10_000, 20_000];
        for (count, expected) in counts.into_iter().zip(expected) {
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
                let operation = drawn.draw();
                if operation.kind == Kind::Insert {
                    last += 1;
                    assert_eq!(operation.record, last, "{name}");
                    drawn.records.note_stored(last);
                } else {
                    assert!(operation.record <= last, "{name}");
                }
            }
            assert!(last > 4_000);
        }
    }

    #[test]
    fn records_are_read_once_all_before_them_are_stored() {
        let records = Records::new(10);
        assert_eq!([records.issue(), records.issue(), records.issue()], [10, 11, 12]);
        records.note_stored(12);
        records.note_stored(11);
        assert_eq!(records.last(), 9);
        records.note_stored(10);
        assert_eq!(records.last(), 12);
    }

    #[test]
    fn what_one_server_was_given_is_not_asked_of_another() {
        let inserts = [("readproportion", "0"), ("updateproportion", "0")];
        let mut first = workload(&[&inserts[..], &[("insertproportion", "1")]].concat());
        let mut client = first.for_client(1);
        let other = first.for_server();
        for drawn in [&mut first, &mut client] {
            let record = drawn.draw().record;
            drawn.records.note_stored(record);
        }
        assert_eq!((first.records.last(), client.records.last()), (1001, 1001));
        assert_eq!(other.records.last(), 999);
    }

    #[test]
    fn the_latest_records_are_read_most() {
        let mut latest = workload(&[("requestdistribution", "latest"), ("insertproportion", "0")]);
        let mut counts = vec![0_u64; 1000];
        for _ in 0..100_000 {
            counts[latest.draw().record as usize] += 1;
        }
        assert!(counts[999] > 10 * counts[900] && counts[900] > 2 * counts[500], "{counts:?}");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for settings in [
            [("requestdistribution", "random")],
            [("recordcount", "0")],
            [("insertstart", "1001")],
            [("insertcount", "2000")],
            [("fieldlengthdistribution", "histogram")],
            [("minfieldlength", "101")],
            [("scanlengthdistribution", "constant")],
            [("readproportion", "2")],
            [("fieldcount", "0")],
            [("fieldcount", "18446744073709551615")],
            [("fieldlength", "60000000")],
            [("zeropadding", "65536")],
            [("insertcount", "18446744073709551615")],
            [("workload", "site.ycsb.workloads.RestWorkload")],
        ] {
            assert!(try_workload(&settings).is_err(), "{settings:?}");
        }
        for percentile in ["0", "100", "NaN"] {
            let settings =
                [("requestdistribution", "exponential"), ("exponential.percentile", percentile)];
            assert!(try_workload(&settings).is_err(), "{settings:?}");
        }
        let nothing =
            [("readproportion", "0"), ("updateproportion", "0"), ("insertproportion", "0")];
        assert!(try_workload(&nothing).is_err());
    }
}
