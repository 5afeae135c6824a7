//! Fills a running server from files or from another server, follows one, and compares servers.

use clap::Parser;
use import::address::{Address, Encryption};
use import::compare::{Comparison, Rules, compare};
use import::error::Error;
use import::fill::{Origin, Outcome, import};
use import::follow::{Followed, Following, follow};
use import::meter::Meter;
use import::note::told_lost;
use import::run::Options;
use import::scope::{Scope, parse_databases};
use import::server::Server;
use import::stop::Stop;
use import::usage::Usage;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Fills a running server from an RDB file, an append-only file or its directory, or another
/// server; follows another server; or compares two servers.
///
/// From Varve to Varve flags, CAS values that were given, and marks of Memcached's items come along
/// and are compared. Other servers get values without them, and it is said how many.
///
/// Passwords may stand in VARVE_PASSWORD (of --to, and of both with --compare) and
/// VARVE_SOURCE_PASSWORD, or in an address: redis://USER:PASSWORD@HOST:PORT. The exit status is 0
/// if everything has arrived or is equal, 1 if keys or function libraries failed or differ, 2 if it
/// could not go on.
#[derive(Debug, Parser)]
#[command(name = "varve-import", version)]
struct Arguments {
    /// A file, a directory, HOST:PORT, redis://HOST:PORT or, with TLS, rediss://HOST:PORT; with
    /// --compare, the first server.
    source: String,
    /// With --compare, the second server.
    other: Option<String>,
    /// The server to be filled.
    #[arg(long, default_value = "127.0.0.1:6379", value_name = "HOST:PORT")]
    to: String,
    /// Compares two servers, key by key.
    #[arg(long, requires = "other")]
    compare: bool,
    /// Takes all keys of a source that goes on working, and each change behind them, until clients
    /// are moved by `cut-over`, which is typed, or a signal ends it.
    #[arg(long, conflicts_with_all = ["compare", "other"])]
    follow: bool,
    /// Databases that are taken, and what each becomes: 0:3,1. Without it all are, as they are.
    #[arg(long, value_name = "LIST", value_parser = DatabaseList::parse)]
    databases: Option<DatabaseList>,
    /// Takes only keys whose names match, as with KEYS.
    #[arg(long = "match", value_name = "PATTERN")]
    pattern: Option<String>,
    /// With --follow, removes keys that the target has before it is filled. Without it there may be
    /// none.
    #[arg(long, requires = "follow")]
    replace: bool,
    /// With --follow, seconds for which writes may be held back at the source by `cut-over`.
    #[arg(long, default_value_t = 30, value_name = "SECONDS")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=86_400))]
    cut_over_time: u64,
    /// With --follow, the directory of files for what has come and was not sent on yet. They have
    /// no names, and take the space of a snapshot and of what came meanwhile.
    #[arg(long, value_name = "DIRECTORY")]
    spool: Option<PathBuf>,
    /// User of the server that is filled.
    #[arg(long)]
    user: Option<String>,
    /// Password of the server that is filled.
    #[arg(long)]
    password: Option<String>,
    /// User of the source.
    #[arg(long)]
    source_user: Option<String>,
    /// Password of the source.
    #[arg(long)]
    source_password: Option<String>,
    /// File of the CA certificates from which those of servers with rediss:// must come, whatever
    /// names they carry.
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// File of the certificate that is shown to such servers.
    #[arg(long, requires = "key", value_name = "FILE")]
    cert: Option<PathBuf>,
    /// File of its key.
    #[arg(long, requires = "cert", value_name = "FILE")]
    key: Option<PathBuf>,
    /// Connections to each server.
    #[arg(long, default_value_t = 4, value_name = "COUNT")]
    connections: usize,
    /// File that keeps how far the import has come; another run with it goes on there. Only of
    /// commands that do not do the same twice (RPUSH, INCR) those under way at a sudden death are
    /// in doubt, and then none goes on.
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Takes over how keys of a server were used: idle, or freq with an LFU policy.
    #[arg(long, value_name = "KIND", value_parser = usage)]
    usage: Option<Usage>,
    /// Leaves function libraries out, and does not compare them. Without it each is handed over by
    /// FUNCTION LOAD REPLACE, and fails where the server does not take that.
    #[arg(long)]
    no_functions: bool,
    /// Does not compare with a source that is a running server at the end.
    #[arg(long)]
    no_comparison: bool,
    /// Milliseconds by which deadlines may differ in a comparison.
    #[arg(long, default_value_t = 1000, value_name = "MILLISECONDS")]
    tolerance: u64,
    /// Number of differences that are told one by one.
    #[arg(long, default_value_t = 20, value_name = "COUNT")]
    differences: usize,
    /// Shows no progress.
    #[arg(long)]
    quiet: bool,
}

/// The databases of --databases.
#[derive(Clone, Debug)]
struct DatabaseList(Vec<(u64, u64)>);

impl DatabaseList {
    fn parse(list: &str) -> Result<DatabaseList, String> {
        parse_databases(list).map(DatabaseList)
    }
}

fn usage(kind: &str) -> Result<Usage, String> {
    match kind {
        "idle" => Ok(Usage::Idle),
        "freq" => Ok(Usage::Frequency),
        _ => Err("idle or freq".to_owned()),
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match () {
        () if arguments.compare => run_comparison(&arguments),
        () if arguments.follow => run_follower(&arguments),
        () => run_import(&arguments),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("varve-import: {error}");
            ExitCode::from(2)
        }
    }
}

