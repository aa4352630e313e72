// A write buffer of sorted runs, for RocksDB.
//
// RocksDB's default, a skip list, is searched from its top for each entry: some twenty-five comparisons of
// keys scattered in memory, all in the one thread that commits. Here a few entries at a time are collected
// and sorted, and two runs of one length are merged to one of twice that, up to a length whose merging delays
// a commit by some three milliseconds. A merge reads memory in order, so an entry costs a quarter or less. A
// reader has more to search, a dozen runs or so in a buffer of 64 MiB; most reads are answered by the row
// cache (`crate::latest::cache`).
//
// One thread writes. Readers share its current state, and wait for it no longer than it takes to copy a
// pointer: runs do not change once they exist, and the few unsorted entries are only appended to.
//
// Keys are compared byte by byte, as RocksDB does by default, without user timestamps.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "db/lookup_key.h"
#include "memory/arena.h"
#include "rocksdb/memtablerep.h"
#include "rocksdb/utilities/object_registry.h"
#include "util/coding.h"

namespace rocksdb {
namespace {

// Entries that are not sorted yet.
constexpr size_t kTail = 32;
// The longest run that is made of shorter ones.
constexpr size_t kRunMax = kTail << 12;
// How many entries ahead a merge prefetches keys.
constexpr size_t kAhead = 8;

// A key in RocksDB's order: the user's bytes, then newer entries first.
struct Key {
  const char* bytes;
  size_t length;
  uint64_t tag;

  // From an internal key: the user's key and its tag.
  static Key Internal(const char* bytes, size_t length) {
    return {bytes, length - 8, DecodeFixed64(bytes + length - 8)};
  }

  // From an entry of a run: the length of the internal key, the key, and its value (MemTable::Add).
  static Key Of(const char* entry) {
    uint32_t length = 0;
    const char* bytes = GetVarint32Ptr(entry, entry + 5, &length);
    return Internal(bytes, length);
  }
};

bool IsOfOne(const Key& a, const Key& b) {
  return a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0;
}

int Compare(const Key& a, const Key& b) {
  const int order = memcmp(a.bytes, b.bytes, std::min(a.length, b.length));
  if (order != 0) return order;
  if (a.length != b.length) return a.length < b.length ? -1 : 1;
  return a.tag == b.tag ? 0 : (a.tag > b.tag ? -1 : 1);
}

using Entry = const char*;
using Run = std::vector<Entry>;

void Sort(Entry* begin, Entry* end) {
  std::sort(begin, end, [](Entry a, Entry b) { return Compare(Key::Of(a), Key::Of(b)) < 0; });
}

// The first entry that is not before `key`.
const Entry* NotBefore(const Entry* begin, const Entry* end, const Key& key) {
  return std::lower_bound(begin, end, key, [](Entry entry, const Key& to) { return Compare(Key::Of(entry), to) < 0; });
}

// The first entry after `key`.
const Entry* Behind(const Entry* begin, const Entry* end, const Key& key) {
  return std::upper_bound(begin, end, key, [](const Key& from, Entry entry) { return Compare(from, Key::Of(entry)) < 0; });
}

std::shared_ptr<const Run> Merge(const Run& left, const Run& right) {
  auto merged = std::make_shared<Run>();
  merged->reserve(left.size() + right.size());
  auto a = left.begin(), b = right.begin();
  Key first = Key::Of(*a), second = Key::Of(*b);
  // Neither is empty. The comparisons end where one of them does.
  for (;;) {
    if (Compare(first, second) < 0) {
      merged->push_back(*a);
      if (++a == left.end()) break;
      if (left.end() - a > static_cast<ptrdiff_t>(kAhead)) __builtin_prefetch(a[kAhead]);
      first = Key::Of(*a);
    } else {
      merged->push_back(*b);
      if (++b == right.end()) break;
      if (right.end() - b > static_cast<ptrdiff_t>(kAhead)) __builtin_prefetch(b[kAhead]);
      second = Key::Of(*b);
    }
  }
  merged->insert(merged->end(), a, left.end());
  merged->insert(merged->end(), b, right.end());
  return merged;
}

// All entries as of one moment.
struct State {
  std::vector<std::shared_ptr<const Run>> runs;
  // Not sorted. Those before `tailed` stay as they are.
  std::array<Entry, kTail> tail;
  std::atomic<size_t> tailed{0};
};

class SortedRuns final : public MemTableRep {
 public:
  explicit SortedRuns(Allocator* allocator) : MemTableRep(allocator) {}

