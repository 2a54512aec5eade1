//! What a child process inherits without wanting it.
#![expect(
    unsafe_code,
    reason = "closing by number what others opened can't be checked by the compiler; contract below"
)]

/// Closes every descriptor but the three streams. They come from whoever started the parent: everything that the parent
/// opens itself is closed by the system when a child starts.
///
/// Called first in `main`: before a thread runs or anything is opened, so that nothing of this program owns a descriptor.
/// Where the system has no list of open descriptors nothing is closed.
pub(crate) fn close_inherited() {
    let Ok(entries) = std::fs::read_dir("/dev/fd") else { return };
    let numbers: Vec<i32> = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // SAFETY: nothing in this process owns a descriptor above 2 yet, by the contract above. The list's own one is
        // closed by now: its number is free, and closing a free number does nothing.
        unsafe { rustix::io::close(number) }
    }
}
