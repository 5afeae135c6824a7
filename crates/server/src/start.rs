//! Start and stop: reads the settings, makes the parts, and runs the threads until shutdown is
//! requested.

use crate::accept::Acceptor;
use crate::background_jobs::BackgroundJobs;
use crate::background_process::{self, Remembering};
use crate::balance::Balance;
use crate::descriptors;
use crate::durability;
use crate::end;
use crate::event_loop::{MAILBOX, Seat};
use crate::follow_settings::{follow_addresses, follow_settings, follow_tls};
use crate::journal::{Journal, JournalThread, Reason};
use crate::limits;
use crate::link::{Link, Roles};
use crate::listen::{self, ListenAddress, Listener};
use crate::listeners::Listeners;
use crate::load::{self, LoadFailed, Recovered, Source};
use crate::logging;
use crate::mail::{Mail, Mailbox};
use crate::migrate::Couriers;
use crate::oom_score::OomScoreFile;
use crate::own_files::OwnFiles;
use crate::replicas::{self, ReplicaSender};
use crate::saver::{self, Saver};
use crate::service_manager::{self, Notice};
use crate::services::Services;
use crate::signals;
use crate::tls::{Handshakes, Tls};
use crate::users;
use crate::worker::{Worker, WorkerParts};
use base::{Clock, KeyHasher, Stopwatch, process};
use command::Table;
use command::rights::catalog_of;
use crossbeam_channel::{Sender, bounded};
use mio::{Poll, Waker};
use session::{Identity, Instance};
use settings::replication::REPLICAOF;
use settings::{Invocation, Loaded, Row, Settings, general};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use store::{Store, StoreConfig, ThreadContext};

mod error;

pub use error::StartError;
use error::{log_reason, system};

/// MiB of address space without which the server does not start, beside those of its workers and of
/// more arenas of jemalloc than two cores have. Where jemalloc gets none for the first memory of a
/// thread, the process dies: on two cores that was so with 250 left, now and then, and not with
/// 270; with 64 workers with 450, and not with 610.
const SERVER_MIB: u64 = 288;
const WORKER_MIB: u64 = 6;
/// An arena takes 4.1 at first. A thread gets one of its own until there are four for each core.
const ARENA_MIB: u64 = 5;
const ARENAS_OF_CORE: usize = 4;
/// Threads that are no workers.
const OTHER_THREADS: usize = 12;

/// Runs the server that the arguments of the command line describe, until shutdown is requested.
///
/// # Errors
/// See `StartError`.
pub fn run(words: impl Iterator<Item = OsString>, table: &'static Table) -> Result<(), StartError> {
    let words: Vec<OsString> = words.collect();
    let mut input = Remembering { source: io::stdin().lock(), read: Vec::new() };
    match settings::load(words.iter().cloned(), &mut input)? {
        Invocation::Help => print!("{}", HELP),
        Invocation::Version => println!("{}", version_line()),
        Invocation::Serve(loaded) if background_process::is_wanted(&loaded.settings) => {
            // What can be wrong with it is told here, where somebody reads it.
            logging::open_file(&loaded.settings).map_err(system("opening the log file"))?;
            let started = background_process::start(&words, &input.read);
            started.map_err(system("starting the process in the background"))?;
        }
        Invocation::Serve(loaded) => {
            background_process::leave_terminal();
            // Relative paths start there, that of the log file too.
            let dir = general::DIR.get(&loaded.settings);
            let changed = std::env::set_current_dir(&*dir);
            changed.map_err(system("changing to the directory of `dir`"))?;
            logging::start(&loaded.settings).map_err(system("opening the log file"))?;
            serve(loaded, table).inspect_err(log_reason)?;
        }
    }
    Ok(())
}

/// Returns what `--version` shows, with the version first that INFO tells, by which programs
/// decide what the server can do.
fn version_line() -> String {
    let (version, own) = (session::VALKEY_VERSION, env!("CARGO_PKG_VERSION"));
    let bits = usize::BITS;
    format!(
        "Varve server v={version} sha=00000000:0 malloc={ALLOCATOR} bits={bits} build=0 varve={own}"
    )
}

