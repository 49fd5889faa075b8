//! Random numbers.

use super::super::place::{Pattern, block_bytes, offsets};
use super::super::{CaseResult, Trouble};
use super::{GAP, noted, run};
use crate::Device;
use arrayloom_types::DType;

/// The first words that `numpy.random.Philox(key=1, counter=...)` gives for this counter.
const COUNTER: [u64; 4] = [0, 7, 0, 9];
const NUMPY: [u64; 9] = [
    0xEE75_55C0_AC7A_3B94,
    0x1EE2_B4F4_5170_6B24,
    0x4B08_F331_D387_0418,
    0xCB69_650B_D591_B979,
    0x753E_E6F4_6DC3_36F2,
    0x4C38_A6C0_F02A_C52A,
    0x9F77_5E69_BB63_3B32,
    0x8800_8BF7_3970_E5A5,
    0x0DA1_CA88_E901_7854,
];

/// The stream of Philox, in words and as numbers from 0 to 1.
pub fn random(device: &dyn Device) -> Vec<CaseResult> {
    let most = u64::MAX;
    let states = [
        (COUNTER, [1, 0]),
        ([most - 2, 5, 0, 0], [3, most - 9]),
        ([most - 1, most, most, 1 << 60], [1 << 63, 17]),
    ];
    noted(device, |suite| {
        let dtypes = [DType::U64, DType::F64, DType::F32].into_iter();
        let sizes = dtypes.flat_map(|dtype| [0, 1, 9, 1003].map(|count| (dtype, count)));
        let places = [Pattern::Contiguous, Pattern::Reversed, Pattern::Unaligned];
        let all = sizes.flat_map(|(dtype, count)| places.map(|pattern| (dtype, count, pattern)));
        for (dtype, count, pattern) in all {
            for (counter, key) in states {
                let result = case(device, (dtype, count, pattern), counter, key);
                let name = format!("philox/{dtype}/{count}/{}/{key:?}", pattern.name());
                suite.note(name, result);
            }
        }
    })
}

fn case(
    device: &dyn Device,
    (dtype, count, pattern): (DType, usize, Pattern),
    counter: [u64; 4],
    key: [u64; 2],
) -> Result<(), Trouble> {
    let out = pattern.output(dtype, &[count]);
    let attrs: Vec<u8> = counter
        .iter()
        .chain(&key)
        .flat_map(|w| w.to_le_bytes())
        .collect();
    let found = run(device, "philox", &[], &[&out], &attrs)?;
    let words = words(counter, key, count);
    if counter == COUNTER && words.iter().zip(NUMPY).any(|(a, b)| *a != b) {
        return Err("the suite itself has other words than NumPy"
            .to_owned()
            .into());
    }
    let mut expected = vec![GAP; block_bytes(&out)];
    for (i, at) in offsets(&out).into_iter().enumerate() {
        let bytes = value(dtype, &words, i);
        expected[at..at + bytes.len()].copy_from_slice(&bytes);
    }
    if found[0] == expected {
        Ok(())
    } else {
        Err("other numbers".to_owned().into())
    }
}

/// The bytes of number `i`: words give one of double precision, halves of words, the lower first, one of single.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "the bits that fit"
)]
fn value(dtype: DType, words: &[u64], i: usize) -> Vec<u8> {
    match dtype {
        DType::F64 => ((words[i] >> 11) as f64 / 2f64.powi(53))
            .to_le_bytes()
            .to_vec(),
        DType::F32 => {
            let half = (words[i / 2] >> (32 * (i % 2))) as u32;
            ((half >> 8) as f32 / 2f32.powi(24)).to_le_bytes().to_vec()
        }
        _ => words[i].to_le_bytes().to_vec(),
    }
}

/// So many words at least, one block after another.
fn words(mut counter: [u64; 4], key: [u64; 2], count: usize) -> Vec<u64> {
    let product = |a: u64, b: u64| {
        let both = (u128::from(a) * u128::from(b)).to_le_bytes();
        let (low, high) = both.split_at(8);
        [low, high].map(|half| u64::from_le_bytes(half.first_chunk().copied().unwrap_or_default()))
    };
    let mut all = Vec::new();
    while all.len() < count {
        for word in &mut counter {
            *word = word.wrapping_add(1);
            if *word != 0 {
                break;
            }
        }
        let (mut block, mut key) = (counter, key);
        for _ in 0..10 {
            let [low0, high0] = product(0xD2E7_470E_E14C_6C93, block[0]);
            let [low1, high1] = product(0xCA5A_8263_9512_1157, block[2]);
            block = [
                high1 ^ block[1] ^ key[0],
                low1,
                high0 ^ block[3] ^ key[1],
                low0,
            ];
            key[0] = key[0].wrapping_add(0x9E37_79B9_7F4A_7C15);
            key[1] = key[1].wrapping_add(0xBB67_AE85_84CA_A73B);
        }
        all.extend(block);
    }
    all
}
