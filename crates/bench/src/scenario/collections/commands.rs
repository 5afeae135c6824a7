//! Server CPU per command at a pipeline of 16, interleaved with the peers and the null server as
//! `cpu` does it.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::absent;
use super::store::expect;
use crate::generator::{Generator, KeyChoice, Outcome, Script, ScriptShape, Stop, shuffled};
use crate::report::{Figure, Plot, Section};
use crate::scenario::measure::{Measured, measure_source};
use crate::scenario::{
    Bench, PEERS, PEERS_AND_NULL, Scale, Scenario, milliseconds, peers_missing, pin_client,
};
use crate::servers::{Kind, Launch, Program, Server};
use crate::statistics::median;

mod ratios;
pub(in crate::scenario) mod workloads;

use ratios::Ratios;
use workloads::{Data, LISTS_AND_HASHES, Replies, SETS_AND_STREAMS, Workload, all};

/// Thoroughness of the CPU measurement.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Interleaved rounds.
    pub rounds: usize,
    /// Length of one measurement, in milliseconds.
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    pub time: Duration,
    /// Factor for the numbers of keys and elements.
    #[serde(skip)]
    pub size: Scale,
}

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self { rounds: scale.rounds(self.rounds), time: scale.time(self.time), size: scale }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&COLUMNS);
        section.note(
            "50 connections, pipeline 16, one thread; medians of interleaved rounds. The null \
             server answers with as many integers or strings of 16 bytes as the command brings.",
        );
        peers_missing(section, bench);
        let mut ratios = PEERS_AND_NULL.map(|_| Ratios::default());
        for data in all(self.size) {
            section.note(format!("{}: {}.", data.name, data.what));
            run_on(section, bench, self, &data, &mut ratios)?;
        }
        for ((_, name), ratios) in PEERS_AND_NULL.iter().zip(&ratios) {
            let what = format!("CPU of all commands / {name}, geometric mean");
            section.finding(what, ratios.mean(), "");
        }
        for family in [LISTS_AND_HASHES, SETS_AND_STREAMS] {
            section.plot(plot(family, &ratios));
        }
        Ok(())
    }
}

fn plot(family: &str, ratios: &[Ratios]) -> Plot {
    let title = format!("Varve's CPU as a part of a peer's: {family}");
    let mut plot = Plot::bars(title, Vec::new(), "ratio, less is better");
    for ((_, name), ratios) in PEERS.iter().zip(ratios) {
        for (command, ratio) in ratios.of_family(family) {
            plot.bar(&format!("of {name}'s"), command, ratio);
        }
    }
    plot
}

/// Stores the data in fresh servers and measures its commands.
fn run_on(
    section: &mut Section,
    bench: &Bench,
    plan: &Plan,
    data: &Data,
    ratios: &mut [Ratios],
) -> Result<()> {
    let servers: Vec<_> = bench
        .varve_and_peers()
        .map(|program| Tested::start(program, data))
        .collect::<Result<_>>()?;
    for workload in &data.workloads {
        let null = Tested::null(bench, workload)?;
        let servers: Vec<_> = servers.iter().chain([&null]).collect();
        let medians = interleaved(&servers, workload, plan);
        let others = PEERS_AND_NULL.map(|(label, _)| {
            let at = servers.iter().skip(1).position(|tested| tested.server.label == label)?;
            medians[at + 1].as_ref().ok()
        });
        for (median, tested) in medians.iter().zip(&servers) {
            let name = format!("{}, {}", workload.name, data.name);
            let cells = match median {
                Ok(median) => median.cells(others),
                Err(error) => vec![absent(section, &name, error)],
            };
            section.row([name, tested.server.label.clone()].into_iter().chain(cells));
        }
        for (((_, name), other), ratios) in PEERS_AND_NULL.iter().zip(others).zip(&mut *ratios) {
            let both = medians[0].as_ref().ok().zip(other);
            let [ours, theirs] =
                both.map_or([&[][..]; 2], |(varve, other)| [&varve.rounds[..], &other.rounds]);
            let what = format!("CPU of {}, {} / {name}", workload.name, data.name);
            let figure = Figure::ratio(what, ours, theirs);
            ratios.add(data.family, workload.name, figure.measured);
            section.figures.push(figure);
        }
    }
    Ok(())
}

