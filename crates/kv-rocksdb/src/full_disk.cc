// A flush that finds the disk full ends writes with an error.

#include <memory>

#include "rocksdb/listener.h"
#include "rocksdb/options.h"

// As `db/c.cc` has it, which keeps it to itself.
struct rocksdb_options_t {
  ROCKSDB_NAMESPACE::Options rep;
};

namespace {

using namespace ROCKSDB_NAMESPACE;

// RocksDB's own way is to look every few seconds whether there is room again, while all writers wait, for ever if need be.
class FullDisk : public EventListener {
 public:
  const char* Name() const override { return "stemdb.FullDisk"; }

  void OnErrorRecoveryBegin(BackgroundErrorReason reason, Status error, bool* auto_recovery) override {
    if (reason == BackgroundErrorReason::kFlush && error.IsNoSpace()) {
      *auto_recovery = false;
    }
  }
};

}  // namespace

extern "C" void stemdb_fail_on_full_disk(rocksdb_options_t* options) {
  options->rep.listeners.push_back(std::make_shared<FullDisk>());
}
