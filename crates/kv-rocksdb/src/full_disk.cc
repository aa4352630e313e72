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
  explicit FullDisk(bool retry_compactions) : retry_compactions_(retry_compactions) {}

  const char* Name() const override { return "stemdb.FullDisk"; }

  // A compaction that fails has lost nothing: RocksDB runs it again a second later. By default it counts as
  // an error from which RocksDB recovers in the background until there is space. While it does, writes wait
  // for a flush that finds the disk full, and RocksDB checks the space that a compaction needs before it
  // begins: `SstFileManagerImpl::EnoughRoomForCompaction` asks for an error of this kind.
  void OnBackgroundError(BackgroundErrorReason reason, Status* error) override {
    if (retry_compactions_ && reason == BackgroundErrorReason::kCompaction && error->IsNoSpace()) {
      *error = Status::OK();
    }
  }

  // By default RocksDB checks every few seconds whether there is space again, while all writers wait, for
  // ever if need be. A flush has three other reasons to fail: its log may be empty just then, and the manifest
  // is written after its file.
  void OnErrorRecoveryBegin(BackgroundErrorReason reason, Status error, bool* auto_recovery) override {
    if (reason != BackgroundErrorReason::kCompaction && error.IsNoSpace()) {
      *auto_recovery = false;
    }
  }

 private:
  const bool retry_compactions_;
};

}  // namespace

extern "C" void stemdb_fail_on_full_disk(rocksdb_options_t* options, bool retry_compactions) {
  options->rep.listeners.push_back(std::make_shared<FullDisk>(retry_compactions));
}
