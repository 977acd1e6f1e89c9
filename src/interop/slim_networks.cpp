#include "interop/slim_networks.h"

#include <array>
#include <initializer_list>
#include <map>
#include <string_view>

namespace plimsoll::interop {
namespace {

// Our names of a scope's convolution and of its BatchNorm.
struct Names {
  std::string conv, norm;
};

// Scopes of a network of Slim, in the order in which Keras's makes its layers: those that it does
// not name are numbered.
class Scopes {
 public:
  void numbered(const std::string& scope) {
    const std::string suffix = count_ == 0 ? "" : "_" + std::to_string(count_);
    ++count_;
    named(scope, "conv2d" + suffix, "batch_normalization" + suffix);
  }
  void numbered(const std::string& block, std::initializer_list<const char*> scopes) {
    for (const char* scope : scopes) numbered(block + "/" + scope);
  }
  void named(const std::string& scope, std::string conv, std::string norm = "") {
    names_[scope] = {std::move(conv), std::move(norm)};
  }
  const std::map<std::string, Names, std::less<>>& names() const { return names_; }

 private:
  std::map<std::string, Names, std::less<>> names_;
  int count_ = 0;
};

void add_stem(Scopes& scopes) {
  for (const char* scope :
       {"Conv2d_1a_3x3", "Conv2d_2a_3x3", "Conv2d_2b_3x3", "Conv2d_3b_1x1", "Conv2d_4a_3x3"})
    scopes.numbered(scope);
}

// Some scopes are not what they say: Slim's slips, which its published files have.
Scopes inception_v3() {
  Scopes scopes;
  add_stem(scopes);
  for (const char* block : {"Mixed_5b", "Mixed_5c", "Mixed_5d"}) {
    const bool is_odd = std::string_view(block) == "Mixed_5c";
    scopes.numbered(
        block,
        {"Branch_0/Conv2d_0a_1x1", is_odd ? "Branch_1/Conv2d_0b_1x1" : "Branch_1/Conv2d_0a_1x1",
         is_odd ? "Branch_1/Conv_1_0c_5x5" : "Branch_1/Conv2d_0b_5x5", "Branch_2/Conv2d_0a_1x1",
         "Branch_2/Conv2d_0b_3x3", "Branch_2/Conv2d_0c_3x3", "Branch_3/Conv2d_0b_1x1"});
  }
  scopes.numbered("Mixed_6a", {"Branch_0/Conv2d_1a_1x1", "Branch_1/Conv2d_0a_1x1",
                               "Branch_1/Conv2d_0b_3x3", "Branch_1/Conv2d_1a_1x1"});
  for (const char* block : {"Mixed_6b", "Mixed_6c", "Mixed_6d", "Mixed_6e"})
    scopes.numbered(block,
                    {"Branch_0/Conv2d_0a_1x1", "Branch_1/Conv2d_0a_1x1", "Branch_1/Conv2d_0b_1x7",
                     "Branch_1/Conv2d_0c_7x1", "Branch_2/Conv2d_0a_1x1", "Branch_2/Conv2d_0b_7x1",
                     "Branch_2/Conv2d_0c_1x7", "Branch_2/Conv2d_0d_7x1", "Branch_2/Conv2d_0e_1x7",
                     "Branch_3/Conv2d_0b_1x1"});
  scopes.numbered("Mixed_7a",
                  {"Branch_0/Conv2d_0a_1x1", "Branch_0/Conv2d_1a_3x3", "Branch_1/Conv2d_0a_1x1",
                   "Branch_1/Conv2d_0b_1x7", "Branch_1/Conv2d_0c_7x1", "Branch_1/Conv2d_1a_3x3"});
  for (const char* block : {"Mixed_7b", "Mixed_7c"}) {
    const bool is_first = std::string_view(block) == "Mixed_7b";
    scopes.numbered(block,
                    {"Branch_0/Conv2d_0a_1x1", "Branch_1/Conv2d_0a_1x1", "Branch_1/Conv2d_0b_1x3",
                     is_first ? "Branch_1/Conv2d_0b_3x1" : "Branch_1/Conv2d_0c_3x1",
                     "Branch_2/Conv2d_0a_1x1", "Branch_2/Conv2d_0b_3x3", "Branch_2/Conv2d_0c_1x3",
                     "Branch_2/Conv2d_0d_3x1", "Branch_3/Conv2d_0b_1x1"});
  }
  scopes.named("Logits/Conv2d_1c_1x1", "predictions");
  return scopes;
}

Scopes inception_resnet_v2() {
  Scopes scopes;
  add_stem(scopes);
  scopes.numbered("Mixed_5b",
                  {"Branch_0/Conv2d_1x1", "Branch_1/Conv2d_0a_1x1", "Branch_1/Conv2d_0b_5x5",
                   "Branch_2/Conv2d_0a_1x1", "Branch_2/Conv2d_0b_3x3", "Branch_2/Conv2d_0c_3x3",
                   "Branch_3/Conv2d_0b_1x1"});
  const auto repeat = [&](const std::string& scope, const std::string& name, int count,
                          std::initializer_list<const char*> branches) {
    for (int i = 1; i <= count; ++i) {
      const std::string number = "_" + std::to_string(i);
      scopes.numbered(scope + number, branches);
      scopes.named(scope + number + "/Conv2d_1x1", name + number + "_conv");
    }
  };
  repeat("Repeat/block35", "block35", 10,
         {"Branch_0/Conv2d_1x1", "Branch_1/Conv2d_0a_1x1", "Branch_1/Conv2d_0b_3x3",
          "Branch_2/Conv2d_0a_1x1", "Branch_2/Conv2d_0b_3x3", "Branch_2/Conv2d_0c_3x3"});
  scopes.numbered("Mixed_6a", {"Branch_0/Conv2d_1a_3x3", "Branch_1/Conv2d_0a_1x1",
                               "Branch_1/Conv2d_0b_3x3", "Branch_1/Conv2d_1a_3x3"});
  repeat("Repeat_1/block17", "block17", 20,
         {"Branch_0/Conv2d_1x1", "Branch_1/Conv2d_0a_1x1", "Branch_1/Conv2d_0b_1x7",
          "Branch_1/Conv2d_0c_7x1"});
  scopes.numbered("Mixed_7a",
                  {"Branch_0/Conv2d_0a_1x1", "Branch_0/Conv2d_1a_3x3", "Branch_1/Conv2d_0a_1x1",
                   "Branch_1/Conv2d_1a_3x3", "Branch_2/Conv2d_0a_1x1", "Branch_2/Conv2d_0b_3x3",
                   "Branch_2/Conv2d_1a_3x3"});
  const std::initializer_list<const char*> last = {"Branch_0/Conv2d_1x1", "Branch_1/Conv2d_0a_1x1",
                                                   "Branch_1/Conv2d_0b_1x3",
                                                   "Branch_1/Conv2d_0c_3x1"};
  repeat("Repeat_2/block8", "block8", 9, last);
  scopes.numbered("Block8", last);
  scopes.named("Block8/Conv2d_1x1", "block8_10_conv");
  scopes.named("Conv2d_7b_1x1", "conv_7b", "conv_7b_bn");
  scopes.named("Logits/Logits", "predictions");
  return scopes;
}

Scopes mobilenet() {
  Scopes scopes;
  scopes.named("Conv2d_0", "conv1", "conv1_bn");
  for (int i = 1; i <= 13; ++i) {
    const std::string scope = "Conv2d_" + std::to_string(i);
    const std::string number = std::to_string(i);
    scopes.named(scope + "_depthwise", "conv_dw_" + number, "conv_dw_" + number + "_bn");
    scopes.named(scope + "_pointwise", "conv_pw_" + number, "conv_pw_" + number + "_bn");
  }
  scopes.named("Logits/Conv2d_1c_1x1", "conv_preds");
  return scopes;
}

Scopes resnet_v1_50() {
  Scopes scopes;
  const auto add = [&](const std::string& scope, const std::string& name) {
    scopes.named(scope, name, name + "_bn");
  };
  add("conv1", "conv1");
  constexpr std::array kUnits = {3, 4, 6, 3};
  for (std::size_t b = 0; b < kUnits.size(); ++b)
    for (int unit = 1; unit <= kUnits[b]; ++unit) {
      const std::string block = "block" + std::to_string(b + 1);
      const std::string number = "unit_" + std::to_string(unit);
      for (const char* part : {"shortcut", "conv1", "conv2", "conv3"})
        if (unit == 1 || std::string_view(part) != "shortcut")
          add(block + "/" + number + "/bottleneck_v1/" + part, block + "_" + number + "_" + part);
    }
  scopes.named("logits", "logits");
  return scopes;
}

struct KnownSlim {
  std::string_view prefix, network, preprocessing;
  Scopes (*scopes)();
};
constexpr KnownSlim kKnownSlims[] = {
    {"InceptionV3/", "inception_v3", "tf", inception_v3},
    {"InceptionResnetV2/", "inception_resnet_v2", "tf", inception_resnet_v2},
    {"MobilenetV1/", "mobilenet", "tf", mobilenet},
    {"resnet_v1_50/", "resnet_v1_50", "slim", resnet_v1_50},
};

}  // namespace

void rename_slim_network(ImportedFile& file) {
  for (const KnownSlim& known : kKnownSlims) {
    const Scopes scopes = known.scopes();
    std::vector<ImportedLayer> kept;
    std::vector<std::string> others;
    for (const ImportedLayer& layer : file.layers) {
      std::string_view scope = layer.name;
      const bool is_own = scope.starts_with(known.prefix);
      if (is_own) scope.remove_prefix(known.prefix.size());
      constexpr std::string_view kNorm = "/BatchNorm";
      const bool is_norm = scope.ends_with(kNorm);
      if (is_norm) scope.remove_suffix(kNorm.size());
      const auto found = scopes.names().find(scope);
      const bool is_known = is_own && found != scopes.names().end();
      const std::string ours =
          is_known ? (is_norm ? found->second.norm : found->second.conv) : std::string();
      if (!ours.empty())
        kept.push_back({.name = ours, .weights = layer.weights});
      else  // the auxiliary classifier
        for (const ImportedWeight& weight : layer.weights)
          others.push_back(file.tensors->tensors()[weight.tensor].name);
    }
    if (kept.size() <= scopes.names().size()) continue;
    file.layers = std::move(kept);
    file.others.insert(file.others.end(), others.begin(), others.end());
    file.network = known.network;
    file.preprocessing = known.preprocessing;
    return;
  }
}

}  // namespace plimsoll::interop
