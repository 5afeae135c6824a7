//! Thread that looks whether files of certificates and keys have changed.

use super::{Tls, is_wanted};
use crossbeam_channel::{Receiver, RecvTimeoutError};
use session::Instance;
use settings::tls::TLS_AUTO_RELOAD_INTERVAL;
use std::sync::Weak;
use std::time::Duration;

/// Looks as often as the settings say, as long as there is a server. `asked` tells that they have
/// changed.
pub(super) fn run(tls: &Weak<Tls>, instance: &Weak<Instance>, asked: &Receiver<()>) {
    loop {
        let Some(seconds) = instance.upgrade().map(|it| {
            let is_wanted = is_wanted(&it.settings);
            if is_wanted { TLS_AUTO_RELOAD_INTERVAL.get(&it.settings) } else { 0 }
        }) else {
            return;
        };
        let told = if seconds == 0 {
            asked.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            asked.recv_timeout(Duration::from_secs(seconds.into()))
        };
        match told {
            Ok(()) => {}
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                if let Some(tls) = tls.upgrade() {
                    tls.renew();
                }
            }
        }
    }
}
