#include "dist/heartbeat.h"

#include <algorithm>

namespace plimsoll::dist {
namespace {

constexpr int kHeartbeatTag = 1;

std::span<std::byte> room(Beat& beat) { return std::as_writable_bytes(std::span(&beat, 1)); }

}  // namespace

void Beat::set_doing(std::string_view text) {
  doing.fill(0);
  std::copy_n(text.begin(), std::min(text.size(), doing.size() - 1), doing.begin());
}

std::string Beat::doing_text() const {
  std::string text(doing.begin(), std::find(doing.begin(), doing.end(), '\0'));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = '?';
  return text;
}

void Heartbeat::set(const Beat& beat) {
  const std::scoped_lock lock(mutex_);
  mine_ = beat;
}

std::vector<Heard> Heartbeat::heard() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Heard> all;
  for (const Peer& peer : peers_) all.push_back({peer.rank, peer.last, peer.since.seconds()});
  return all;
}

bool Heartbeat::advance(Transport& transport) {
  const int rank = transport.rank();
  if (!is_begun_) {
    const std::scoped_lock lock(mutex_);
    is_begun_ = true;
    if (transport.ranks() > 1) listener_ = rank == 0 ? 1 : 0;
    if (rank == 0)
      for (int other = 1; other < transport.ranks(); ++other) peers_.emplace_back().rank = other;
    if (rank == 1) peers_.emplace_back().rank = 0;
  }
  bool has_moved = false;
  for (Peer& peer : peers_) {
    if (!peer.request)
      peer.request = transport.receive(peer.rank, kHeartbeatTag, room(peer.incoming));
    if (!transport.test(*peer.request)) continue;
    peer.request.reset();
    has_moved = true;
    const std::scoped_lock lock(mutex_);
    peer.last = peer.incoming;
    peer.since = {};
  }
  if (sending_ && transport.test(*sending_)) sending_.reset();
  if (listener_ >= 0 && !sending_ && since_sent_.seconds() >= kEvery) {
    {
      const std::scoped_lock lock(mutex_);
      outgoing_ = mine_;
    }
    sending_ = transport.send(listener_, kHeartbeatTag, room(outgoing_));
    since_sent_ = {};
  }
  return has_moved;
}

}  // namespace plimsoll::dist
