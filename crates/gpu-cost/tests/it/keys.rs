//! Keys of rows.

use gpu_cost::RowKey;

#[test]
fn a_key_reads_back_as_it_was_written() {
    let key = RowKey([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 254, 255]);
    assert_eq!(key.to_string(), "000102030405060708090a0b0c0dfeff");
    assert_eq!(RowKey::parse(&key.to_string()), Some(key));
    for bad in ["", "00", "zz0102030405060708090a0b0c0dfeff", "ä"] {
        assert_eq!(RowKey::parse(bad), None, "{bad}");
    }
}
