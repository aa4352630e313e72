// A disk that is full: a flush fails the writes that wait for it, and a compaction tries again.

#include <memory>

#include "rocksdb/listener.h"
#include "rocksdb/options.h"

// As `db/c.cc` defines it, which does not export it.
struct rocksdb_options_t {
  ROCKSDB_NAMESPACE::Options rep;
};

namespace {

using namespace ROCKSDB_NAMESPACE;

class FullDisk : public EventListener {
 public:
  const char* Name() const override { return "stemdb.FullDisk"; }

  // A compaction that fails has lost nothing: RocksDB runs it again a second later. By default it counts as
  // an error from which RocksDB recovers in the background until there is space, and while it does,
  // `OnErrorRecoveryBegin` is not called for a flush.
  void OnBackgroundError(BackgroundErrorReason reason, Status* error) override {
    if (reason == BackgroundErrorReason::kCompaction && error->IsNoSpace()) {
      *error = Status::OK();
    }
  }

  // By default RocksDB checks every few seconds whether there is space again, while all writers wait, for
  // ever if need be.
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