const ALLOCATOR: &str =
    if cfg!(feature = "jemalloc") { "segments,jemalloc" } else { "segments,libc" };

const HELP: &str = "Usage: varve-server [FILE|-] [--NAME VALUE ...]\n\
Starts Varve with the settings of FILE (or of standard input) and of the options, whose names are \
those of the file.\n\n\
  varve-server                          default settings, port 6379\n\
  varve-server --port 7777 --threads 2\n\
  varve-server /etc/varve.conf --loglevel verbose\n\
  varve-server -v | --version\n";

fn serve(loaded: Loaded, table: &'static Table) -> Result<(), StartError> {
    let settings = Arc::clone(&loaded.settings);
    log_beginning(&loaded);
    share_address_space(limits::threads(&settings))?;
    descriptors::adopt(&settings)?;
    // A program that can connect may send a signal at once, so signals are caught before the server
    // listens.
    let signals = signals::catch().map_err(system("catching signals"))?;
    let (ask_to_end, end_asked) = bounded(1);
    let services = make_services(table)?;
    let instance = make_instance(&loaded, &services, ask_to_end.clone())?;
    users::load(&instance.access, &instance.settings)?;
    let tls = start_tls(&instance)?;
    let listeners = listen::listen(&settings)?;
    let kinds = listen::kinds(&listeners);
    tracing::info!("Server initialized");
    let own_files = OwnFiles::of(&settings);
    let source = open_data(&instance, &services, &own_files)?;
    limits::apply(&instance);
    follow_settings(&instance, &services);
    follow_signals(&instance, signals)?;
    let (sender, link) = start_replication(&instance, &services, &tls)?;
    let (workers, mailboxes, listeners) = start_workers(&instance, &services, (listeners, &tls))?;
    limits::begin(&instance);
    let (stop_background, background_jobs) = start_background(&instance, &services)?;
    let (saving, memory) = (start_saver(&instance, &services)?, start_memory(&instance)?);
    own_files.write_pid();
    let served = load_data(&instance, table, source).and_then(|recovered| {
        let writer = start_journal(&instance, &services, &link, recovered)?;
        durability::log(&settings);
        tracing::info!("{} threads serve clients", instance.identity.threads);
        kinds.iter().for_each(|kind| tracing::info!("Ready to accept connections {kind}"));
        service_manager::notify(&settings, Notice::Ready);
        end::wait(&instance, &services, &end_asked);
        Ok(writer)
    });
    if served.is_ok() {
        tracing::info!("User requested shutdown...");
    }
    service_manager::notify(&settings, Notice::Stopping);
    // A client that sees the end of its connection finds nobody at the port any more.
    listeners.close();
    mailboxes.iter().for_each(|mailbox| mailbox.send(Mail::Stop));
    drop(stop_background);
    services.saver.stop();
    instance.store.heap().end_populating();
    for thread in workers.into_iter().chain([background_jobs, memory, saving]) {
        let _ = thread.join();
    }
    link.stop();
    // Nothing changes any more.
    services.journal.stop();
    let served = served.map(|writer| drop(writer.join()));
    sender.stop();
    services.give_up_claims();
    own_files.remove();
    outcome(served)
}

fn outcome(served: Result<(), StartError>) -> Result<(), StartError> {
    match served {
        Err(StartError::Load(LoadFailed::GivenUp)) => Ok(()),
        served => served.inspect(|()| tracing::warn!("Varve is now ready to exit, bye bye...")),
    }
}

fn make_services(table: &'static Table) -> Result<Services, StartError> {
    Ok(Services {
        journal: Journal::new().map_err(system("reserving address space"))?,
        oom_score: Arc::new(OomScoreFile::new("/proc/self/oom_score_adj")),
        saver: Arc::new(Saver::new(&Clock::Wall)),
        table,
    })
}

