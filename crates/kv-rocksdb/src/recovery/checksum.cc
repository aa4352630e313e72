// RocksDB's checksums: of bytes, and of a table file's blocks.

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "file/random_access_file_reader.h"
#include "options/cf_options.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/options.h"
#include "rocksdb/status.h"
#include "rocksdb/table.h"
#include "table/table_builder.h"
#include "table/table_reader.h"
#include "util/crc32c.h"

namespace {

using namespace ROCKSDB_NAMESPACE;

// What `SstFileReader` does, which is not part of the build (`scripts/rocksdb-c++`).
Status VerifyTable(const std::string& path) {
  const Options options;
  const ImmutableOptions immutable(options);
  const MutableCFOptions mutable_options{ColumnFamilyOptions(options)};
  const EnvOptions env_options(options);
  FileOptions file_options(env_options);
  const auto& files = options.env->GetFileSystem();

  uint64_t bytes = 0;
  Status status =
      files->GetFileSize(path, file_options.io_options, &bytes, nullptr);
  std::unique_ptr<FSRandomAccessFile> file;
  if (status.ok()) {
    status = files->NewRandomAccessFile(path, file_options, &file, nullptr);
  }
  std::unique_ptr<TableReader> table;
  if (status.ok()) {
    TableReaderOptions how(
        immutable, mutable_options.prefix_extractor,
        mutable_options.compression_manager.get(), env_options,
        immutable.internal_comparator,
        mutable_options.block_protection_bytes_per_key);
    how.largest_seqno = kMaxSequenceNumber;
    status = options.table_factory->NewTableReader(
        how, std::make_unique<RandomAccessFileReader>(std::move(file), path),
        bytes, &table);
  }
  if (status.ok()) {
    status = table->VerifyChecksum(
        ReadOptions(/*_verify_checksums=*/true, /*_fill_cache=*/false),
        TableReaderCaller::kUserVerifyChecksum);
  }
  return status;
}

}  // namespace

extern "C" {

// CRC-32C of `bytes`, by the processor's instructions where it has them.
uint32_t stemdb_crc32c(const char* bytes, size_t size) {
  return crc32c::Value(bytes, size);
}

// Reads every block of a table file and compares its checksum. Null, or what is wrong with it, which the
// caller frees.
char* stemdb_verify_table(const char* path) {
  const Status status = VerifyTable(path);
  return status.ok() ? nullptr : strdup(status.ToString().c_str());
}

}  // extern "C"