/// Server with its data, or the reason why it has none.
struct Tested<'data> {
    server: Server,
    /// Commands and their expected counts, as in [`Data`].
    counts: &'data [(String, u64)],
    stored: Result<()>,
}

impl<'data> Tested<'data> {
    fn start(program: &Program, data: &'data Data) -> Result<Self> {
        let server = program.start(&Launch::default())?;
        let stored = data.stored.iter().try_for_each(|stored| stored.send(&server));
        let mut tested = Self { server, counts: &data.counts, stored };
        if tested.stored.is_ok() {
            tested.stored = tested.count();
        }
        Ok(tested)
    }

    /// Starts the null server, which holds no data and answers as if it did.
    fn null(bench: &Bench, workload: &Workload) -> Result<Self> {
        let program = bench.null_answering(&workload.replies.example());
        let server = program.start(&Launch::default())?;
        Ok(Self { server, counts: &[], stored: Ok(()) })
    }

    /// Returns the requests beforehand and afterwards, for servers that hold data.
    fn around<'w>(&self, workload: &'w Workload) -> [Option<&'w String>; 2] {
        match self.server.kind {
            Kind::Null => [None, None],
            _ => [workload.before.as_ref(), workload.after.as_ref()],
        }
    }

    /// Checks that exactly the stored elements are present.
    fn count(&self) -> Result<()> {
        let mut counts = self.counts.iter();
        counts.try_for_each(|(command, elements)| expect(&self.server, command, *elements))
    }
}

/// Medians over the rounds, for one server and workload.
struct Median {
    server_us: f64,
    /// CPU time per operation in each round.
    rounds: Vec<f64>,
    operations_per_second: f64,
    generator_us: f64,
}

impl Median {
    fn of(rounds: &[Measured]) -> Self {
        let of = |value: fn(&Measured) -> f64| median(rounds.iter().map(value).collect());
        Self {
            server_us: of(|round| round.server_us),
            rounds: rounds.iter().map(|round| round.server_us).collect(),
            operations_per_second: of(|round| round.outcome.operations_per_second()),
            generator_us: of(|round| round.outcome.generator_us_per_operation()),
        }
    }

    /// Returns the cells of a row, with ratios to the others.
    fn cells(&self, others: [Option<&Self>; PEERS_AND_NULL.len()]) -> Vec<String> {
        let ratio = |other: &Self| format!("{:.2}", self.server_us / other.server_us);
        let [of_valkey, of_redis, of_null] =
            others.map(|other| other.map_or("-".to_owned(), ratio));
        vec![
            format!("{:.3}", self.server_us),
            of_valkey,
            of_redis,
            of_null,
            format!("{:.0}", self.operations_per_second),
            format!("{:.3}", self.generator_us),
        ]
    }
}

