//! Bytes that few clients have at any time.

/// Bytes in a box, of which nothing but a pointer is there while there are none.
#[derive(Debug, Default)]
pub struct RareBytes(Option<Box<Bytes>>);

#[derive(Debug, Default)]
struct Bytes {
    bytes: Vec<u8>,
}

impl RareBytes {
    /// Moves bytes here, behind those that are here.
    pub fn append(&mut self, bytes: &mut Vec<u8>) {
        if !bytes.is_empty() {
            self.0.get_or_insert_default().bytes.append(bytes);
        }
    }

    /// Moves all bytes behind others.
    pub fn move_behind(&mut self, bytes: &mut Vec<u8>) {
        if let Some(mut rare) = self.0.take() {
            bytes.append(&mut rare.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RareBytes;

    #[test]
    fn bytes_are_moved_in_their_order_and_once() {
        let (mut rare, mut all) = (RareBytes::default(), b"a".to_vec());
        rare.move_behind(&mut all);
        rare.append(&mut Vec::new());
        assert!(rare.0.is_none());
        rare.append(&mut b"b".to_vec());
        rare.append(&mut b"c".to_vec());
        rare.move_behind(&mut all);
        rare.move_behind(&mut all);
        assert_eq!(all, b"abc");
    }
}