/// Starts the thread that serves replicas, and the one that follows a primary.
fn start_replication(
    instance: &Arc<Instance>,
    services: &Services,
    tls: &Arc<Tls>,
) -> Result<(ReplicaSender, Link), StartError> {
    let Services { journal, oom_score, saver, table } = services;
    let sender = ReplicaSender::start(instance, journal, saver);
    let sender = sender.map_err(system("starting the thread that serves replicas"))?;
    let roles = Roles::new(journal, oom_score);
    let link = Link::start(instance, journal, &roles, (saver, *table, tls));
    Ok((sender, link.map_err(system("starting the thread that follows a primary"))?))
}

/// Makes the rules of TLS, which follow the settings and their files from then on.
fn start_tls(instance: &Arc<Instance>) -> Result<Arc<Tls>, StartError> {
    let tls = Tls::new(instance);
    tls.configure().map_err(StartError::Tls)?;
    follow_tls(&instance.settings, &tls);
    tls.start_renewal().map_err(system("starting a thread"))?;
    Ok(tls)
}

/// Logs that the server begins, and what of its settings is not done.
fn log_beginning(loaded: &Loaded) {
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!("Varve version={version}, pid={}, just started", std::process::id());
    loaded.notices.iter().for_each(|notice| tracing::warn!("{notice}"));
    warn_of_idle(&loaded.settings);
    listen::log_memcached(&loaded.settings);
    service_manager::warn(&loaded.settings);
    let port = settings::tls::main_port(&loaded.settings);
    tracing::info!("Running mode=standalone, port={port}.");
}

/// Makes do with little address space for this number of workers, and says that there is little.
fn share_address_space(threads: usize) -> Result<(), StartError> {
    let Some(bytes) = process::address_space() else { return Ok(()) };
    let arenas = (threads + OTHER_THREADS).min(ARENAS_OF_CORE * process::bound_processors());
    let arenas_mib = ARENA_MIB * arenas.saturating_sub(2 * ARENAS_OF_CORE) as u64;
    let left_mib = bytes >> 20;
    let least_mib = SERVER_MIB + WORKER_MIB * threads as u64 + arenas_mib;
    if left_mib < least_mib {
        return Err(StartError::AddressSpace { left_mib, threads, least_mib });
    }
    process::keep_address_space(arenas_mib << 20);
    process::share_c_allocator();
    tracing::warn!(
        "Address space is limited (`ulimit -v`, LimitAS= of a service, or vm.overcommit_memory): \
         {left_mib} MiB are left, of which records get three tenths at most"
    );
    Ok(())
}

/// Opens the data that is there at start, unless another server writes its files.
fn open_data(
    instance: &Instance,
    services: &Services,
    own_files: &OwnFiles,
) -> Result<Option<Source>, StartError> {
    let claimed = services.claim_files(&instance.settings).map_err(StartError::from);
    let opened = claimed.and_then(|()| Ok(load::open(instance)?));
    if opened.is_ok() {
        services.saver.remove_leftovers(&instance.settings);
    }
    if matches!(opened, Ok(None)) && !REPLICAOF.get(&instance.settings).is_empty() {
        // It is a replica before clients are let in, also where there is nothing to load.
        instance.begin_loading(0);
    }
    opened.inspect_err(|error| {
        tracing::error!("{error}");
        services.give_up_claims();
        // The pid file may be that of the other one.
        own_files.remove_sockets();
    })
}

/// Loads the data that is there at start. Clients are refused until `start_journal`.
fn load_data(
    instance: &Instance,
    table: &'static Table,
    source: Option<Source>,
) -> Result<Option<Recovered>, StartError> {
    let Some(source) = source else { return Ok(None) };
    let mut thread = instance.store.thread_context().ok_or_else(too_many_threads)?;
    let loaded = load::load(instance, table, &mut thread, source);
    instance.store.retire(thread);
    Ok(Some(loaded.inspect_err(|error| tracing::error!("{error}"))?))
}

