//! Whether this processor has what the program was compiled for, asked before anything that needs it.
//!
//! The build settings of this repository take eight floats at a time (x86-64-v3). On a processor without, the program
//! would end at some instruction with nothing said; so `main` asks first. The question itself must not use such
//! instructions: it is kept to integers, and tried on an emulated processor of 2008.

/// What is missing, with what helps; `None` if all is there.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
pub fn missing() -> Option<&'static str> {
    let cpuid = raw_cpuid::cpuid!(1);
    let more = raw_cpuid::cpuid!(7, 0);
    let bit = |word: u32, bit: u32| word >> bit & 1 == 1;
    // FMA, MOVBE, the system's saving of wide registers, AVX, F16C; BMI1, AVX2, BMI2.
    let here = bit(cpuid.ecx, 12)
        && bit(cpuid.ecx, 22)
        && bit(cpuid.ecx, 27)
        && bit(cpuid.ecx, 28)
        && bit(cpuid.ecx, 29)
        && bit(more.ebx, 3)
        && bit(more.ebx, 5)
        && bit(more.ebx, 8);
    if here { None } else { Some(ADVICE) }
}

/// What is missing: nothing beyond what every processor of this kind has was asked for.
#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
pub fn missing() -> Option<&'static str> {
    None
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
const ADVICE: &str = "foretune: this processor lacks AVX2, which this build uses; build it on this machine with \
    RUSTFLAGS=\"-C target-cpu=native\" cargo build --release (same results, slower)\n";

#[cfg(test)]
mod tests {
    #[test]
    fn a_machine_that_runs_this_test_has_what_it_was_compiled_for() {
        assert_eq!(super::missing(), None);
    }
}