  void Insert(KeyHandle handle) override {
    State* state = state_.get();
    const size_t at = state->tailed.load(std::memory_order_relaxed);
    state->tail[at] = static_cast<Entry>(handle);
    state->tailed.store(at + 1, std::memory_order_release);
    if (at + 1 == kTail) SortTail();
  }

  bool Contains(const char* entry) const override {
    const Key key = Key::Of(entry);
    Reader reader(this);
    reader.Seek(key);
    return reader.Valid() && Compare(Key::Of(reader.key()), key) == 0;
  }

  void Get(const LookupKey& sought, void* args, bool (*take)(void* args, const char* entry)) override {
    Reader reader(this);
    const Slice key = sought.internal_key();
    for (reader.SeekOne(Key::Internal(key.data(), key.size())); reader.Valid() && take(args, reader.key()); reader.Next()) {
    }
  }

  uint64_t ApproximateNumEntries(const Slice& start, const Slice& end) override {
    const auto state = Now();
    const Key from = Key::Internal(start.data(), start.size()), to = Key::Internal(end.data(), end.size());
    uint64_t entries = 0;
    for (const auto& run : state->runs) {
      const Entry *begin = run->data(), *past = begin + run->size();
      const Entry *first = NotBefore(begin, past, from), *last = NotBefore(begin, past, to);
      entries += static_cast<uint64_t>(std::max<ptrdiff_t>(last - first, 0));
    }
    const size_t tailed = state->tailed.load(std::memory_order_acquire);
    const auto within = [&from, &to](Entry entry) {
      const Key key = Key::Of(entry);
      return Compare(key, from) >= 0 && Compare(key, to) < 0;
    };
    entries += static_cast<uint64_t>(std::count_if(state->tail.begin(), state->tail.begin() + tailed, within));
    return entries;
  }

  size_t ApproximateMemoryUsage() override { return bytes_.load(std::memory_order_relaxed); }

  MemTableRep::Iterator* GetIterator(Arena* arena) override {
    return arena == nullptr ? new Reader(this) : new (arena->AllocateAligned(sizeof(Reader))) Reader(this);
  }

 private:
  // Iterates over what exists when it seeks, in order, in both directions.
  class Reader final : public MemTableRep::Iterator {
   public:
    explicit Reader(const SortedRuns* runs) : runs_(runs) {}

    bool Valid() const override { return !cursors_.empty(); }
    const char* key() const override { return *cursors_.front().at; }

    void Next() override {
      if (!forward_) Turn(true);
      Step();
    }

    void Prev() override {
      if (forward_) Turn(false);
      Step();
    }

    void Seek(const Key& key) {
      Look();
      Ahead([&key](const Entry* begin, const Entry* end) { return NotBefore(begin, end, key); });
    }

    // Seeks to the entries of one key, and perhaps those after them in a run: that costs little more.
    void SeekOne(const Key& key) {
      state_ = runs_->Now();
      const size_t tailed = state_->tailed.load(std::memory_order_acquire);
      tailed_ = 0;
      for (size_t at = 0; at < tailed; ++at) {
        if (IsOfOne(Key::Of(state_->tail[at]), key)) tail_[tailed_++] = state_->tail[at];
      }
      Sort(tail_.data(), tail_.data() + tailed_);
      forward_ = true;
      Start([&key](const Entry* begin, const Entry* end) {
        const Entry* at = NotBefore(begin, end, key);
        return at == end || IsOfOne(Key::Of(*at), key) ? at : end;
      });
    }

    void Seek(const Slice& internal, const char* entry) override { Seek(KeyOf(internal, entry)); }

    void SeekForPrev(const Slice& internal, const char* entry) override {
      const Key key = KeyOf(internal, entry);
      Look();
      Back([&key](const Entry* begin, const Entry* end) { return Behind(begin, end, key); });
    }

    void SeekToFirst() override {
      Look();
      Ahead([](const Entry* begin, const Entry*) { return begin; });
    }

    void SeekToLast() override {
      Look();
      Back([](const Entry*, const Entry* end) { return end; });
    }

   private:
    // A position in a run, and its key.
    struct Cursor {
      const Entry *begin, *end, *at;
      Key key;
    };

    // The first entry in order is at the front of the heap.
    struct Order {
      bool forward;
      bool operator()(const Cursor& a, const Cursor& b) const {
        const int order = Compare(a.key, b.key);
        return forward ? order > 0 : order < 0;
      }
    };

