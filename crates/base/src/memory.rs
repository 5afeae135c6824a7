//! Address space from the operating system: reserved once, touched lazily, returned in pieces.

use crate::process;
use rustix::mm::{self, Advice, MapFlags, ProtFlags};
use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Size of the pages that memory is touched and returned in.
pub const PAGE_BYTES: usize = 4096;

/// Parts that limited address space is divided into: what is reserved at start takes sixteen of
/// them at most, and threads and the allocator have the others.
pub const PARTS: u64 = 20;

/// Prefetches the cache line at `address`; any address will do.
#[inline]
pub fn prefetch<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// Prefetches the cache line at `address` as one that will be written, so that no other core has it
/// any more; any address will do.
#[inline]
pub fn prefetch_to_write<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch never faults. All 64-bit processors know this one.
    unsafe {
        use std::arch::asm;
        asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// Range of zero-filled, readable and writable address space. A page of it takes memory from the
/// moment of its first write until it is given back, after which it reads as zeros again.
#[derive(Debug)]
pub struct Reservation {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a reservation is a range of addresses; who may access which byte is its users' contract.
unsafe impl Send for Reservation {}
// SAFETY: as above.
unsafe impl Sync for Reservation {}

impl Reservation {
    /// Reserves `bytes`, aligned to `align` (a power of two). Huge pages are off until
    /// `use_huge_pages`.
    ///
    /// # Errors
    /// When the system refuses so much address space.
    pub fn new(bytes: usize, align: usize) -> io::Result<Reservation> {
        assert!(align.is_power_of_two() && align >= PAGE_BYTES && bytes.is_multiple_of(PAGE_BYTES));
        #[cfg(miri)]
        return Self::from_allocator(bytes, align);
        #[cfg(not(miri))]
        Self::map(bytes, align)
    }

    /// Reserves `most` bytes, or half of it, a quarter and so on, as the system allows. Where the
    /// process may have so much address space and no more, it takes no more than `parts` of the
    /// [`PARTS`] of it, as the others need theirs.
    ///
    /// # Errors
    /// When not even `least` bytes are available.
    pub fn up_to(most: usize, least: usize, align: usize, parts: u64) -> io::Result<Reservation> {
        let share = process::shared_address_space().map_or(u64::MAX, |all| all / PARTS * parts);
        let mut bytes = most;
        while bytes as u64 > share && bytes / 2 >= least {
            bytes /= 2;
        }
        loop {
            match Reservation::new(bytes, align) {
                Err(_) if bytes / 2 >= least => bytes /= 2,
                outcome => return outcome,
            }
        }
    }

    #[cfg(not(miri))]
    fn map(bytes: usize, align: usize) -> io::Result<Reservation> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // The kernel aligns to pages by itself.
        let more = if align > PAGE_BYTES { align } else { 0 };
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice.
        let raw = unsafe { mm::mmap_anonymous(std::ptr::null_mut(), bytes + more, access, flags)? };
        let start = raw as usize;
        let base = start.next_multiple_of(align);
        // SAFETY: the trimmed ends lie inside the mapping just made, and nothing refers to them.
        unsafe {
            if base > start {
                let _ = mm::munmap(raw, base - start);
            }
            if start + more > base {
                let _ = mm::munmap((base + bytes) as *mut _, start + more - base);
            }
            let _ = mm::madvise(base as *mut _, bytes, Advice::LinuxNoHugepage);
        }
        let base = NonNull::new(raw.cast::<u8>().wrapping_add(base - start));
        base.map(|base| Reservation { base, bytes })
            .ok_or_else(|| io::Error::other("mapped at zero"))
    }

    #[cfg(miri)]
    fn from_allocator(bytes: usize, align: usize) -> io::Result<Reservation> {
        let layout = std::alloc::Layout::from_size_align(bytes, align).map_err(io::Error::other)?;
        // SAFETY: the size is not zero.
        let base = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) });
        base.map(|base| Reservation { base, bytes }).ok_or_else(|| io::Error::other("no memory"))
    }

    /// Returns a pointer to the first byte.
    #[inline]
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Returns the size of the range in bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the memory of `[from, from + bytes)` to the system; it reads as zeros afterwards.
    ///
    /// # Safety
    /// No other thread may access the range meanwhile, except by atomic loads taken as hints.
    pub unsafe fn release(&self, from: usize, bytes: usize) {
        assert!(from.is_multiple_of(PAGE_BYTES) && from + bytes <= self.bytes);
        if bytes == 0 {
            return;
        }
        #[cfg(not(miri))]
        // SAFETY: inside the mapping; the caller guarantees that no data is lost.
        unsafe {
            let _ = mm::madvise(self.base().add(from).cast(), bytes, Advice::LinuxDontNeed);
        }
        #[cfg(miri)]
        // SAFETY: inside the allocation, to which the caller has the only access.
        unsafe {
            self.base().add(from).write_bytes(0, bytes);
        }
    }

    /// Touches the pages of `[from, from + bytes)` in one call instead of one fault each.
    /// Best effort: an old kernel touches them later.
    pub fn populate(&self, from: usize, bytes: usize) {
        assert!(from.is_multiple_of(PAGE_BYTES) && from + bytes <= self.bytes);
        #[cfg(not(miri))]
        // SAFETY: populating changes no byte.
        unsafe {
            let _ = mm::madvise(self.base().add(from).cast(), bytes, Advice::LinuxPopulateWrite);
        }
    }

    /// Lets the kernel use huge pages for `[from, from + bytes)`.
    pub fn use_huge_pages(&self, from: usize, bytes: usize) {
        self.advise(from, bytes, Advice::LinuxHugepage);
    }

    /// Keeps the kernel from using huge pages for `[from, from + bytes)`, as in a new reservation.
    pub fn use_small_pages(&self, from: usize, bytes: usize) {
        self.advise(from, bytes, Advice::LinuxNoHugepage);
    }

    fn advise(&self, from: usize, bytes: usize, page_size: Advice) {
        assert!(from.is_multiple_of(PAGE_BYTES) && from + bytes <= self.bytes);
        #[cfg(not(miri))]
        // SAFETY: page sizes change no byte.
        unsafe {
            let _ = mm::madvise(self.base().add(from).cast(), bytes, page_size);
        }
        #[cfg(miri)]
        let _ = page_size;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        #[cfg(not(miri))]
        // SAFETY: the reservation owns the mapping, and no borrow of it is left.
        unsafe {
            let _ = mm::munmap(self.base().cast(), self.bytes);
        }
        // Under Miri the range is leaked: its alignment is not kept, and tests end soon.
    }
}

