#include "cli/picture_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/files.h"
#include "data/source/upright_box.h"
#include "draw/png.h"
#include "draw/svg.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;
using draw::escaped;

constexpr std::int64_t kSide = 224;
constexpr std::size_t kEachClass = 4;
constexpr std::size_t kMost = 240;
constexpr std::size_t kMostNamed = 100;
constexpr std::int64_t kMostBad = 200;

constexpr const char* kHead = R"(<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{0}</title>
<style>
body {{ font: 14px/1.4 system-ui, sans-serif; margin: 2em; background: #fff; color: #222 }}
h2 {{ margin: 1.5em 0 .5em }}
.row {{ display: flex; flex-wrap: wrap; gap: 12px }}
figure {{ margin: 0; width: 224px }}
.picture {{ position: relative; line-height: 0 }}
.picture img {{ width: 100% }}
.picture svg {{ position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible }}
rect {{ fill: none; stroke-width: 2; vector-effect: non-scaling-stroke }}
li {{ overflow-wrap: anywhere }}
.legend span {{ margin-right: 1em; white-space: nowrap }}
.legend i {{ display: inline-block; width: .8em; height: .8em; margin-right: .3em }}
figcaption {{ font-size: 12px; overflow-wrap: anywhere; color: #555 }}
b {{ color: #222 }}
</style>
<h1>{0}</h1>
)";

void write_png(const fs::path& path, const Picture& picture) {
  write_file(path,
             draw::encode_png(picture.width, picture.height, picture.channels, picture.pixels));
}

// Neighbours of the list are told apart.
std::string colour_of(std::int32_t label) {
  return fmt::format("hsl({} 85% {}%)", label * 137 % 360, label % 2 == 0 ? 45 : 60);
}

class Page {
 public:
  Page(const job::ScannedData& data, fs::path folder) : data_(data), folder_(std::move(folder)) {
    make_directories(folder_);
    text_ = fmt::format(fmt::runtime(kHead), escaped(data.name));
  }

  // The colours of the classes, where boxes have them.
  void add_legend() {
    const std::vector<std::string>& names = data_.source->class_names();
    text_ += "<p class=\"legend\">";
    for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i)
      text_ += fmt::format("<span><i style=\"background: {}\"></i>{}</span> ",
                           colour_of(static_cast<std::int32_t>(i)), escaped(names[i]));
    text_ += names.size() > kMostNamed ? "...</p>\n" : "</p>\n";
  }

  // What has no picture to show.
  void add_bad() {
    if (data_.bad() == 0) return;
    text_ += "<h2>Cannot be read</h2>\n<ul>\n";
    std::int64_t shown = 0;
    const auto add = [&](const Complaint& complaint) {
      if (++shown <= kMostBad)
        text_ += fmt::format("<li>{}: {}</li>\n", escaped(complaint.where), escaped(complaint.got));
    };
    for (const Complaint& defect : data_.source->defects()) add(defect);
    for (const BadSample& bad : data_.report.bad) add(bad.complaint);
    if (shown > kMostBad) text_ += fmt::format("<li>... and {} more</li>\n", shown - kMostBad);
    text_ += "</ul>\n";
  }

  void begin(const std::string& title) {
    text_ += fmt::format("<h2>{}</h2>\n<div class=\"row\">\n", escaped(title));
  }
  void end() { text_ += "</div>\n"; }

  void add(std::int64_t i) {
    const Source& source = *data_.source;
    const std::string name = fmt::format("sample{}.png", i);
    std::optional<ImageInfo> info;
    try {
      if (written_.insert(i).second) info = write(i, folder_ / name);
      infos_[i] = info ? info : infos_[i];
    } catch (const DataError&) {
      return;  // it is among the problems already
    }
    text_ += fmt::format("<figure><div class=\"picture\"><img src=\"{}\" alt=\"\">", name);
    if (!source.boxes(i).empty()) {
      text_ += "<svg viewBox=\"0 0 1 1\" preserveAspectRatio=\"none\">";
      const Size frame = source.annotated_size(i);
      const Size shown = infos_[i] ? infos_[i]->size() : frame;
      for (const Box& given : source.boxes(i))
        add_box(infos_[i] ? upright_box(given, *infos_[i], frame) : given, shown);
      text_ += "</svg>";
    }
    const std::string label = source.has_boxes() ? fmt::format("{} boxes", source.boxes(i).size())
                                                 : class_name(source.label(i));
    text_ += fmt::format("</div><figcaption><b>{}</b> {}</figcaption></figure>\n", escaped(label),
                         escaped(data_.place(i)));
  }

  fs::path finish() {
    fs::path path = folder_ / "index.html";
    write_file(path, text_ + "</html>\n");
    return path;
  }

 private:
  // A box in a picture of that size.
  void add_box(const Box& box, Size size) {
    // A rectangle without area would not be drawn at all.
    const bool usable = is_usable(box, size);
    const float least = usable ? 0 : 0.02F;
    const auto w = static_cast<float>(size.width);
    const auto h = static_cast<float>(size.height);
    text_ += fmt::format(
        "<rect x=\"{:.4f}\" y=\"{:.4f}\" width=\"{:.4f}\" height=\"{:.4f}\" "
        "stroke=\"{}\"{}><title>{}</title></rect>",
        std::min(box.x0, box.x1) / w, std::min(box.y0, box.y1) / h,
        std::max(least, std::abs(box.x1 - box.x0) / w),
        std::max(least, std::abs(box.y1 - box.y0) / h), colour_of(box.label),
        usable ? "" : " stroke-dasharray=\"4\"", escaped(class_name(box.label)));
  }

  std::string class_name(std::int32_t label) const {
    const auto& names = data_.source->class_names();
    return label >= 0 && static_cast<std::size_t>(label) < names.size()
               ? names[static_cast<std::size_t>(label)]
               : std::to_string(label);
  }

  // The sample, upright and small; what its headers say, of a file.
  std::optional<ImageInfo> write(std::int64_t i, const fs::path& path) {
    const Encoded encoded = data_.source->read(i, buffer_);
    std::optional<ImageInfo> info;
    Coverage coverage;
    if (encoded.raw) {
      picture_.reshape(encoded.raw->height, encoded.raw->width, encoded.raw->channels);
      std::ranges::transform(encoded.bytes, picture_.pixels.begin(),
                             [](std::byte b) { return static_cast<std::uint8_t>(b); });
    } else {
      const std::string where = data_.source->where(i);
      info = probe_image(encoded.bytes, where);
      coverage = decoder_.decode(encoded.bytes, where, *info, {.channels = 3}, picture_);
    }
    const std::int64_t longer = std::max(picture_.height, picture_.width);
    if (longer > kSide) {
      const Size size{.height = std::max<std::int64_t>(1, picture_.height * kSide / longer),
                      .width = std::max<std::int64_t>(1, picture_.width * kSide / longer)};
      const auto channels = static_cast<int>(picture_.channels);
      Transformer shrink(size, channels, {.method = Resize::area});
      small_.reshape(size.height, size.width, channels);
      shrink.run(picture_, coverage, {.width = picture_.width, .height = picture_.height}, {},
                 small_.pixels.data());
      write_png(path, small_);
    } else {
      write_png(path, picture_);
    }
    return info;
  }

  const job::ScannedData& data_;
  fs::path folder_;
  std::string text_;
  std::set<std::int64_t> written_;
  std::map<std::int64_t, std::optional<ImageInfo>> infos_;
  Decoder decoder_;
  MappedBytes buffer_;
  Picture picture_;
  Picture small_;
};

}  // namespace

fs::path write_picture_page(const job::ScannedData& data, const fs::path& folder) {
  Page page(data, folder);
  const ScanReport& report = data.report;
  const auto show = [&](const char* title, const std::vector<std::int64_t>& samples) {
    if (samples.empty()) return;
    page.begin(title);
    for (const std::int64_t i : samples) page.add(i);
    page.end();
  };
  if (data.source->has_boxes()) page.add_legend();
  page.add_bad();
  show("Boxes with exchanged corners", report.inverted.samples);
  show("Boxes without area", report.empty.samples);
  show("Boxes beyond the picture", report.outside.samples);
  show("Another size than annotated", report.other_size.samples);
  show("The same content in several classes", report.duplicates_of_other_class.samples);
  show("Turned by EXIF (shown upright)", report.turned.samples);
  // Spread evenly over the set, so that the page does not show the first folder alone.
  std::map<std::int32_t, std::vector<std::int64_t>> chosen;
  std::map<std::int32_t, std::vector<std::int64_t>> all;
  // A bad one may still decode to something, which is not what it should look like.
  for (std::int64_t i = 0; i < data.source->size(); ++i)
    if (report.contents[static_cast<std::size_t>(i)] != 0) all[data.source->label(i)].push_back(i);
  std::size_t total = 0;
  for (const auto& [label, samples] : all) {
    const std::size_t wanted = std::min(samples.size(), all.size() == 1 ? 24 : kEachClass);
    for (std::size_t k = 0; k < wanted && total < kMost; ++k, ++total)
      chosen[label].push_back(samples[k * samples.size() / wanted]);
  }
  for (const auto& [label, samples] : chosen)
    show(
        label < 0 ? "Samples" : data.source->class_names()[static_cast<std::size_t>(label)].c_str(),
        samples);
  return page.finish();
}

}  // namespace plimsoll::cli
