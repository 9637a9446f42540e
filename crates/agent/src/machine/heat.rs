//! The machine's temperature, and when it ends a load: the thermal zones of sysfs (kernel: thermal/sysfs-api.rst).

use super::Root;
use latido_model::cell::Cell;

/// The zones' directory.
const ZONES: &str = "sys/class/thermal";

/// The most trip points per zone that latido reads.
const TRIPS: usize = 16;

/// How far below the critical point latido ends loads by default, in millidegrees.
const ROOM: i64 = 5_000;

/// The thermometer of a cell.
#[derive(Clone, Debug)]
pub struct Heat {
    root: Root,
    limit: Option<i64>,
}

/// A temperature above the limit, both in millidegrees Celsius.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooHot {
    /// The temperature of the hottest zone.
    pub temperature: i64,
    /// The limit that it exceeds.
    pub limit: i64,
}

impl std::fmt::Display for TooHot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} degrees, above the limit of {}", self.temperature as f64 / 1e3, self.limit as f64 / 1e3)
    }
}

impl Heat {
    /// Uses the cell's limit. If the cell has none but has loads, the limit is 5 degrees below the lowest critical trip point, or none
    /// where that is unknown.
    pub fn of(root: Root, cell: &Cell) -> Self {
        Self::new(root, cell.conditions.max_temp, !cell.load.items.is_empty())
    }

    /// Uses a limit in degrees Celsius. Without it, the default applies if there are loads.
    pub fn new(root: Root, max_temp: Option<i32>, loads: bool) -> Self {
        let usual = || critical(&root).filter(|_| loads).map(|point| point - ROOM);
        let limit = max_temp.map(|degrees| i64::from(degrees) * 1000).or_else(usual);
        Self { root, limit }
    }

    /// Returns the temperature if it is too hot now. Without a limit or a thermometer it never is.
    pub fn look(&self) -> Option<TooHot> {
        let limit = self.limit?;
        let temperature = hottest(&self.root).filter(|now| *now > limit)?;
        Some(TooHot { temperature, limit })
    }
}

fn zones(root: &Root) -> impl Iterator<Item = String> {
    let names = root.list(ZONES).into_iter().filter(|name| name.starts_with("thermal_zone"));
    names.map(|name| format!("{ZONES}/{name}"))
}

/// Returns the temperature of the hottest zone, in millidegrees Celsius.
pub fn hottest(root: &Root) -> Option<i64> {
    zones(root).filter_map(|zone| root.value(&format!("{zone}/temp"))).max()
}

/// Returns the lowest critical trip point of any zone, in millidegrees Celsius. A point at or below zero means that the zone has none.
pub fn critical(root: &Root) -> Option<i64> {
    let of_zone = |zone: String| {
        let trips = (0..TRIPS).map(move |trip| format!("{zone}/trip_point_{trip}"));
        trips
            .filter(|trip| root.read(&format!("{trip}_type")).as_deref() == Some("critical"))
            .filter_map(|trip| root.value::<i64>(&format!("{trip}_temp")))
    };
    zones(root).flat_map(of_zone).filter(|point| *point > 0).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::machine as fixture;
    use latido_model::{cell::Item, sample};

    fn tree(temperatures: &[&str]) -> fixture::FakeMachine {
        let tree = fixture::empty();
        for (zone, temperature) in temperatures.iter().enumerate() {
            let zone = format!("{ZONES}/thermal_zone{zone}");
            tree.write(&format!("{zone}/temp"), temperature);
            tree.write(&format!("{zone}/trip_point_0_type"), "passive\n");
            tree.write(&format!("{zone}/trip_point_0_temp"), "60000\n");
            tree.write(&format!("{zone}/trip_point_1_type"), "critical\n");
        }
        tree
    }

    fn cell(max_temp: Option<i32>, loads: usize) -> Cell {
        let mut cell = sample::record().cell;
        cell.conditions.max_temp = max_temp;
        cell.load.items = vec![Item { name: "spin".into(), options: toml::Table::new() }; loads];
        cell
    }

    #[test]
    fn the_hottest_zone_and_the_lowest_critical_point_count() {
        let tree = tree(&["41000\n", "junk", "88000\n"]);
        assert_eq!((hottest(&tree.root), critical(&tree.root)), (Some(88_000), None));
        tree.write(&format!("{ZONES}/thermal_zone0/trip_point_1_temp"), "105000\n");
        tree.write(&format!("{ZONES}/thermal_zone1/trip_point_1_temp"), "95000\n");
        tree.write(&format!("{ZONES}/thermal_zone2/trip_point_1_temp"), "-274000\n");
        tree.write(&format!("{ZONES}/cooling_device0/temp"), "999000\n");
        assert_eq!((hottest(&tree.root), critical(&tree.root)), (Some(88_000), Some(95_000)));
    }

    #[test]
    fn the_limit_is_the_cells_or_the_usual_one_with_loads() {
        let tree = tree(&["91000\n"]);
        let look = |max_temp, loads| Heat::of(tree.root.clone(), &cell(max_temp, loads)).look();
        assert_eq!(look(None, 1), None, "no critical point is known");
        tree.write(&format!("{ZONES}/thermal_zone0/trip_point_1_temp"), "95000\n");
        assert_eq!(look(None, 1), Some(TooHot { temperature: 91_000, limit: 90_000 }));
        assert_eq!(look(None, 0), None, "nothing to end");
        assert_eq!(look(Some(91), 1), None, "at the limit is not above it");
        assert_eq!(look(Some(80), 0).unwrap().to_string(), "91 degrees, above the limit of 80");
        assert_eq!(Heat::of(fixture::empty().root, &cell(Some(1), 1)).look(), None, "no thermometer");
    }
}
