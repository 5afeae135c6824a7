//! A server on which the steps of a script are taken.

use std::io::{BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::steps::{LoadText, Step, Steps};
use super::values::Values;
use crate::audience::Audience;
use crate::control::encode_line;
use crate::generator::{EventLoop, Load, Moment, Pause, Probe, Protocol, Sender, Value};
use crate::measure::{Measured, measure, measure_during, measure_watched, settled_cpu_time};
use crate::process;
use crate::sampler::{Sample, Watch, peak_during};
use crate::scenario::data::check;
use crate::scenario::place::Place;
use crate::servers::{Kind, Launch, Program, Server};

pub struct Running {
    /// Leave before the server ends.
    beside: Vec<Audience>,
    /// Shared with the loads beside its steps.
    pub server: Arc<Server>,
    pub values: Values,
    /// How it was started, if a step may start it again.
    again: Option<(Program, Launch)>,
    /// Removed when the server has ended.
    folder: Option<TempDir>,
}

impl Running {
    pub fn start(place: Place, values: Values) -> Result<Self> {
        let Place { program, launch, folder } = place;
        let server = program.start(&launch)?;
        let mut running = Self::of(server, values);
        (running.again, running.folder) = (Some((program, launch)), folder);
        Ok(running)
    }

    fn of(server: Server, mut values: Values) -> Self {
        values.set("ready", server.ready_after.as_secs_f64());
        Self { beside: Vec::new(), server: Arc::new(server), values, again: None, folder: None }
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
                let (peak, ()) = peak_during(self.server.pid, || self.take_all(&steps))?;
                self.values.set(&name, peak);
            }
            Step::Repeat { times, steps } => {
                (0..times).try_for_each(|_| self.take_all(&steps))?;
            }
            Step::Join(seats) => self.beside.push(Audience::join(&self.server, &seats)?),
            Step::Leave {} => self.beside.clear(),
            Step::Tell(command) => {
                self.server.control()?.tell(&command.split(' ').collect::<Vec<_>>())?;
            }
            Step::Check(count) => check(&self.server, &[count], 0)?,
            Step::Config(all) => {
                let mut control = self.server.control()?;
                all.iter().try_for_each(|(name, it)| control.tell(&["CONFIG", "SET", name, it]))?;
            }
            Step::Ask(all) => all.iter().try_for_each(|(name, it)| self.ask(name, it))?,
            Step::Info(all) => {
                let mut control = self.server.control()?;
                for (name, field) in all {
                    self.values.set(&name, control.info_number(&field)?.unwrap_or(f64::NAN));
                }
            }
            Step::Micros(all) => {
                for (name, command) in all {
                    self.values.set(&name, self.server.micros_per_call(&command)?);
                }
            }
            Step::Memory(name) => self.values.set(&name, self.server.resident_bytes()? as f64),
            Step::Written { request, count, reply, pause } => {
                self.written(&request, count, reply, Duration::from_millis(pause))?;
            }
            Step::Unit { name, request, count, times } => {
                let longest = self.units(&request, count, times)?;
                self.values.set(&format!("{name}.longest_ms"), longest.as_secs_f64() * 1e3);
            }
            Step::Let(all) => all.iter().for_each(|(name, it)| self.values.set(name, *it)),
            Step::Clock(name) => self.values.set(&name, seconds()),
            Step::Saved { name, since } => {
                let saved = self.wait_for_snapshot(since)?;
                self.values.set(&name, saved);
            }
            Step::Wait(ms) => thread::sleep(Duration::from_millis(ms)),
            Step::Start(options) => self.start_again(&options)?,
            Step::End {} => self.end()?,
        }
        Ok(())
    }

    fn load(&mut self, text: &LoadText) -> Result<()> {
        let mut load = text.load(self.values.compute("round").unwrap_or(1.0) as u64)?;
        // It makes room in the background, and refuses SETs until there is some.
        load.refusals |= self.server.kind == Kind::Memcached;
        let measured = if let Some(calls) = &text.calls {
            self.called(&text.name, &load, calls)
        } else if let Some(stop) = text.stopped_ms {
            self.stopped(&load, text.time().context("ms")? / 2, Duration::from_millis(stop))
        } else if text.counted {
            self.counted(&text.name, &load)
        } else if text.sampled {
            measure_watched(&self.server, &load, Watch::every(SAMPLE_EVERY))
        } else {
            measure(&self.server, &load)
        };
        if text.fails {
            ensure!(measured.is_err(), "{:?} was answered", text.name);
            return Ok(());
        }
        self.values.measured(&text.name, &measured?);
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
            let measured = measure(&self.server, load);
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
        let measured = measure_watched(&self.server, load, watch)?;
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
            while monitor.operations() == 0 && began.elapsed() < FIRST_REPLY_MAX {
                thread::sleep(Duration::from_millis(1));
            }
            self.beside(others, false, steps)
        })?;
        self.values.measured(&text.name, &measured);
        Ok(())
    }

    /// Runs a load and another client that sends single requests, on one thread.
    fn called(&mut self, name: &str, load: &Load, calls: &LoadText) -> Result<Measured> {
        let (port, pid) = (self.server.port, self.server.pid);
        let mut event_loop = EventLoop::new()?;
        event_loop.connect(port, Protocol::Resp, load.connections)?;
        event_loop.connect(port, Protocol::Resp, 1)?;
        let mut caller = Probe::new(calls.load(1)?, pid)?;
        let mut sender = Sender::new(Protocol::Resp, load, 0)?;
        sender.restart(load.stop, Arc::default())?;
        let before = Moment::now(pid)?;
        event_loop.run(&mut [&mut sender, &mut caller])?;
        let taken = Moment::now(pid)?.taken_since(&before);
        caller.finish()?;
        let longest = caller.longest.first().map_or(Duration::ZERO, Pause::own);
        self.values.set(&format!("{name}.caller_ms"), longest.as_secs_f64() * 1e3);
        self.values.set(&format!("{name}.taken"), taken.as_secs_f64() * 1e6);
        let outcome = sender.finish().sound()?;
        Ok(Measured { outcome, ..Measured::nothing() })
    }

    /// Notes the answer to a command, the time until it came, and what it cost the server.
    fn ask(&mut self, name: &str, command: &str) -> Result<()> {
        let mut control = self.server.control()?;
        let (before, began) = (settled_cpu_time(&self.server)?, Instant::now());
        let answer = control.ask(&command.split(' ').collect::<Vec<_>>())?;
        let waited = began.elapsed();
        let used = settled_cpu_time(&self.server)?.saturating_sub(before);
        self.values.set(&format!("{name}.ms"), waited.as_secs_f64() * 1e3);
        self.values.set(&format!("{name}.cpu_ms"), used.as_secs_f64() * 1e3);
        match answer {
            Value::Integer(number) => self.values.set(name, number as f64),
            Value::Text(text) => self.values.say(name, String::from_utf8_lossy(&text).into()),
            Value::Nil => self.values.say(name, "-".to_owned()),
            Value::Error(error) => bail!("{command}: {error}"),
        }
        Ok(())
    }

    /// Sends all requests before it reads the first reply.
    fn written(&self, request: &str, count: usize, reply: usize, pause: Duration) -> Result<()> {
        let mut stream = self.server.control()?.stream;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(encode_line(request).repeat(count).as_bytes()).context("sending")?;
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
        let requests = (0..count).map(|i| encode_line(&request.replace("{i}", &i.to_string())));
        let requests: Vec<_> = requests.collect();
        // The replies to a piece fit into the buffers of a socket.
        let pieces = requests.chunks(1000).map(|piece| (piece.concat(), piece.len() as u64));
        let pieces: Vec<_> = pieces.collect();
        let (mut control, mut longest) = (self.server.control()?, Duration::ZERO);
        for _ in 0..times {
            control.tell(&["MULTI"])?;
            pieces.iter().try_for_each(|(it, count)| control.send_all(it, *count).map(drop))?;
            let began = Instant::now();
            let last = control.ask(&["EXEC"])?;
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
            written.is_ok_and(|it| seconds_of(it) + 0.01 > since)
        };
        let (mut control, began) = (self.server.control()?, Instant::now());
        while !is_there() {
            thread::sleep(Duration::from_millis(1));
            ensure!(began.elapsed() < SAVE_MAX, "no snapshot after {SAVE_MAX:?}");
        }
        let saved = seconds();
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
        for (name, value) in options {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            *launch = launch.clone().with(name, value);
        }
        self.beside.clear();
        self.server = Arc::new(program.start(launch)?);
        self.values.set("ready", self.server.ready_after.as_secs_f64());
        Ok(())
    }
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

fn seconds() -> f64 {
    seconds_of(SystemTime::now())
}

fn seconds_of(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

const SAMPLE_EVERY: Duration = Duration::from_millis(5);
const FIRST_REPLY_MAX: Duration = Duration::from_secs(5);
const SAVE_MAX: Duration = Duration::from_secs(600);
const PATIENCE: Duration = Duration::from_secs(60);
