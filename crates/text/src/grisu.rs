//! Digits of doubles as Valkey prints them: by Grisu2, Florian Loitsch's algorithm of 2010.
//!
//! ```text
//! value, and the bounds half way to its neighbours ──▶ times a power of ten ──▶ 2^-60 ... 2^-32
//! digits of the upper bound, until what is left lies between the bounds ──▶ nearer to the value
//! ```
//! The products are inexact in their last bit, so the interval is taken a little too small: all
//! digits read back as the same double, and one time in a thousand there is one more than need be.

/// Shortest digits of a number: `digits[..count]` times ten to the `exponent`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shortest {
    pub digits: [u8; DIGITS_MAX],
    pub count: usize,
    pub exponent: i32,
}

/// Number `bits` times two to the `exponent`.
#[derive(Clone, Copy)]
struct Scaled {
    bits: u64,
    exponent: i32,
}

impl Scaled {
    fn normalized(self) -> Scaled {
        let zeros = self.bits.leading_zeros();
        Scaled { bits: self.bits << zeros, exponent: self.exponent - zeros.cast_signed() }
    }

    /// Returns the upper half of the product, rounded.
    fn times(self, other: Scaled) -> Scaled {
        let product = u128::from(self.bits) * u128::from(other.bits) + (1 << 63);
        let bits = (product >> u64::BITS) as u64;
        Scaled { bits, exponent: self.exponent + other.exponent + u64::BITS.cast_signed() }
    }
}

impl Shortest {
    /// Returns the digits of a finite number above zero.
    pub fn of(value: f64) -> Shortest {
        let bits = value.to_bits();
        let (fraction, exponent) = (bits & (HIDDEN - 1), (bits >> FRACTION_BITS & 0x7ff) as i32);
        let exact = match exponent {
            0 => Scaled { bits: fraction, exponent: EXPONENT_LEAST },
            _ => Scaled { bits: fraction | HIDDEN, exponent: EXPONENT_LEAST - 1 + exponent },
        };
        let upper = Scaled { bits: 2 * exact.bits + 1, exponent: exact.exponent - 1 }.normalized();
        // Below a power of two the next number is half as far away.
        let shift = if exact.bits == HIDDEN { 2 } else { 1 };
        let lower_exponent = exact.exponent - shift;
        let lower = (exact.bits << shift) - 1;
        let lower = lower << (lower_exponent - upper.exponent);
        let lower = Scaled { bits: lower, exponent: upper.exponent };
        let (power, ten) = power_for(upper.exponent);
        let (exact, upper, lower) =
            (exact.normalized().times(power), upper.times(power), lower.times(power));
        let interval = Interval {
            upper: Scaled { bits: upper.bits - 1, ..upper },
            width: upper.bits - lower.bits - 2,
            to_exact: upper.bits - 1 - exact.bits,
        };
        interval.digits(-ten)
    }

    fn push(&mut self, digit: u32) {
        if digit > 0 || self.count > 0 {
            self.digits[self.count] = b'0' + narrow::to_u8(digit as usize);
            self.count += 1;
        }
    }

    /// Finishes digits that are `left` below the upper bound: lowers the last one by steps of
    /// `step` while that comes nearer to the value and stays within the interval.
    fn ended(mut self, exponent: i32, mut left: u64, step: u64, width: u64, to_exact: u64) -> Self {
        while left < to_exact
            && width - left >= step
            && (left + step < to_exact || to_exact - left > left + step - to_exact)
        {
            self.digits[self.count - 1] -= 1;
            left += step;
        }
        self.exponent = exponent;
        self
    }
}

/// Interval in which digits may end: all numbers that read back as the value.
struct Interval {
    upper: Scaled,
    width: u64,
    /// Distance from the upper bound down to the value.
    to_exact: u64,
}

impl Interval {
    fn digits(&self, exponent: i32) -> Shortest {
        let shift = self.upper.exponent.unsigned_abs();
        let below_point = (1 << shift) - 1;
        let (mut whole, mut rest) =
            (narrow::low_u32(self.upper.bits >> shift), self.upper.bits & below_point);
        let mut found = Shortest { digits: [0; DIGITS_MAX], count: 0, exponent };
        let places = whole.checked_ilog10().map_or(0, |log| log + 1);
        let mut unit = 10_u32.pow(places.saturating_sub(1));
        for place in (0..places.cast_signed()).rev() {
            found.push(whole / unit);
            whole %= unit;
            let left = (u64::from(whole) << shift) + rest;
            if left <= self.width {
                let step = u64::from(unit) << shift;
                return found.ended(exponent + place, left, step, self.width, self.to_exact);
            }
            unit /= 10;
        }
        let (mut width, mut to_exact, mut place) = (self.width, self.to_exact, 0);
        loop {
            (rest, width, to_exact) = (rest * 10, width * 10, to_exact.wrapping_mul(10));
            place -= 1;
            found.push(narrow::low_u32(rest >> shift));
            rest &= below_point;
            if rest < width {
                return found.ended(exponent + place, rest, below_point + 1, width, to_exact);
            }
        }
    }
}

