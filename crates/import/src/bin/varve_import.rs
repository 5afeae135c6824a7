//! Fills a running server from files or from another server, and compares servers.

use clap::Parser;
use import::address::{Address, Encryption};
use import::compare::{Comparison, Rules, compare};
use import::error::Error;
use import::fill::{Origin, Outcome, import};
use import::meter::Meter;
use import::run::Options;
use import::server::Server;
use import::stop::Stop;
use import::usage::Usage;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

/// Fills a running server from an RDB file, an append-only file or its directory, or another
/// server; or compares two servers.
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

fn usage(kind: &str) -> Result<Usage, String> {
    match kind {
        "idle" => Ok(Usage::Idle),
        "freq" => Ok(Usage::Frequency),
        _ => Err("idle or freq".to_owned()),
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = if arguments.compare { run_comparison(&arguments) } else { run_import(&arguments) };
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
    let found = compare(&first, &second, arguments.rules(), &meter)?;
    meter.end();
    print(&found);
    Ok(found.is_equal())
}

fn run_import(arguments: &Arguments) -> Result<bool, Error> {
    let stop = Stop::default();
    stop.listen()
        .map_err(|error| Error::Usage(format!("signals cannot be waited for: {error}")))?;
    let options = Options {
        target: arguments.target(&arguments.to)?,
        connections: arguments.connections,
        usage: arguments.usage,
        resume: arguments.resume.clone(),
        takes_functions: !arguments.no_functions,
        shows_progress: arguments.shows_progress(),
        compares: !arguments.no_comparison,
        rules: arguments.rules(),
        stop,
    };
    let outcome = import(&arguments.origin()?, &options)?;
    let Outcome { keys, commands, libraries, left_out, failures, comparison, .. } = &outcome;
    println!("{keys} keys and {commands} commands were sent; {failures} failed");
    let Outcome { empty, mended, unread, not_sent, .. } = &outcome;
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