/// Starts the thread that writes the journal, which goes on behind what was recovered, takes the
/// role of the settings, and lets clients see the data. Before that they may change nothing: to a
/// primary that is about to be a replica it would be a history of its own, under the same id.
fn start_journal(
    instance: &Arc<Instance>,
    services: &Services,
    link: &Link,
    recovered: Option<Recovered>,
) -> Result<JoinHandle<()>, StartError> {
    let is_loading = instance.loading.is_active();
    let (begin, known, mut in_files) =
        recovered.map_or((None, None, None), |it| (it.begin, it.stream, it.in_files));
    let Services { journal, saver, .. } = services.clone();
    if let Some(known) = &known {
        if begin.is_none() {
            journal.begin_at(known.offset, known.database);
        }
        link.adopt(instance, known);
        // Nobody changes data yet, so what is changed from here on is in the stream.
        journal.reasons.add(&instance.store, Reason::REPLICAS);
    }
    if let Some(in_files) = &mut in_files {
        in_files.keep(&journal.kept_files, replicas::disk_max(instance));
    }
    let door = known.and_then(|_| journal.door().map(Arc::clone));
    let writer = JournalThread::start(Arc::clone(instance), journal, saver, begin);
    let writer = writer.map_err(system("beginning the next append-only file"))?;
    if let Some(door) = door {
        door.keep_and_wait(in_files);
    }
    link.take_role(instance);
    if is_loading {
        instance.end_loading();
        limits::apply(instance);
        services.saver.forget_changes(instance);
    }
    link.begin();
    Ok(writer)
}

/// Logs which of the settings that differ from their defaults have no effect in this server.
fn warn_of_idle(settings: &Settings) {
    let defaults = Settings::new();
    let is_changed = |row: &&Row| {
        let name = row.name.as_bytes();
        settings.get_text(name) != defaults.get_text(name)
    };
    let notes = settings::all().filter(is_changed).filter_map(Row::idle_note);
    notes.for_each(|note| tracing::warn!("{note}"));
}

fn make_instance(
    loaded: &Loaded,
    services: &Services,
    ask_to_end: Sender<()>,
) -> Result<Arc<Instance>, StartError> {
    let settings = &loaded.settings;
    let drawn = KeyHasher::random().map_err(io::Error::other);
    let hasher = drawn.map_err(system("drawing random numbers"))?;
    let databases = general::DATABASES.get(settings);
    let config = StoreConfig { databases, hasher, address_space: None };
    let store = Store::new(config).map_err(system("reserving address space"))?;
    let clock = Clock::Wall;
    store.deadlines().note_whole_sweep(clock.now());
    let identity = Identity {
        run_id: random_digits()?,
        started: clock.steady(),
        config_file: loaded.config_file.clone(),
        executable: std::env::current_exe().unwrap_or_default(),
        threads: limits::threads(settings),
        allocator: ALLOCATOR,
        supervised: service_manager::name(settings),
    };
    let wake = Box::new(move || {
        // A message that waits already is enough.
        let _ = ask_to_end.try_send(());
    });
    let settings = Arc::clone(settings);
    let commands = (services.table.ids(), catalog_of(services.table));
    let instance = Arc::new(Instance::new(
        store,
        settings,
        identity,
        (clock, Stopwatch::calibrate()),
        commands,
        wake,
        Box::new(load::Files::new(services)),
    ));
    let couriers = Couriers::new(&instance, services);
    // It is set once, here.
    let _ = instance.carrier.set(Box::new(couriers));
    Ok(instance)
}

