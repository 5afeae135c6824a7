//! Prints a page of the manual: `manual settings` or `manual commands`.

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("settings") => print!("{}", settings::manual()),
        Some("commands") => print!("{}", families::manual()),
        _ => {
            eprintln!("usage: manual settings|commands");
            std::process::exit(2);
        }
    }
}
