//! Signals: two end the server, as the settings say; the others that would end the process, and
//! with it all that is not on disk yet, do not.

use crate::end;
use session::Instance;
use signal_hook::consts::{
    SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXFSZ,
};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::Weak;

/// Signals that a terminal, a timer or a tool for another program may send. SIGXFSZ comes where a
/// file would grow beyond its limit, which the write that has failed says too.
const IGNORED: [i32; 7] = [SIGALRM, SIGIO, SIGPROF, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXFSZ];

/// Catches signals from now on, for `follow` to take.
///
/// # Errors
/// Those of the system.
pub fn catch() -> io::Result<Signals> {
    Signals::new([SIGHUP, SIGINT, SIGTERM].into_iter().chain(IGNORED))
}

/// Acts on the signals that come, as long as there is a server.
pub fn follow(instance: &Weak<Instance>, mut signals: Signals) {
    for signal in signals.forever() {
        match signal {
            SIGINT | SIGTERM => {
                tracing::info!("Received signal {signal}");
                let Some(instance) = instance.upgrade() else { return };
                end::on_signal(&instance, signal);
            }
            // That line begins another log file, where the one before was renamed or removed.
            SIGHUP => tracing::info!("Received SIGHUP: the log goes on in the file of that name"),
            // It comes with each write that fails.
            SIGXFSZ => {}
            _ => tracing::info!("Received signal {signal}, which has no effect"),
        }
    }
}