    static Key KeyOf(const Slice& internal, const char* entry) {
      return entry == nullptr ? Key::Internal(internal.data(), internal.size()) : Key::Of(entry);
    }

    // All entries that have been inserted so far.
    void Look() {
      state_ = runs_->Now();
      tailed_ = state_->tailed.load(std::memory_order_acquire);
      std::copy_n(state_->tail.begin(), tailed_, tail_.begin());
      Sort(tail_.data(), tail_.data() + tailed_);
    }

    template <typename Place>
    void Ahead(const Place& first_of) {
      forward_ = true;
      Start(first_of);
    }

    // `past_of`: the position after the first entry to come.
    template <typename Place>
    void Back(const Place& past_of) {
      forward_ = false;
      Start([&past_of](const Entry* begin, const Entry* end) {
        const Entry* past = past_of(begin, end);
        return past == begin ? end : past - 1;
      });
    }

    // Each run at its position; a run that is at its end gives nothing.
    template <typename Place>
    void Start(const Place& place_of) {
      cursors_.clear();
      const auto add = [&](const Entry* begin, const Entry* end) {
        const Entry* at = place_of(begin, end);
        if (at != end) cursors_.push_back({begin, end, at, Key::Of(*at)});
      };
      for (const auto& run : state_->runs) add(run->data(), run->data() + run->size());
      add(tail_.data(), tail_.data() + tailed_);
      std::make_heap(cursors_.begin(), cursors_.end(), Order{forward_});
    }

    // Reverses the direction, from the current entry.
    void Turn(bool forward) {
      const Key here = cursors_.front().key;
      if (forward) {
        Ahead([&here](const Entry* begin, const Entry* end) { return NotBefore(begin, end, here); });
      } else {
        Back([&here](const Entry* begin, const Entry* end) { return Behind(begin, end, here); });
      }
    }

    void Step() {
      std::pop_heap(cursors_.begin(), cursors_.end(), Order{forward_});
      Cursor& cursor = cursors_.back();
      if (cursor.at == (forward_ ? cursor.end - 1 : cursor.begin)) {
        cursors_.pop_back();
        return;
      }
      cursor.at += forward_ ? 1 : -1;
      cursor.key = Key::Of(*cursor.at);
      std::push_heap(cursors_.begin(), cursors_.end(), Order{forward_});
    }

    const SortedRuns* runs_;
    std::shared_ptr<const State> state_;
    std::array<Entry, kTail> tail_;
    size_t tailed_ = 0;
    bool forward_ = true;
    std::vector<Cursor> cursors_;
  };

  std::shared_ptr<const State> Now() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return state_;
  }

  void SortTail() {
    auto next = std::make_shared<State>();
    next->runs = state_->runs;
    auto& runs = next->runs;
    auto tail = std::make_shared<Run>(state_->tail.begin(), state_->tail.end());
    Sort(tail->data(), tail->data() + tail->size());
    std::shared_ptr<const Run> run = std::move(tail);
    while (!runs.empty() && runs.back()->size() == run->size() && run->size() < kRunMax) {
      run = Merge(*runs.back(), *run);
      runs.pop_back();
    }
    runs.push_back(std::move(run));
    bytes_.fetch_add(kTail * sizeof(Entry), std::memory_order_relaxed);
    // What no reader uses any more is freed after the lock is released.
    std::lock_guard<std::mutex> lock(mutex_);
    state_.swap(next);
  }

  // Protects `state_` itself, not what it points to.
  mutable std::mutex mutex_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::atomic<size_t> bytes_{sizeof(State)};
};

class SortedRunsFactory final : public MemTableRepFactory {
 public:
  static const char* kClassName() { return "stemdb.SortedRuns"; }
  const char* Name() const override { return kClassName(); }

  using MemTableRepFactory::CreateMemTableRep;
  MemTableRep* CreateMemTableRep(const MemTableRep::KeyComparator&, Allocator* allocator, const SliceTransform*,
                                 Logger*) override {
    return new SortedRuns(allocator);
  }
};

}  // namespace
}  // namespace rocksdb

// Registers `memtable_factory=stemdb.SortedRuns` with RocksDB. Once is enough.
extern "C" void stemdb_register_sorted_runs() {
  using namespace rocksdb;
  ObjectLibrary::Default()->AddFactory<MemTableRepFactory>(
      SortedRunsFactory::kClassName(),
      [](const std::string&, std::unique_ptr<MemTableRepFactory>* factory, std::string*) {
        factory->reset(new SortedRunsFactory());
        return factory->get();
      });
}
