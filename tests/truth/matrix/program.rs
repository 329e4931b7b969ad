// SPDX-License-Identifier: Apache-2.0
// The same in Rust. A chain of multiplications takes the time of its count.

/// std::hint::black_box is not stable in the rustc of Debian 12.
#[inline(always)]
fn black_box(x: u64) -> u64 {
    unsafe { std::ptr::read_volatile(&x) }
}

#[inline(always)]
fn spin(count: u64) {
    let mut x = 3u64;
    for _ in 0..black_box(count) {
        x = x.wrapping_mul(x);
        x = x.wrapping_mul(x);
        x = x.wrapping_mul(x);
        x = x.wrapping_mul(x);
    }
    black_box(x);
}

#[inline(never)]
fn direct(scale: u64) {
    spin(50 * scale); // @50
    black_box(scale);
}

#[inline(always)]
fn inner(scale: u64) {
    spin(10 * scale); // @10
}

#[inline(always)]
fn between(scale: u64) {
    inner(scale);
    spin(20 * scale); // @20
}

#[inline(never)]
fn outer(scale: u64) {
    between(scale);
    black_box(scale);
}

#[inline(never)]
fn far_leaf(scale: u64) {
    spin(15 * scale); // @15
    black_box(scale);
}

#[inline(never)]
fn far(scale: u64) {
    far_leaf(scale);
    black_box(scale);
}

#[inline(never)]
fn rare(scale: u64) {
    spin(5 * scale); // @5
    black_box(scale);
}

#[inline(never)]
fn descend(scale: u64, left: u32) {
    if left > 0 {
        descend(scale, left - 1);
        black_box(scale);
        return;
    }
    direct(scale);
    outer(scale);
    far(scale);
    rare(scale);
    black_box(scale);
}

fn main() {
    let mut state = 1u64;
    for _ in 0..700 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        descend(200 + (state >> 33) % 400, 2);
    }
}