/// Measures all servers in turns; a server that fails in one round is left out of the others.
fn interleaved(servers: &[&Tested<'_>], workload: &Workload, plan: &Plan) -> Vec<Result<Median>> {
    let mut measured: Vec<Result<Vec<Measured>>> = servers.iter().map(|_| Ok(Vec::new())).collect();
    for round in 0..plan.rounds {
        for (tested, measured) in servers.iter().zip(&mut measured) {
            let Ok(rounds) = measured else { continue };
            let seed = round as u64 + 1;
            match &tested.stored {
                Err(error) => *measured = Err(anyhow::anyhow!("{error:#}")),
                Ok(()) => match measure_once(tested, workload, plan.time, seed) {
                    Ok(one) => rounds.push(one),
                    Err(error) => *measured = Err(error),
                },
            }
        }
    }
    measured.into_iter().map(|rounds| rounds.map(|rounds| Median::of(&rounds))).collect()
}

fn measure_once(
    tested: &Tested<'_>,
    workload: &Workload,
    time: Duration,
    seed: u64,
) -> Result<Measured> {
    let mut generator = Generator::connect(tested.server.port, CONNECTIONS)?;
    let script = |request: &str| Script::new(&workload.shape(request, PIPELINE), seed);
    // Numbers are drawn from the seed, so that the requests beforehand insert exactly the elements
    // that are then removed, and the requests afterwards remove those that were inserted.
    let [before, after] = tested.around(workload);
    let undo = |generator: &mut Generator, operations| {
        let Some(after) = after else { return Ok(()) };
        let outcome = generator.drive(&mut script(after)?, Stop::Operations(operations))?;
        ensure!(outcome.replies.error == 0, "{}", outcome.first_error.unwrap_or_default());
        Ok(())
    };
    let stop = match before {
        None => {
            let warm_up = Stop::After(time / 5);
            let warm = generator.drive(&mut script(&workload.request)?, warm_up)?;
            undo(&mut generator, warm.operations)?;
            Stop::After(time)
        }
        Some(before) => {
            let outcome = generator.drive(&mut script(before)?, Stop::After(time))?;
            ensure!(outcome.replies.error == 0, "{}", outcome.first_error.unwrap_or_default());
            Stop::Operations(outcome.operations)
        }
    };
    let mut measured_script = script(&workload.request)?;
    let measured = measure_source(&tested.server, &mut generator, &mut measured_script, stop)?;
    check(&measured.outcome, workload)?;
    undo(&mut generator, measured.outcome.operations)?;
    // An interrupted cycle has moved an element or two.
    if !workload.each_in_turn {
        tested.count()?;
    }
    Ok(measured)
}

/// Checks that the server found the requested elements.
fn check(outcome: &Outcome, workload: &Workload) -> Result<()> {
    let replies = &outcome.replies;
    let right = match workload.replies {
        Replies::Values => replies.bulk == replies.total(),
        Replies::Ones => replies.zero * 50 <= replies.integer,
        Replies::Zeros => replies.zero == replies.integer,
        Replies::Integers => replies.integer == replies.total(),
        Replies::Elements(each) => replies.elements == each * replies.total(),
    };
    ensure!(right, "{}: not what was expected: {replies:?}", workload.name);
    Ok(())
}

impl Workload {
    /// Returns the script for one of its requests in batches of `pipeline`.
    pub(in crate::scenario) fn shape(&self, request: &str, pipeline: usize) -> ScriptShape {
        let numbers = if self.each_in_turn {
            KeyChoice::Listed(shuffled(u32::try_from(self.below).unwrap_or(u32::MAX), 1).into())
        } else {
            KeyChoice::Uniform
        };
        ScriptShape::new(request, self.below).of(numbers).pipelined(pipeline)
    }
}

const CONNECTIONS: usize = 50;
const PIPELINE: usize = 16;
const COLUMNS: [&str; 8] =
    ["command", "server", "CPU us/op", "of Valkey", "of Redis", "of null", "op/s", "client us/op"];

#[cfg(test)]
mod tests {
    use super::PIPELINE;
    use super::workloads::all;
    use crate::generator::{Script, Source};
    use crate::scenario::Scale;

    #[test]
    fn every_request_can_be_written() {
        for workload in all(Scale::FULL).iter().flat_map(|data| &data.workloads) {
            let requests =
                [Some(&workload.request), workload.before.as_ref(), workload.after.as_ref()];
            for request in requests.into_iter().flatten() {
                let mut script = Script::new(&workload.shape(request, PIPELINE), 1).unwrap();
                assert_eq!(script.fill(3).1.total(), 3, "{request}");
            }
        }
    }
}
