//! Lists become tables.

use std::path::Path;

use gpu_cost::prices::parse_table;

use super::tables::Tables;
use super::{lists, normalized};

const NODES: &str = "aws,p9.8xlarge,r1,z1,X9,8.0,81920,96.0,1152.0,21.5,9.25,2026-08-22
aws,p9.8xlarge,r1,z2,X9,8.0,81920,96.0,1152.0,21.5,,2026-08-22
aws,p9.8xlarge,r2,z3,X9,8,81920,96.0,1152.0,24,7,2026-08-22
aws,p9.8xlarge,r2,z4,X9,8,81920,96.0,1152.0,24,8,2026-08-22
aws,inf9.large,r1,z1,Inferentia,1.0,,4.0,8.0,0.5,0.2,2026-08-22
aws,g9f.large,r1,z1,X9,0.125,10240,2.0,8.0,0.5,,2026-08-22
";

fn tables(lists: &[(&str, String)]) -> (Vec<String>, Tables) {
    let directory = tempfile::tempdir().unwrap();
    let mut tables = Tables::empty();
    for (name, text) in lists {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        lists::take(&path, "2026-09-01".parse().ok(), &mut tables).unwrap();
    }
    let prices = tables.text().unwrap().0;
    let rows = prices.lines().filter(|line| !line.starts_with('#')).skip(1);
    let rows = rows.map(str::to_owned).collect();
    parse_table(&prices).unwrap();
    (rows, tables)
}

#[test]
fn zones_with_one_price_are_one_row_and_empty_cells_are_no_price() {
    let (rows, tables) = tables(&[("nodes.csv", format!("{}\n{NODES}", normalized::HEADER))]);
    assert_eq!(
        rows,
        [
            "aws,g9f.large,r1,,on-demand,0.5,2026-08-22,catalog",
            "aws,p9.8xlarge,r1,,spot,9.25,2026-08-22,catalog",
            "aws,p9.8xlarge,r1,,on-demand,21.5,2026-08-22,catalog",
            "aws,p9.8xlarge,r2,,on-demand,24,2026-08-22,catalog",
            "aws,p9.8xlarge,r2,z3,spot,7,2026-08-22,catalog",
            "aws,p9.8xlarge,r2,z4,spot,8,2026-08-22,catalog",
        ]
    );
    let part = &tables.types[&(gpu_model::Cloud::Aws, "g9f.large".to_owned())];
    assert_eq!(
        (part.gpu_thousandths, part.devices(), part.memory_mib),
        (125, 1, 8192)
    );
}

#[test]
fn a_list_of_the_cloud_replaces_what_it_speaks_of() {
    let nodes = format!("{}\n{NODES}", normalized::HEADER);
    let spot = r#"{"SpotPriceHistory": [
        {"AvailabilityZone": "r2a", "AvailabilityZoneId": "z3", "InstanceType": "p9.8xlarge", "ProductDescription": "Linux/UNIX",
         "SpotPrice": "6.5", "Timestamp": "2026-08-31T10:00:00Z"},
        {"AvailabilityZone": "r2a", "AvailabilityZoneId": "z3", "InstanceType": "m5.large", "ProductDescription": "Linux/UNIX",
         "SpotPrice": "0.1", "Timestamp": "2026-08-31T10:00:00Z"}]}"#;
    let (rows, _) = tables(&[("b-nodes.csv", nodes), ("b-spot.json", spot.to_owned())]);
    assert!(rows.contains(&"aws,p9.8xlarge,r2,,spot,6.5,2026-09-01,aws-spot".to_owned()));
    assert!(!rows.iter().any(|row| row.contains("m5.large")));
    assert_eq!(rows.len(), 5);
}

#[test]
fn the_tables_of_the_repository_are_sound() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    super::check::run(root, &Tables::read(root).unwrap()).unwrap();
}
