//! Writes the adapter module (flavour "reactor") to the file that is named.
use wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER as ADAPTER;

fn main() {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: quasi-adapter FILE");
        std::process::exit(2);
    };
    if let Err(error) = std::fs::write(&path, ADAPTER) {
        eprintln!("quasi-adapter: cannot write {}: {error}", path.to_string_lossy());
        std::process::exit(1);
    }
}