/// The address of a text, with user and password from options or the environment.
fn address(
    text: &str,
    user: Option<&String>,
    password: Option<&String>,
    variable: &str,
) -> Result<Address, Error> {
    let wrong =
        || Error::Usage(format!("{text}: this is neither HOST:PORT nor a redis:// address"));
    let mut address = Address::parse(text).ok_or_else(wrong)?;
    address.user = user.cloned().or(address.user);
    let from_outside = password.cloned().or_else(|| std::env::var(variable).ok());
    address.password = from_outside.or(address.password);
    Ok(address)
}

impl Arguments {
    fn target(&self, text: &str) -> Result<Address, Error> {
        let address = address(text, self.user.as_ref(), self.password.as_ref(), "VARVE_PASSWORD");
        self.encrypted(address?)
    }

    /// Adds the files for TLS to an address that asks for it.
    fn encrypted(&self, mut address: Address) -> Result<Address, Error> {
        if address.encryption.is_some() {
            let lacks = || Error::Usage("rediss:// needs --cacert FILE".to_owned());
            let ca = self.cacert.clone().ok_or_else(lacks)?;
            let own = self.cert.clone().zip(self.key.clone());
            address.encryption = Some(Encryption { ca, own });
        }
        Ok(address)
    }

    fn origin(&self) -> Result<Origin, Error> {
        let path = PathBuf::from(&self.source);
        if path.exists() {
            return Ok(Origin::Path(path));
        }
        let (user, password) = (self.source_user.as_ref(), self.source_password.as_ref());
        match Address::parse(&self.source) {
            None => Err(Error::Usage(format!(
                "{}: there is no such file, and it is no address of a server",
                self.source
            ))),
            Some(_) => {
                let address = address(&self.source, user, password, "VARVE_SOURCE_PASSWORD")?;
                Ok(Origin::Server(self.encrypted(address)?))
            }
        }
    }

    fn scope(&self) -> Scope {
        let databases = self.databases.clone().map_or_else(Vec::new, |it| it.0);
        Scope::new(databases, self.pattern.clone().map(String::into_bytes))
    }

    fn options(&self) -> Result<Options, Error> {
        let stop = Stop::default();
        stop.listen()
            .map_err(|error| Error::Usage(format!("signals cannot be waited for: {error}")))?;
        Ok(Options {
            target: self.target(&self.to)?,
            connections: self.connections,
            usage: self.usage,
            resume: self.resume.clone(),
            takes_functions: !self.no_functions,
            shows_progress: self.shows_progress(),
            compares: !self.no_comparison,
            scope: self.scope(),
            waits_when_full: self.follow,
            rules: self.rules(),
            stop,
        })
    }

    fn rules(&self) -> Rules {
        Rules {
            tolerance: self.tolerance,
            connections: self.connections,
            shown: self.differences,
            functions: !self.no_functions,
        }
    }

    fn shows_progress(&self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
    }
}

fn run_comparison(arguments: &Arguments) -> Result<bool, Error> {
    let other = arguments.other.as_deref().unwrap_or_default();
    let (first, _) = Server::meet(&arguments.target(&arguments.source)?)?;
    let (second, _) = Server::meet(&arguments.target(other)?)?;
    let keys = first.databases.iter().chain(&second.databases).map(|(_, keys)| keys).sum();
    let meter = Meter::of_keys("comparing", keys, arguments.shows_progress());
    let found = compare(&first, &second, &arguments.scope(), arguments.rules(), &meter)?;
    meter.end();
    print(&found);
    Ok(found.is_equal())
}

fn run_follower(arguments: &Arguments) -> Result<bool, Error> {
    let Origin::Server(source) = arguments.origin()? else {
        return Err(Error::Usage("only a running server can be followed".to_owned()));
    };
    let following = Following {
        source,
        options: arguments.options()?,
        replaces: arguments.replace,
        cut_over: Duration::from_secs(arguments.cut_over_time),
        directory: arguments.spool.clone().unwrap_or_else(std::env::temp_dir),
    };
    let Followed { keys, commands, failures, without_attributes } = follow(&following)?;
    println!("{keys} keys and {commands} commands were sent; {failures} failed or were left out");
    told_lost(without_attributes).iter().for_each(|line| println!("{line}"));
    Ok(failures == 0)
}

fn run_import(arguments: &Arguments) -> Result<bool, Error> {
    let options = arguments.options()?;
    if !options.scope.is_whole() {
        let what = "--databases and --match choose with --follow and --compare only";
        return Err(Error::Usage(what.to_owned()));
    }
    let outcome = import(&arguments.origin()?, &options)?;
    let Outcome { keys, commands, libraries, left_out, failures, comparison, .. } = &outcome;
    println!("{keys} keys and {commands} commands were sent; {failures} failed");
    let Outcome { empty, mended, unread, not_sent, without_attributes, .. } = &outcome;
    told_lost(*without_attributes).iter().for_each(|line| println!("{line}"));
    if *empty > 0 {
        println!("{empty} collections without elements were left out");
    }
    if *mended > 0 {
        println!("{mended} streams got their real number of entries");
    }
    if *unread > 0 {
        println!("{unread} bytes behind the end of an RDB file were not read");
    }
    if libraries + left_out > 0 {
        println!("{libraries} function libraries were sent, {left_out} left out");
    }
    if *not_sent > 0 {
        println!("{not_sent} commands that change no data were left out");
    }
    let mut is_whole = *failures == 0;
    if let Some(found) = comparison {
        if !found.is_equal() {
            println!("the servers differ, as they do where keys were changed meanwhile:");
        }
        print(found);
        // What was there before stays there.
        is_whole &= !found.lacks_something();
    }
    Ok(is_whole)
}

fn print(found: &Comparison) {
    found.shown.iter().for_each(|line| println!("{line}"));
    println!("{}", found.summary());
}