/// Bytes in pages of their own, zeros at first. Pages that were never written take no memory, and
/// all return to the system the moment the bytes are dropped, whatever the allocator would keep.
#[derive(Debug)]
pub struct PageBytes(Reservation);

impl PageBytes {
    /// At least so many bytes: whole pages.
    ///
    /// # Errors
    /// When the system refuses so much address space.
    pub fn new(least: usize) -> io::Result<PageBytes> {
        let bytes = least.max(1).checked_next_multiple_of(PAGE_BYTES);
        let bytes = bytes.ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Reservation::new(bytes, PAGE_BYTES).map(PageBytes)
    }
}

impl Deref for PageBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the range is mapped, holds initialised bytes, and nobody else knows of it.
        unsafe { std::slice::from_raw_parts(self.0.base(), self.0.bytes()) }
    }
}

impl DerefMut for PageBytes {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.0.base(), self.0.bytes()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_in_pages_are_zeros_until_they_are_written() {
        let mut bytes = PageBytes::new(PAGE_BYTES + 1).expect("address space");
        assert_eq!(bytes.len(), 2 * PAGE_BYTES);
        assert!(bytes.iter().all(|byte| *byte == 0));
        bytes[PAGE_BYTES] = 7;
        assert_eq!((bytes[PAGE_BYTES - 1], bytes[PAGE_BYTES]), (0, 7));
        assert_eq!(PageBytes::new(0).expect("address space").len(), PAGE_BYTES);
        assert!(PageBytes::new(usize::MAX).is_err());
    }

    #[test]
    fn a_reservation_reads_as_zeros_and_again_after_release() {
        let range = Reservation::new(1 << 16, 1 << 16).expect("address space");
        assert_eq!(range.base() as usize % (1 << 16), 0);
        // SAFETY: inside the range, used by this thread alone.
        unsafe {
            let last = range.base().add((1 << 16) - 1);
            assert_eq!(last.read(), 0);
            last.write(7);
            range.release(0, 1 << 16);
            assert_eq!(last.read(), 0);
        }
    }

    #[test]
    fn less_is_reserved_where_so_much_is_not_to_be_had() {
        if cfg!(miri) {
            return;
        }
        let range =
            Reservation::up_to(1 << 48, 1 << 20, 1 << 12, PARTS).expect("some address space");
        assert!(range.bytes() >= 1 << 20 && range.bytes() < 1 << 48);
    }
}
