//! A server on which the steps of a script are taken.

use std::collections::BTreeMap;
use std::io::{BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{mem, thread};

use anyhow::{Context, Result, anyhow, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::pairs::Pairs;
use super::steps::{LoadText, Point, SAMPLE_EVERY, Samples, Step, Steps};
use super::values::Values;
use crate::address::Address;
use crate::audience::Audience;
use crate::control::{Control, encode};
use crate::generator::{Client, EventLoop, Load, Moment, Monitor, Pause, Probe, Sender};
use crate::measure::{Measured, cpu_time_at_rest, measure, measure_during, metered};
use crate::process;
use crate::protocol::Protocol;
use crate::replies::{ReplyReader, Value};
use crate::sampler::{Sample, Watch, most_memory, sampled};
use crate::scenario::Bench;
use crate::scenario::bare::lookup_us;
use crate::scenario::disk::{append, folder};
use crate::scenario::place::Place;
use crate::scenario::ycsb;
use crate::servers::{Kind, Launch, Program, Server};
use crate::valkey_benchmark;

pub struct Running<'p> {
    /// Leave before the server ends.
    beside: Vec<Audience>,
    /// Shared with the loads beside its steps.
    pub server: Arc<Server>,
    pub values: Values,
    /// How it was started, if a step may start it again.
    again: Option<(Program, Launch)>,
    /// Another server of the program, beside which it is measured.
    pub(super) other: Option<Box<Self>>,
    pub(super) bench: &'p Bench,
    /// Steps by name.
    routines: &'p BTreeMap<String, Steps>,
    pub points: Vec<Point>,
    /// Settings that it did not take, and what else could not be measured.
    pub refusals: Vec<String>,
    /// Removed when the server has ended.
    folder: Option<TempDir>,
}

impl<'p> Running<'p> {
    pub fn start(
        bench: &'p Bench,
        routines: &'p BTreeMap<String, Steps>,
        place: Place,
        mut values: Values,
    ) -> Result<Self> {
        let Place { program, launch, folder } = place;
        let server = program.start(&launch)?;
        values.set("port", server.port.into());
        values.set("ready", server.ready_after.as_secs_f64());
        let spare = process::cores().saturating_sub(server.cores).max(1);
        values.set("spare_cores", spare as f64);
        Ok(Self {
            beside: Vec::new(),
            server: Arc::new(server),
            values,
            again: Some((program, launch)),
            other: None,
            bench,
            routines,
            points: Vec::new(),
            refusals: Vec::new(),
            folder,
        })
    }

    /// Has the server end by itself.
    pub fn end(&mut self) -> Result<()> {
        self.beside.clear();
        Arc::get_mut(&mut self.server).context("a load needs the server")?.end()
    }

    pub fn take_all(&mut self, steps: &Steps) -> Result<()> {
        steps.0.iter().try_for_each(|step| self.take(Step::read(step, &self.values)?))
    }

    fn take(&mut self, step: Step) -> Result<()> {
        match step {
            Step::Load(load) => self.load(&load)?,
            Step::Beside { loads, busy, steps } => self.beside(&loads, busy, &steps)?,
            Step::Peak { name, steps } => {
                let (pid, watch) = (self.server.pid, Watch::every(SAMPLE_EVERY));
                let act = || self.take_all(&steps);
                let (taken, samples) = sampled(pid, watch, &Monitor::default(), act);
                taken?;
                self.values.set(&name, most_memory(&samples));
            }
            Step::Repeat { times, goes_on, steps } => {
                for _ in 0..times {
                    self.take_all(&steps)?;
                    let left = goes_on.as_ref().map(|sum| self.values.compute(sum)).transpose()?;
                    if left.is_some_and(|left| left <= 0.0) {
                        break;
                    }
                }
            }
            Step::Do(name) => {
                let steps = self.routines.get(&name);
                self.take_all(steps.with_context(|| format!("no routine {name}"))?)?;
            }
            Step::Other { options, core, steps } => self.on_another(&options, core, &steps)?,
            Step::Join(seats) => self.beside.push(Audience::join(&self.server, &seats)?),
            Step::Leave {} => self.beside.clear(),
            Step::Establish { name, count, resumes } => self.establish(&name, count, resumes)?,
            Step::Storm { name, steps } => self.storm(&name, &steps)?,
            Step::Let(all) => all.iter().for_each(|(name, it)| self.values.set(name, *it)),
            Step::Say(all) => {
                all.into_iter().for_each(|(name, it)| self.values.set_text(&name, it))
            }
            Step::Point(point) => self.points.push(point),
            Step::Clock(name) => self.values.set(&name, seconds(SystemTime::now())),
            Step::Append { name, bytes, count, ms, sync_ms } => {
                let [sync_every, time] = [sync_ms, ms].map(|it| it.map(Duration::from_millis));
                let goes_on = |done, at| {
                    count.is_none_or(|count| done < count) && time.is_none_or(|time| at < time)
                };
                self.values.set_all(&name, append(&folder()?, bytes, sync_every, goes_on)?);
            }
            Step::Bare { name, keys } => self.values.set(&name, lookup_us(keys)?),
            Step::OnNull(steps) if self.server.kind == Kind::Null => self.take_all(&steps)?,
            Step::OnOthers(steps) if self.server.kind != Kind::Null => self.take_all(&steps)?,
            Step::OnNull(_) | Step::OnOthers(_) => {}
            Step::Wait(ms) => thread::sleep(Duration::from_millis(ms)),
            Step::Start(options) => self.start_again(&options)?,
            Step::End {} => self.end()?,
            step => self.ask_for(step)?,
        }
        Ok(())
    }

    /// Takes a step that asks the server for something.
    fn ask_for(&mut self, step: Step) -> Result<()> {
        let (server, values) = (&self.server, &mut self.values);
        match step {
            Step::Tell(command) => server.control()?.run(command.split(' '))?,
            Step::Check(_) if server.kind == Kind::Null => {}
            Step::Check(counts) => counts.split("; ").try_for_each(|it| check(server, it))?,
            Step::Config(all) => {
                let mut control = server.control()?;
                all.iter().try_for_each(|(name, it)| control.run(["CONFIG", "SET", name, it]))?;
            }
            Step::Peers(all) => {
                for (name, it) in all.iter().filter(|_| server.kind == Kind::Peer) {
                    let answer = server.control()?.ask(["CONFIG", "SET", name, it])?;
                    if let Value::Error(error) = answer {
                        self.refusals.push(format!("it refuses {name} {it}: {error}"));
                    }
                }
            }
            Step::Ask(all) => all.iter().try_for_each(|(name, it)| self.ask(name, it))?,
            Step::Info(all) => {
                let mut control = server.control()?;
                for (name, field) in all {
                    values.set(&name, control.info_number(&field)?.unwrap_or(f64::NAN));
                }
            }
            Step::Micros(all) => {
                for (name, command) in all {
                    values.set(&name, server.micros_per_call(&command)?);
                }
            }
            Step::Memory(name) => values.set(&name, server.resident_bytes()? as f64),
            Step::Cpu(name) => values.set(&name, cpu_time_at_rest(server)?.as_secs_f64()),
            Step::Keys(name) => values.set(&name, server.control()?.key_count()? as f64),
            Step::Records { workload, count } => {
                ycsb::store(server, &ycsb::workload(&workload, count, 1)?)?;
            }
            Step::Written { request, count, reply, pause } => {
                self.written(&request, count, reply, Duration::from_millis(pause))?;
            }
            Step::Pairs(exchange) => {
                values.set_all(&exchange.name, Pairs::measure(server, &exchange)?);
            }
            Step::Unit { name, request, count, times } => {
                let longest = self.units(&request, count, times)?.as_secs_f64() * 1e3;
                self.values.set(&format!("{name}.longest_ms"), longest);
            }
            Step::Saved { name, since } => {
                let saved = self.wait_for_snapshot(since)?;
                self.values.set(&name, saved);
            }
            Step::Benchmark { name, load } => self.benchmark(&name, &load.load(1)?)?,
            step => self.replicate(step)?,
        }
        Ok(())
    }

    /// Takes steps on another server of the program, which is started at the first of them.
    fn on_another(
        &mut self,
        options: &toml::Table,
        core: Option<usize>,
        steps: &Steps,
    ) -> Result<()> {
        let mut other = match self.other.take() {
            Some(other) => other,
            None => {
                let (program, launch) = self.again.clone().context("it is started once")?;
                let mut launch = with_all(launch, options).on_core(core);
                let folder = self.folder.is_some().then(folder).transpose()?;
                if let Some(folder) = &folder {
                    launch = launch.in_folder(folder);
                }
                let place = Place { program, launch, folder };
                Box::new(Self::start(self.bench, self.routines, place, Values::default())?)
            }
        };
        self.values.set("other_port", other.server.port.into());
        mem::swap(&mut self.values, &mut other.values);
        let taken = other.take_all(steps);
        mem::swap(&mut self.values, &mut other.values);
        self.other = Some(other);
        taken
    }

    /// Measures valkey-benchmark, if it is there.
    fn benchmark(&mut self, name: &str, load: &Load) -> Result<()> {
        let values = match &self.bench.valkey_benchmark {
            Some(command) => valkey_benchmark::run(command, self.server.port, load)?,
            None => {
                self.refusals.push("valkey-benchmark is not there".to_owned());
                [f64::NAN; 4]
            }
        };
        let names = ["per_second", "first_p50", "first_p99", "client_us"];
        self.values.set_all(name, names.into_iter().zip(values));
        Ok(())
    }

    fn load(&mut self, text: &LoadText) -> Result<()> {
        let mut load = text.load(self.values.compute("round").unwrap_or(1.0) as u64)?;
        load.refusals = text.refusals.unwrap_or(self.server.kind == Kind::Memcached);
        let measured = if text.calls.is_some() || text.probed_from.is_some() {
            self.called(text, &load)
        } else if let Some(stop) = text.stopped_ms {
            let [half, stop] = [text.ms.context("ms")? / 2, stop].map(Duration::from_millis);
            self.stopped(&load, half, stop)
        } else if text.counted {
            self.counted(&text.name, &load)
        } else {
            measure(&self.server, &load, text.watch())
        };
        if text.fails {
            ensure!(measured.is_err(), "{:?} was answered", text.name);
            return Ok(());
        }
        let measured = measured?;
        self.values.measured(&text.name, &measured);
        text.samples.iter().try_for_each(|it| self.take_samples(it, &measured.samples))
    }

    fn take_samples(&mut self, text: &Samples, samples: &[Sample]) -> Result<()> {
        let behind = samples.iter().filter(|sample| sample.operations >= text.from);
        for sample in behind.step_by(text.every.into()) {
            let Some(bytes) = sample.resident_bytes else { continue };
            self.values.set("at", sample.at.as_secs_f64());
            self.values.set("done", sample.operations as f64);
            self.values.set("bytes", bytes as f64);
            self.take_all(&text.steps)?;
        }
        Ok(())
    }

    /// Runs a load while the server is stopped once, after this time.
    fn stopped(&self, load: &Load, after: Duration, time: Duration) -> Result<Measured> {
        let pid = Pid::from_raw(self.server.pid.cast_signed()).context("no process")?;
        thread::scope(|scope| {
            let stall = scope.spawn(move || -> Result<()> {
                thread::sleep(after);
                kill_process(pid, Signal::STOP)?;
                thread::sleep(time);
                Ok(kill_process(pid, Signal::CONT)?)
            });
            let measured = measure(&self.server, load, None);
            stall.join().map_err(|_| anyhow!("the stall ended early"))??;
            measured
        })
    }

    /// Runs a load, and counts the keys meanwhile.
    fn counted(&mut self, name: &str, load: &Load) -> Result<Measured> {
        let (mut control, least) = (self.server.control()?, Arc::new(AtomicU64::new(u64::MAX)));
        let found = Arc::clone(&least);
        let watch = move |_: &Sample| {
            if let Ok(keys) = control.key_count() {
                found.fetch_min(keys, Relaxed);
            }
        };
        let watch = Watch { every: SAMPLE_EVERY, watch: Box::new(watch) };
        let measured = measure(&self.server, load, Some(watch))?;
        self.values.set(&format!("{name}.least_keys"), least.load(Relaxed) as f64);
        Ok(measured)
    }

    /// Takes steps while other clients, or another process on the same core, keep the server busy.
    fn beside(&mut self, loads: &[LoadText], busy: bool, steps: &Steps) -> Result<()> {
        if busy {
            return beside_a_busy_process(|| self.beside(loads, false, steps));
        }
        let Some((text, others)) = loads.split_first() else { return self.take_all(steps) };
        let (load, server) = (text.load(1)?, Arc::clone(&self.server));
        let (measured, ()) = measure_during(&server, &load, |monitor| {
            let began = Instant::now();
            while monitor.operations.load(Relaxed) == 0 && began.elapsed() < FIRST_REPLY_MAX {
                thread::sleep(Duration::from_millis(1));
            }
            self.beside(others, false, steps)
        })?;
        self.values.measured(&text.name, &measured);
        Ok(())
    }

    /// Runs a load and another client on one thread, so that no second thread delays either. The
    /// other client sends single requests, or asks all the time from so many operations on.
    fn called(&mut self, text: &LoadText, load: &Load) -> Result<Measured> {
        let (name, pid) = (&text.name, self.server.pid);
        let address = self.server.address(load.tls)?;
        let (monitor, stolen) = (Arc::new(Monitor::default()), process::stolen());
        let mut event_loop = EventLoop::new()?;
        let mut caller = match &text.calls {
            Some(calls) => Probe::new(calls.load(1)?, pid)?,
            None => {
                event_loop.is_exact = false;
                let from = text.probed_from.unwrap_or_default().min(load.key_count);
                Probe::beside(Arc::clone(&monitor), from..load.key_count, pid)?
            }
        };
        for count in [load.connections, 1] {
            event_loop.connect(&address, count, &[], &ReplyReader::default())?;
        }
        let mut sender = Sender::new(Protocol::Resp, load, 0)?;
        sender.restart(load.stop, Arc::clone(&monitor))?;
        let before = Moment::now(pid)?;
        let clients: &mut [&mut dyn Client] = &mut [&mut sender, &mut caller];
        let (ran, measured) =
            metered(&self.server, &monitor, text.watch(), || event_loop.run(clients));
        ran?;
        let taken = Moment::now(pid)?.taken_since(&before);
        let outcome = caller.sender.meter.finish().sound()?;
        let longest = caller.longest.first().map_or(Duration::ZERO, Pause::own);
        self.values.set(&format!("{name}.caller_ms"), longest.as_secs_f64() * 1e3);
        self.values.set(&format!("{name}.probes"), outcome.operations as f64);
        self.values.set(&format!("{name}.caller_p9999"), outcome.latency_us(0.9999));
        self.values.set(&format!("{name}.taken"), taken.as_secs_f64() * 1e6);
        let pauses: Vec<_> = caller.longest.iter().map(Pause::text).collect();
        let stolen = process::stolen().saturating_sub(stolen);
        let words = format!("{}; {stolen:.2?} by the hypervisor", pauses.join(", "));
        self.values.set_text("pauses", words);
        Ok(Measured { outcome: sender.meter.finish().sound()?, ..measured })
    }

    /// Establishes connections one after the other, and notes what that costs the server.
    fn establish(&mut self, name: &str, count: u64, resumes: bool) -> Result<()> {
        let address = self.server.encrypted(resumes)?;
        // The first has no session to take up.
        drop(establish_one(&address)?);
        let (before, began) = (cpu_time_at_rest(&self.server)?, Instant::now());
        (0..count).try_for_each(|_| establish_one(&address).map(drop))?;
        let took = began.elapsed();
        let used = cpu_time_at_rest(&self.server)?.saturating_sub(before);
        let each = |time: Duration| time.as_secs_f64() / count as f64;
        self.values.set(&format!("{name}.cpu_us"), each(used) * 1e6);
        self.values.set(&format!("{name}.ms"), each(took) * 1e3);
        Ok(())
    }

    /// Takes steps while another thread establishes connections, as many as the server takes.
    fn storm(&mut self, name: &str, steps: &Steps) -> Result<()> {
        let address = self.server.encrypted(false)?;
        let is_over = AtomicBool::new(false);
        let done = thread::scope(|scope| {
            let storm = scope.spawn(|| {
                let (mut done, began) = (0_u64, Instant::now());
                while !is_over.load(Relaxed) {
                    // One that the server drops is a part of a storm.
                    done += u64::from(establish_one(&address).is_ok());
                }
                done as f64 / began.elapsed().as_secs_f64()
            });
            let taken = self.take_all(steps);
            is_over.store(true, Relaxed);
            let done = storm.join().map_err(|_| anyhow!("the storm ended early"));
            taken.and(done)
        })?;
        self.values.set(&format!("{name}.per_second"), done);
        Ok(())
    }

    /// Notes the answer to a command, the time until it came, and what it cost the server.
    fn ask(&mut self, name: &str, command: &str) -> Result<()> {
        let mut control = self.server.control()?;
        let (before, began) = (cpu_time_at_rest(&self.server)?, Instant::now());
        let answer = control.ask(command.split(' '))?;
        let waited = began.elapsed();
        let used = cpu_time_at_rest(&self.server)?.saturating_sub(before);
        let times = [("ms", waited), ("cpu_ms", used)];
        self.values.set_all(name, times.map(|(what, it)| (what, it.as_secs_f64() * 1e3)));
        match answer {
            Value::Integer(number) => self.values.set(name, number as f64),
            Value::Text(text) => self.values.set_text(name, String::from_utf8_lossy(&text).into()),
            Value::Nil => self.values.set_text(name, "-".to_owned()),
            Value::Error(error) => bail!("{command}: {error}"),
        }
        Ok(())
    }

    /// Sends all requests before it reads the first reply.
    fn written(&self, request: &str, count: usize, reply: usize, pause: Duration) -> Result<()> {
        let mut stream = self.server.control()?.stream;
        stream.socket().set_write_timeout(Some(PATIENCE))?;
        stream.write_all(encode(request.split(' ')).repeat(count).as_bytes()).context("sending")?;
        let (mut replies, mut buffer) = (BufReader::new(stream), vec![0; reply]);
        for _ in 0..count {
            replies.read_exact(&mut buffer).context("reading")?;
            thread::sleep(pause);
        }
        Ok(())
    }

    /// Runs transactions of requests that were written beforehand; returns the longest time from
    /// the sending of EXEC to the end of its reply.
    fn units(&self, request: &str, count: u64, times: u64) -> Result<Duration> {
        let request = |i: u64| encode(request.replace("{i}", &i.to_string()).split(' '));
        let requests: Vec<_> = (0..count).map(request).collect();
        // The replies to a piece fit into the buffers of a socket.
        let pieces = requests.chunks(1000).map(|piece| (piece.concat(), piece.len() as u64));
        let pieces: Vec<_> = pieces.collect();
        let (mut control, mut longest) = (self.server.control()?, Duration::ZERO);
        for _ in 0..times {
            control.run(["MULTI"])?;
            pieces.iter().try_for_each(|(it, count)| control.send_all(it, *count).map(drop))?;
            let began = Instant::now();
            let last = control.ask(["EXEC"])?;
            longest = longest.max(began.elapsed());
            ensure!(last == Value::Text(b"OK".to_vec()), "EXEC ends with {last:?}");
        }
        Ok(longest)
    }

    /// Returns the time at which the file of a snapshot that was asked for at `since` has its name:
    /// the servers tell the end up to a tenth of a second later. Then waits for that.
    fn wait_for_snapshot(&self, since: f64) -> Result<f64> {
        let path = self.folder.as_ref().context("a snapshot without a folder")?.path();
        let path = path.join("dump.rdb");
        let is_there = || {
            let written = path.metadata().and_then(|it| it.modified());
            // The clock of files ticks every few milliseconds.
            written.is_ok_and(|it| seconds(it) + 0.01 > since)
        };
        let (mut control, began) = (self.server.control()?, Instant::now());
        while !is_there() {
            thread::sleep(Duration::from_millis(1));
            ensure!(began.elapsed() < SAVE_MAX, "no snapshot after {SAVE_MAX:?}");
        }
        let saved = seconds(SystemTime::now());
        while control.info_number("rdb_bgsave_in_progress")?.context("INFO")? > 0.0 {
            thread::sleep(Duration::from_millis(10));
        }
        let state = control.info("rdb_last_bgsave_status")?;
        ensure!(state.is_none_or(|state| state == "ok"), "the snapshot failed");
        Ok(saved)
    }

    /// Starts another server of the program, with more options; the present one leaves.
    fn start_again(&mut self, options: &toml::Table) -> Result<()> {
        let (program, launch) = self.again.as_mut().context("it is started once")?;
        *launch = with_all(launch.clone(), options);
        self.beside.clear();
        self.server = Arc::new(program.start(launch)?);
        self.values.set("ready", self.server.ready_after.as_secs_f64());
        Ok(())
    }
}

/// Checks the answer to a command, which stands behind it.
fn check(server: &Server, count: &str) -> Result<()> {
    let (command, answer) = count.rsplit_once(' ').context("a count without an answer")?;
    let counted = server.control()?.ask(command.split(' '))?;
    ensure!(counted == Value::Integer(answer.parse()?), "{command} is {counted:?}, not {answer}");
    Ok(())
}

fn with_all(launch: Launch, options: &toml::Table) -> Launch {
    options.iter().fold(launch, |launch, (name, value)| {
        launch.with(name, value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    })
}

/// Establishes a connection, and has a request answered: only then has it a session to take up.
fn establish_one(address: &Address) -> Result<Control> {
    let mut control = Control::open(address, Protocol::Resp)?;
    control.run(["PING"])?;
    Ok(control)
}

/// Acts while another process wants the server's core.
fn beside_a_busy_process(act: impl FnOnce() -> Result<()>) -> Result<()> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            process::pin_this_thread(0);
            while !is_over.load(Relaxed) {
                std::hint::spin_loop();
            }
        });
        let done = act();
        is_over.store(true, Relaxed);
        done
    })
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

const FIRST_REPLY_MAX: Duration = Duration::from_secs(5);
const SAVE_MAX: Duration = Duration::from_secs(600);
const PATIENCE: Duration = Duration::from_secs(60);
