// The ranks of a run as one of them sees them: what they tell each other, and the one thread that
// carries messages.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "dist/heartbeat.h"
#include "dist/transport.h"

namespace plimsoll::dist {

// Messages of one kind that the group's thread carries beside what ranks tell each other.
class Courier {
 public:
  enum class Progress : std::uint8_t {
    idle,     // nothing is under way: not to be asked again before Group::wake()
    waiting,  // for others
    moved,    // something came or went; there may be more
  };

  virtual ~Courier() = default;
  // Posts and tests what is due, without waiting for anything. By the group's thread. What it
  // throws fails the group.
  virtual Progress advance(Transport& transport) = 0;
  // Whether somebody does nothing but wait for it. By the group's thread.
  virtual bool is_awaited() const noexcept = 0;
  // The group has failed, its transport is gone, and advance() is not called again: whoever waits
  // for this courier is to be woken. By the group's thread, or by that of carry_for().
  virtual void fail() noexcept = 0;
};

// A courier's messages have tags from here on; those below are the group's.
inline constexpr int kFirstCourierTag = 16;

// Owned by the thread that runs steps, which calls everything here unless it says otherwise. What
// ranks tell each other is told by all of them in the same order. Once a rank is gone, everything
// throws DataError that names it.
class Group {
 public:
  using MakeTransport = std::function<std::unique_ptr<Transport>()>;
  // `make` is called by the group's thread, which uses and destroys what it made. Throws what
  // `make` throws. `host` is what others call this rank's machine.
  Group(const MakeTransport& make, const std::string& host);
  // Without close() before it, all ranks end: see abort().
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  const std::string& host(int rank) const { return hosts_[static_cast<std::size_t>(rank)]; }
  std::string name(int rank) const;  // "rank 2 on b"

  // Every rank's `mine`, in the order of ranks, into `all`. `mine` has the same length on all of
  // them. Allocates nothing once warm.
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all);
  // The same while other work goes on; both stay as they are until end_gather(). One at a time,
  // and nothing else is told in between.
  void begin_gather(std::span<const std::byte> mine, std::span<std::byte> all);
  void end_gather();
  // Texts of any length up to kLongestText; DataError for a longer one, by all ranks.
  std::vector<std::string> gather_texts(std::string_view mine);
  static constexpr std::size_t kLongestText = std::size_t{64} << 20;
  // The bytes of rank `from` to all others.
  void broadcast(int from, std::span<std::byte> bytes);
  // Bytes of which slice r is rank r's: all come to rank `to`, or go there from rank `from`, or
  // each rank gets those of all others. Who has nothing to do with a slice may leave it empty.
  using Slices = std::span<const std::span<std::byte>>;
  void gather_slices(int to, Slices slices);
  void scatter_slices(int from, Slices slices);
  void all_gather_slices(Slices slices);

  // `watch`, by the owner: it begins (true) and ends (false) to wait for what others tell. Null:
  // nobody is to know. It must not throw.
  using WatchWaits = std::function<void(bool begins)>;
  void watch_waits(WatchWaits watch) { watch_waits_ = std::move(watch); }

  // From now on the thread carries for `courier` too; null: no more, and advance() has returned.
  void carry_for(Courier* courier);
  // The courier has something to do. By any thread; neither throws nor waits.
  void wake() noexcept;

  // What others hear of this rank from now on, once a second. By any thread.
  void note(const Beat& beat);
  // What was heard of others, by rank 0 of all and by rank 1 of rank 0; empty before note(). By
  // any thread.
  std::vector<Heard> heard() const;

  // All ranks know why they end, and end: whoever catches what is thrown here need not abort() for
  // others to hear of it.
  void end_together() { is_ending_ = true; }
  bool is_ending() const { return is_ending_; }
  // All ranks have come to the end of the run and leave each other.
  void close();
  // Ends all ranks at once; see Transport::abort. By any thread.
  void abort(int exit_code) noexcept;

 private:
  struct Message {
    int peer = 0;
    bool is_send = false;
    std::span<const std::byte> out;
    std::span<std::byte> in;
  };
  struct Progress {
    Courier::Progress courier = Courier::Progress::idle;
    bool is_awaited = false;  // the courier
    bool has_moved = false;
  };

  void begin(std::span<const Message> messages);
  void end();
  template <class Route>
  void move_slices(Slices slices, Route route);
  void run(const MakeTransport& make) noexcept;
  // Until the group stops or fails.
  void carry(Transport& transport, std::unique_lock<std::mutex>& lock);
  // One round of posts and tests.
  Progress advance(Transport& transport, Courier* courier, bool with_beats);
  bool has_work() const { return is_under_way_ || is_woken_ || stop_ || abort_code_ > 0; }

  int rank_ = 0;
  int ranks_ = 0;
  std::vector<std::string> hosts_;
  bool is_ending_ = false;
  WatchWaits watch_waits_;
  std::vector<Message> gathered_;  // the messages of begin_gather()

  mutable std::mutex mutex_;
  std::condition_variable work_;  // for the thread
  std::condition_variable done_;  // for the owner
  // These are guarded by mutex_.
  std::vector<Message> told_;  // to be posted
  bool is_under_way_ = false;
  Courier* courier_ = nullptr;
  bool is_woken_ = false;
  bool is_advancing_ = false;  // outside of the lock
  bool awaits_round_ = false;  // the owner waits for the end of it
  bool is_ready_ = false;
  bool has_beats_ = false;
  Heartbeat heartbeat_;
  bool stop_ = false;
  bool is_closed_ = false;
  int abort_code_ = 0;  // -1: it was done
  std::exception_ptr failure_;
  // The thread's own.
  std::vector<Message> posting_;
  std::vector<Transport::Request> requests_;
  std::thread thread_;  // last: it sees the others made
};

}  // namespace plimsoll::dist
