//! Rates per second, from sampled differences of sums.

use base::Steady;

/// Number of sums that are sampled.
pub(crate) const SUMS: usize = 5;
/// Number of samples over which the mean is taken.
const SAMPLES: usize = 16;
/// Minimum time between samples; those that come sooner are left out.
const SPACING_MILLIS: u64 = 100;

/// Rates per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Commands.
    pub commands: f64,
    /// Bytes read from clients.
    pub input_bytes: f64,
    /// Bytes written to clients.
    pub output_bytes: f64,
    /// Loop iterations.
    pub iterations: f64,
    /// Nanoseconds of loop iterations.
    pub iteration_nanos: f64,
}

/// Sampled rates, of which the last ones are kept.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    last: Option<(Steady, [u64; SUMS])>,
    samples: [[f64; SUMS]; SAMPLES],
    taken: usize,
}

impl Sampler {
    /// Takes a sample of the sums at `now`.
    pub fn note(&mut self, now: Steady, sums: [u64; SUMS]) {
        let Some((at, before)) = self.last else {
            self.last = Some((now, sums));
            return;
        };
        let passed = now.since(at);
        if passed < SPACING_MILLIS {
            return;
        }
        let rate =
            |rate: usize| sums[rate].saturating_sub(before[rate]) as f64 * 1000.0 / passed as f64;
        self.samples[self.taken % SAMPLES] = std::array::from_fn(rate);
        self.taken += 1;
        self.last = Some((now, sums));
    }

    /// Returns the means of the last samples; those before the first count as zero.
    pub fn rates(&self) -> Rates {
        let mean = |rate: usize| {
            self.samples.iter().map(|sample| sample[rate]).sum::<f64>() / SAMPLES as f64
        };
        Rates {
            commands: mean(0),
            input_bytes: mean(1),
            output_bytes: mean(2),
            iterations: mean(3),
            iteration_nanos: mean(4),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_flow_is_told_as_its_rate() {
        let mut sampler = Sampler::default();
        for step in 0..=20 {
            sampler.note(Steady(1000 + step * 200), [step * 10, step * 100, 0, 0, 0]);
        }
        let rates = sampler.rates();
        assert_eq!((rates.commands, rates.input_bytes, rates.output_bytes), (50.0, 500.0, 0.0));
    }

    #[test]
    fn samples_that_come_too_soon_are_left_out() {
        let mut sampler = Sampler::default();
        sampler.note(Steady(1000), [0; SUMS]);
        sampler.note(Steady(1001), [1_000_000; SUMS]);
        assert_eq!(sampler.rates(), Rates::default());
    }
}
