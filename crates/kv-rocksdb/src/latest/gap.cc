// Where a compaction begins another file before the one that it writes is full.

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rocksdb/options.h"
#include "rocksdb/sst_partitioner.h"

// As `db/c.cc` defines it, which does not export it.
struct rocksdb_options_t {
  ROCKSDB_NAMESPACE::Options rep;
};

namespace {

using namespace ROCKSDB_NAMESPACE;

// Of all stores of the process: a cut changes nothing but where files end.
std::mutex mutex;
std::vector<std::string> all_cuts;

class Cutter : public SstPartitioner {
 public:
  explicit Cutter(std::vector<std::string> cuts) : cuts_(std::move(cuts)) {}

  const char* Name() const override { return "stemdb.Cutter"; }

  PartitionerResult ShouldPartition(const PartitionerRequest& request) override {
    for (const auto& cut : cuts_) {
      if (request.prev_user_key->compare(cut) < 0 && request.current_user_key->compare(cut) >= 0) {
        return kRequired;
      }
    }
    return kNotRequired;
  }

  bool CanDoTrivialMove(const Slice&, const Slice&) override { return true; }

 private:
  const std::vector<std::string> cuts_;
};

class CutterFactory : public SstPartitionerFactory {
 public:
  const char* Name() const override { return "stemdb.CutterFactory"; }

  std::unique_ptr<SstPartitioner> CreatePartitioner(const SstPartitioner::Context& context) const override {
    std::vector<std::string> cuts;
    {
      std::lock_guard<std::mutex> lock(mutex);
      for (const auto& cut : all_cuts) {
        if (context.smallest_user_key.compare(cut) < 0 && context.largest_user_key.compare(cut) >= 0) {
          cuts.push_back(cut);
        }
      }
    }
    // Nearly always. RocksDB asks none for any key then.
    if (cuts.empty()) return nullptr;
    return std::make_unique<Cutter>(std::move(cuts));
  }
};

}  // namespace

extern "C" {

void stemdb_allow_cuts(rocksdb_options_t* options) {
  options->rep.sst_partitioner_factory = std::make_shared<CutterFactory>();
}

void stemdb_add_cut(const char* key, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  all_cuts.emplace_back(key, bytes);
}

void stemdb_remove_cut(const char* key, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  auto cut = std::find(all_cuts.begin(), all_cuts.end(), std::string(key, bytes));
  if (cut != all_cuts.end()) all_cuts.erase(cut);
}

}  // extern "C"