/// Returns a power of ten that brings a number with this exponent into the range where its whole
/// part has at most 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "exponents have eleven bits")]
fn power_for(exponent: i32) -> (Scaled, i32) {
    let powers = i32::from(narrow::to_u8(POWERS.len()));
    let ten = (f64::from(-(exponent + powers)) * LOG10_OF_2) as i32;
    let mut at = (ten - TEN_LEAST) / TEN_STEP;
    loop {
        let ten = TEN_LEAST + at * TEN_STEP;
        let power = Scaled { bits: POWERS[at as usize], exponent: exponent_of_ten(ten) };
        match exponent + power.exponent + u64::BITS.cast_signed() {
            ..-60 => at += 1,
            -60..=-32 => return (power, ten),
            _ => at -= 1,
        }
    }
}

/// Returns the exponent of two that belongs to the upper 64 bits of ten to the `ten`.
fn exponent_of_ten(ten: i32) -> i32 {
    ((ten * 217_706) >> 16) - 63
}

pub(crate) const DIGITS_MAX: usize = 18;
const FRACTION_BITS: u32 = 52;
const HIDDEN: u64 = 1 << FRACTION_BITS;
const EXPONENT_LEAST: i32 = -1074;
const LOG10_OF_2: f64 = 0.301_029_995_663_981_14;
const TEN_LEAST: i32 = -348;
const TEN_STEP: i32 = 8;

/// Upper 64 bits of every eighth power of ten, rounded.
#[rustfmt::skip]
const POWERS: [u64; 87] = [
    0xfa8f_d5a0_081c_0288, 0xbaae_e17f_a23e_bf76, 0x8b16_fb20_3055_ac76, 0xcf42_894a_5dce_35ea,
    0x9a6b_b0aa_5565_3b2d, 0xe61a_cf03_3d1a_45df, 0xab70_fe17_c79a_c6ca, 0xff77_b1fc_bebc_dc4f,
    0xbe56_91ef_416b_d60c, 0x8dd0_1fad_907f_fc3c, 0xd351_5c28_3155_9a83, 0x9d71_ac8f_ada6_c9b5,
    0xea9c_2277_23ee_8bcb, 0xaecc_4991_4078_536d, 0x823c_1279_5db6_ce57, 0xc210_9436_4dfb_5637,
    0x9096_ea6f_3848_984f, 0xd774_85cb_2582_3ac7, 0xa086_cfcd_97bf_97f4, 0xef34_0a98_172a_ace5,
    0xb238_67fb_2a35_b28e, 0x84c8_d4df_d2c6_3f3b, 0xc5dd_4427_1ad3_cdba, 0x936b_9fce_bb25_c996,
    0xdbac_6c24_7d62_a584, 0xa3ab_6658_0d5f_daf6, 0xf3e2_f893_dec3_f126, 0xb5b5_ada8_aaff_80b8,
    0x8762_5f05_6c7c_4a8b, 0xc9bc_ff60_34c1_3053, 0x964e_858c_91ba_2655, 0xdff9_7724_7029_7ebd,
    0xa6df_bd9f_b8e5_b88f, 0xf8a9_5fcf_8874_7d94, 0xb944_7093_8fa8_9bcf, 0x8a08_f0f8_bf0f_156b,
    0xcdb0_2555_6531_31b6, 0x993f_e2c6_d07b_7fac, 0xe45c_10c4_2a2b_3b06, 0xaa24_2499_6973_92d3,
    0xfd87_b5f2_8300_ca0e, 0xbce5_0864_9211_1aeb, 0x8cbc_cc09_6f50_88cc, 0xd1b7_1758_e219_652c,
    0x9c40_0000_0000_0000, 0xe8d4_a510_0000_0000, 0xad78_ebc5_ac62_0000, 0x813f_3978_f894_0984,
    0xc097_ce7b_c907_15b3, 0x8f7e_32ce_7bea_5c70, 0xd5d2_38a4_abe9_8068, 0x9f4f_2726_179a_2245,
    0xed63_a231_d4c4_fb27, 0xb0de_6538_8cc8_ada8, 0x83c7_088e_1aab_65db, 0xc45d_1df9_4271_1d9a,
    0x924d_692c_a61b_e758, 0xda01_ee64_1a70_8dea, 0xa26d_a399_9aef_774a, 0xf209_787b_b47d_6b85,
    0xb454_e4a1_79dd_1877, 0x865b_8692_5b9b_c5c2, 0xc835_53c5_c896_5d3d, 0x952a_b45c_fa97_a0b3,
    0xde46_9fbd_99a0_5fe3, 0xa59b_c234_db39_8c25, 0xf6c6_9a72_a398_9f5c, 0xb7dc_bf53_54e9_bece,
    0x88fc_f317_f222_41e2, 0xcc20_ce9b_d35c_78a5, 0x9816_5af3_7b21_53df, 0xe2a0_b5dc_971f_303a,
    0xa8d9_d153_5ce3_b396, 0xfb9b_7cd9_a4a7_443c, 0xbb76_4c4c_a7a4_4410, 0x8bab_8eef_b640_9c1a,
    0xd01f_ef10_a657_842c, 0x9b10_a4e5_e991_3129, 0xe710_9bfb_a19c_0c9d, 0xac28_20d9_623b_f429,
    0x8044_4b5e_7aa7_cf85, 0xbf21_e440_03ac_dd2d, 0x8e67_9c2f_5e44_ff8f, 0xd433_179d_9c8c_b841,
    0x9e19_db92_b4e3_1ba9, 0xeb96_bf6e_badf_77d9, 0xaf87_023b_9bf0_ee6b,
];
