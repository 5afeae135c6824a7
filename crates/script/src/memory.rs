//! Memory of an interpreter: each allocation of Lua passes here, is counted, and has a limit.

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

/// Count and limit, shared by Lua's allocations and the interpreter.
pub struct Memory {
    used: Cell<usize>,
    limit: Cell<usize>,
}

impl Memory {
    /// Returns an account of nothing, for up to `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Memory { used: Cell::new(0), limit: Cell::new(limit) }
    }

    /// Returns the number of bytes in use.
    pub fn used(&self) -> usize {
        self.used.get()
    }

    /// Returns the largest number of bytes that may be in use.
    pub fn limit(&self) -> usize {
        self.limit.get()
    }

    /// Returns true if more than half of the limit is in use.
    pub fn is_half_used(&self) -> bool {
        self.used.get() > self.limit.get() / 2
    }

    /// Returns true if a block may change from `old` to `new` bytes. A smaller block always may:
    /// Lua counts on it.
    fn admits(&self, old: usize, new: usize) -> bool {
        new <= old || self.used.get() - old + new <= self.limit.get()
    }
}

/// The allocator of Lua: `new` bytes for a block of `old` bytes, none of which may be there yet.
///
/// # Safety
/// `account` is a [`Memory`] that lives as long as the Lua state; `block` is null or was returned
/// by this function for `old` bytes.
pub unsafe extern "C" fn reallocate(
    account: *mut c_void,
    block: *mut c_void,
    old: usize,
    new: usize,
) -> *mut c_void {
    // SAFETY: the caller promises so; only shared references to it are ever made.
    let memory = unsafe { &*account.cast::<Memory>() };
    let old = if block.is_null() { 0 } else { old };
    if !memory.admits(old, new) {
        return ptr::null_mut();
    }
    // SAFETY: the block has `old` bytes, as the caller promises.
    let block = unsafe { change(block.cast(), old, new) };
    if !block.is_null() || new == 0 {
        memory.used.set(memory.used.get() - old + new);
    }
    block.cast()
}

/// Changes a block's size; null where the system has no more.
///
/// # Safety
/// `block` has `old` bytes and was returned by this function, or `old` is 0.
unsafe fn change(block: *mut u8, old: usize, new: usize) -> *mut u8 {
    let Ok(layout) = Layout::from_size_align(old, ALIGNMENT) else { return ptr::null_mut() };
    let Ok(wanted) = Layout::from_size_align(new, ALIGNMENT) else { return ptr::null_mut() };
    match (old, new) {
        (0, 0) => ptr::null_mut(),
        // SAFETY: the size is not zero.
        (0, _) => unsafe { alloc(wanted) },
        // SAFETY: the block was allocated with this layout.
        (_, 0) => unsafe {
            dealloc(block, layout);
            ptr::null_mut()
        },
        // SAFETY: as above, and the new size is neither zero nor too large.
        _ => unsafe { realloc(block, layout, new) },
    }
}

/// Alignment of all blocks: what `malloc` gives, and Lua's largest.
const ALIGNMENT: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn grow(memory: &Memory, block: *mut c_void, old: usize, new: usize) -> *mut c_void {
        // SAFETY: the tests give blocks of this function with their sizes.
        unsafe { reallocate(ptr::from_ref(memory).cast_mut().cast(), block, old, new) }
    }

    #[test]
    fn blocks_are_counted_until_they_are_freed() {
        let memory = Memory::new(1000);
        let block = grow(&memory, ptr::null_mut(), 0, 100);
        let block = grow(&memory, block, 100, 300);
        assert_eq!(memory.used(), 300);
        grow(&memory, block, 300, 0);
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn a_block_beyond_the_limit_is_refused_and_a_smaller_one_never() {
        let memory = Memory::new(100);
        let block = grow(&memory, ptr::null_mut(), 0, 100);
        assert!(grow(&memory, block, 100, 101).is_null());
        assert_eq!(memory.used(), 100);
        let block = grow(&memory, block, 100, 40);
        assert!(!block.is_null());
        grow(&memory, block, 40, 0);
    }
}
