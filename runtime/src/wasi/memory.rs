//! The guest's memory, with every address checked.

use super::abi::{Errno, IOVEC_BYTES};

/// Ranges that one call may name, as on other systems (`IOV_MAX`): bounds the work behind one call.
const MAX_RANGES: u32 = 1024;

/// The guest's memory. Addresses and lengths are any numbers; what is not inside is `EFAULT`.
pub(crate) struct Guest<'a> {
    bytes: &'a mut [u8],
}

impl<'a> Guest<'a> {
    pub(crate) fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes }
    }

    pub(crate) fn read(&self, address: u32, length: u32) -> Result<&[u8], Errno> {
        let start = address as usize;
        let end = start.checked_add(length as usize).ok_or(Errno::Fault)?;
        self.bytes.get(start..end).ok_or(Errno::Fault)
    }

    pub(crate) fn write(&mut self, address: u32, length: u32) -> Result<&mut [u8], Errno> {
        let start = address as usize;
        let end = start.checked_add(length as usize).ok_or(Errno::Fault)?;
        self.bytes.get_mut(start..end).ok_or(Errno::Fault)
    }

    pub(crate) fn array<const N: usize>(&self, address: u32) -> Result<[u8; N], Errno> {
        let bytes = self.bytes.get(address as usize..).and_then(|rest| rest.first_chunk::<N>());
        bytes.copied().ok_or(Errno::Fault)
    }

    pub(crate) fn put<const N: usize>(&mut self, address: u32, value: [u8; N]) -> Result<(), Errno> {
        let bytes = self.bytes.get_mut(address as usize..).and_then(|rest| rest.first_chunk_mut::<N>());
        *bytes.ok_or(Errno::Fault)? = value;
        Ok(())
    }

    pub(crate) fn put_u32(&mut self, address: u32, value: u32) -> Result<(), Errno> {
        self.put(address, value.to_le_bytes())
    }

    pub(crate) fn put_u64(&mut self, address: u32, value: u64) -> Result<(), Errno> {
        self.put(address, value.to_le_bytes())
    }

    /// The `index`th range of an array of `iovec`s, both numbers as the guest wrote them.
    pub(crate) fn range(&self, array: u32, index: u32) -> Result<(u32, u32), Errno> {
        let offset = index.checked_mul(IOVEC_BYTES).ok_or(Errno::Fault)?;
        let [a, b, c, d, e, f, g, h] = self.array(array.checked_add(offset).ok_or(Errno::Fault)?)?;
        Ok((u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])))
    }

    /// Checks an array of ranges as a whole, and adds up their lengths.
    pub(crate) fn ranges_total(&self, array: u32, count: u32) -> Result<u32, Errno> {
        if count > MAX_RANGES {
            return Err(Errno::Inval);
        }
        let mut total: u32 = 0;
        for index in 0..count {
            let (address, length) = self.range(array, index)?;
            self.read(address, length)?;
            total = total.checked_add(length).ok_or(Errno::Inval)?;
        }
        Ok(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked_at_every_edge() {
        let mut bytes = [0; 64];
        let mut guest = Guest::new(&mut bytes);
        assert_eq!(guest.read(64, 0), Ok(&[][..]));
        assert_eq!(guest.read(0, 64).map(<[u8]>::len), Ok(64));
        for (address, length) in [(65, 0), (0, 65), (63, 2), (u32::MAX, 1), (u32::MAX, u32::MAX), (1, u32::MAX)] {
            assert_eq!(guest.read(address, length), Err(Errno::Fault), "{address} {length}");
            assert_eq!(guest.write(address, length), Err(Errno::Fault), "{address} {length}");
        }
        assert_eq!(guest.put_u32(60, 7), Ok(()));
        assert_eq!(guest.put_u32(61, 7), Err(Errno::Fault));
        assert_eq!(guest.put_u64(u32::MAX, 7), Err(Errno::Fault));
        assert_eq!(guest.array::<4>(60), Ok([7, 0, 0, 0]));
        assert_eq!(guest.array::<8>(60), Err(Errno::Fault));
    }

    #[test]
    fn ranges_are_checked_before_any_is_used() {
        let mut bytes = [0; 64];
        let mut guest = Guest::new(&mut bytes);
        guest.put_u32(0, 16).unwrap();
        guest.put_u32(4, 8).unwrap();
        guest.put_u32(8, 60).unwrap();
        guest.put_u32(12, 4).unwrap();
        assert_eq!(guest.ranges_total(0, 2), Ok(12));
        assert_eq!(guest.ranges_total(0, 0), Ok(0));
        assert_eq!(guest.ranges_total(60, 1), Err(Errno::Fault));
        assert_eq!(guest.ranges_total(u32::MAX, 2), Err(Errno::Fault));
        assert_eq!(guest.ranges_total(0, 1025), Err(Errno::Inval));
        guest.put_u32(12, 5).unwrap();
        assert_eq!(guest.ranges_total(0, 2), Err(Errno::Fault));
    }
}
