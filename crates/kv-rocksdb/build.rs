//! Compiles this crate's C++, with the headers of the RocksDB that `librocksdb-sys` builds.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=memtable");
    println!("cargo:rerun-if-changed=src/recovery/checksum.cc");
    println!("cargo:rerun-if-changed=src/full_disk.cc");
    println!("cargo:rerun-if-changed=src/latest/gap.cc");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=ROCKSDB_LIB_DIR");
    if std::env::var_os("ROCKSDB_LIB_DIR").is_some() {
        println!(
            "cargo::error=ROCKSDB_LIB_DIR: only with the RocksDB that librocksdb-sys brings do these headers fit"
        );
        return;
    }
    let Some(home) = std::env::var_os("DEP_ROCKSDB_CARGO_MANIFEST_DIR") else {
        println!("cargo::error=librocksdb-sys does not say where RocksDB's headers are");
        return;
    };
    let rocksdb = Path::new(&home).join("rocksdb");
    // Definitions that change the layout of RocksDB's classes have to be the same as in `librocksdb-sys`.
    cc::Build::new()
        .cpp(true)
        .std("c++20")
        .include(rocksdb.join("include"))
        .include(&rocksdb)
        .define("NDEBUG", "1")
        .define("HAVE_ALIGNED_NEW", None)
        .define("HAVE_UINT128_EXTENSION", None)
        .define("OS_LINUX", None)
        .define("ROCKSDB_PLATFORM_POSIX", None)
        .define("ROCKSDB_LIB_IO_POSIX", None)
        .flag_if_supported("-Wno-unused-parameter")
        .opt_level(2)
        .file("memtable/sorted_runs.cc")
        .file("src/recovery/checksum.cc")
        .file("src/full_disk.cc")
        .file("src/latest/gap.cc")
        .compile("stemdb_memtable");
}