fn random_digits() -> Result<String, StartError> {
    let mut bytes = [0_u8; 20];
    let drawn = getrandom::fill(&mut bytes).map_err(io::Error::other);
    drawn.map_err(system("drawing random numbers"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

type Threads = (Vec<JoinHandle<()>>, Vec<Mailbox>, Arc<Listeners>);

fn start_workers(
    instance: &Arc<Instance>,
    services: &Services,
    (opened, tls): (Vec<(ListenAddress, Listener)>, &Arc<Tls>),
) -> Result<Threads, StartError> {
    let stopwatch = instance.stopwatch.clone();
    let mut loops = Vec::new();
    for _ in 0..instance.identity.threads {
        let poll = Poll::new().map_err(system("making an event loop"))?;
        let waker = Waker::new(poll.registry(), MAILBOX).map_err(system("making an event loop"))?;
        // A waker that fails belongs to a loop that has ended.
        let wake = move || drop(waker.wake());
        let (mailbox, inbox) = Mailbox::new(wake, instance.clients.mail_bytes());
        loops.push((poll, mailbox, inbox));
    }
    let mailboxes: Vec<Mailbox> = loops.iter().map(|(_, mailbox, _)| mailbox.clone()).collect();
    let listeners = open_to_clients(instance, (opened, tls), &loops[0].0)?;
    let balance = Arc::new(Balance::new(mailboxes.clone()));
    let handshakes = Arc::new(Handshakes::new(instance, tls, &balance));
    let mut acceptor =
        Some(Acceptor::new(Arc::clone(&listeners), Arc::clone(&balance), handshakes));
    let mut threads = Vec::new();
    for (number, (poll, mailbox, inbox)) in loops.into_iter().enumerate() {
        let parts = WorkerParts {
            instance: Arc::clone(instance),
            journal: Arc::clone(&services.journal),
            table: services.table,
            thread: thread_context(instance, services)?,
            stopwatch: stopwatch.clone(),
            poller: poll,
            mailbox,
            inbox,
            acceptor: acceptor.take(),
            seat: Seat::new(Arc::clone(&balance), number),
        };
        threads.push(spawn(format!("worker {number}"), move || {
            if let Err(error) = Worker::new(parts).run() {
                tracing::error!("the event loop of a worker failed: {error}");
            }
        })?);
    }
    Ok((threads, mailboxes, listeners))
}

/// Registers the listeners with `poll`, and has them follow the settings.
fn open_to_clients(
    instance: &Instance,
    (opened, tls): (Vec<(ListenAddress, Listener)>, &Arc<Tls>),
    poll: &Poll,
) -> Result<Arc<Listeners>, StartError> {
    let registry = poll.registry().try_clone();
    let listeners = registry.and_then(|registry| Listeners::new(opened, registry));
    let listeners = Arc::new(listeners.map_err(system("waiting for connections"))?);
    follow_addresses(&instance.settings, &listeners, tls);
    Ok(listeners)
}

fn too_many_threads() -> StartError {
    StartError::System { what: "starting threads", error: io::Error::other("too many") }
}

/// Returns a context for one more thread that changes data.
fn thread_context(instance: &Instance, services: &Services) -> Result<ThreadContext, StartError> {
    let mut thread = instance.store.thread_context().ok_or_else(too_many_threads)?;
    services.journal.join(&mut thread);
    Ok(thread)
}

fn start_background(
    instance: &Arc<Instance>,
    services: &Services,
) -> Result<(Sender<()>, JoinHandle<()>), StartError> {
    let thread = thread_context(instance, services)?;
    let (stop, stopped) = bounded(0);
    let background_jobs = BackgroundJobs::new(Arc::clone(instance), services, thread);
    Ok((stop, spawn("background".to_owned(), move || background_jobs.run(&stopped))?))
}

/// Starts the thread that makes snapshots.
fn start_saver(
    instance: &Arc<Instance>,
    services: &Services,
) -> Result<JoinHandle<()>, StartError> {
    let thread = instance.store.thread_context().ok_or_else(too_many_threads)?;
    let (instance, services) = (Arc::clone(instance), services.clone());
    spawn("saver".to_owned(), move || {
        let Services { journal, saver, .. } = services;
        saver::run(&instance, &saver, thread, &|| journal.let_changes_go_on(&instance));
    })
}

/// Starts the thread that makes memory resident before the workers use it.
fn start_memory(instance: &Arc<Instance>) -> Result<JoinHandle<()>, StartError> {
    let instance = Arc::clone(instance);
    spawn("memory".to_owned(), move || {
        process::run_when_idle();
        instance.store.heap().populate_ahead();
    })
}

fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, StartError> {
    thread::Builder::new().name(name).spawn(work).map_err(system("starting a thread"))
}

/// Makes SIGINT and SIGTERM stop the server as the settings say.
fn follow_signals(instance: &Arc<Instance>, signals: Signals) -> Result<(), StartError> {
    let weak = Arc::downgrade(instance);
    spawn("signals".to_owned(), move || signals::follow(&weak, signals)).map(drop)
}
