#include "cli/manual.h"

#include <fmt/format.h>

#include <vector>

#include "base/text.h"

namespace plimsoll::cli {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// The long name of an option, with its dashes; empty for what is given by position alone.
std::string long_name(const CLI::Option& option) {
  return option.get_lnames().empty() ? "" : "--" + option.get_lnames().front();
}

// Text as troff prints it: dashes stay dashes, and no line is taken for a request.
std::string troff(std::string_view text) {
  std::string result;
  for (const std::string_view line : split(text, '\n')) {
    if (!result.empty()) result += '\n';
    if (line.starts_with('.') || line.starts_with('\'')) result += "\\&";
    for (const char c : line) {
      if (c == '\\')
        result += "\\e";
      else if (c == '-')
        result += "\\-";
      else
        result += c;
    }
  }
  return result;
}

// Lines that stay as they are.
std::string verbatim(const std::string& text) {
  return text.empty() ? "" : ".PP\n.nf\n" + troff(text) + "\n.fi\n";
}

std::string option_entry(const CLI::Option& option) {
  std::vector<std::string> names;
  if (option.get_positional()) names.push_back("\\fI" + troff(option.get_name(true)) + "\\fR");
  for (const std::string& letter : option.get_snames())
    names.push_back("\\fB\\-" + letter + "\\fR");
  for (const std::string& word : option.get_lnames())
    names.push_back("\\fB" + troff("--" + word) + "\\fR");
  std::string name = plimsoll::join(names, ", ");
  if (!option.get_positional() && takes_value(option))
    name += " \\fI" + troff(option.get_type_name()) + "\\fR";
  std::string text = ".TP\n" + name + "\n" + troff(option.get_description());
  if (!option.get_default_str().empty())
    text += " (default: " + troff(option.get_default_str()) + ")";
  return text + "\n";
}

std::string command_entry(const CLI::App& command) {
  std::string usage = "plimsoll " + command.get_name();
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional())
      usage += (option->get_required() ? " " : " [") + option->get_name(true) +
               (option->get_required() ? "" : "]");
  std::string text =
      ".SS \"" + troff(usage) + " [options]\"\n" + troff(command.get_description()) + "\n";
  for (const std::string& group : command.get_groups()) {
    text += ".PP\n\\fI" + troff(group) + "\\fR\n";
    for (const CLI::Option* option : command.get_options())
      if (option->get_group() == group) text += option_entry(*option);
  }
  return text + verbatim(command.get_footer());
}

constexpr const char* kExitStatus = R"(.SH EXIT STATUS
.TP
0
done
.TP
1
the request could not be done: a bad file, bad data, the system refused
.TP
2
the command line or the configuration is wrong
.TP
3
it does not fit the budget; nothing was started
.TP
4
stopped by the watchdog; the last good checkpoint stands
.TP
129, 130, 143
interrupted by SIGHUP, SIGINT or SIGTERM; a checkpoint was written
)";

constexpr const char* kCompletionHead =
    R"bash(# Completion of plimsoll for bash; made by `plimsoll --completion`.
_plimsoll() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local commands options= valued=
)bash";

// Without an answer bash completes file names, as `-o default` asks.
constexpr const char* kCompletionTail = R"bash(  esac
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "$commands help --help --version" -- "$word"))
  elif [[ ${COMP_WORDS[1]} == help ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$word"))
  elif [[ $before == --model ]]; then
    COMPREPLY=($(compgen -W "$(plimsoll summary --list 2>/dev/null | cut -d' ' -f1)" -- "$word"))
  elif [[ $word == -* && $valued != *" $before "* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  fi
}
complete -o default -F _plimsoll plimsoll
)bash";

}  // namespace

std::string manual_page(const CLI::App& app, const std::string& version) {
  std::string text = fmt::format(
      ".TH PLIMSOLL 1 \"\" \"{}\" \"User Commands\"\n"
      ".SH NAME\nplimsoll \\- {}\n"
      ".SH SYNOPSIS\n.B plimsoll\n\\fICOMMAND\\fR [options]\n.br\n.B plimsoll help\n"
      "\\fICOMMAND\\fR\n.br\n.B plimsoll \\-\\-version\n"
      ".SH DESCRIPTION\n{}\n"
      "A run is planned before it starts: it fits its budget (\\fB\\-\\-memory\\fR), or is refused "
      "with what would help.\n.SH COMMANDS\n",
      troff(version), troff(app.get_description()), troff(app.get_description()));
  for (const CLI::App* command : commands_of(app)) text += command_entry(*command);
  return text + ".SH EXAMPLES\n" + verbatim(app.get_footer()) + kExitStatus;
}

std::string bash_completion(const CLI::App& app) {
  std::vector<std::string> names;
  std::string cases;
  for (const CLI::App* command : commands_of(app)) {
    names.push_back(command->get_name());
    std::string options, valued;
    for (const CLI::Option* option : command->get_options()) {
      const std::string name = long_name(*option);
      if (name.empty()) continue;
      options += (options.empty() ? "" : " ") + name;
      if (takes_value(*option)) valued += " " + name;
    }
    cases += fmt::format("    {})\n      options=\"{}\"\n      valued=\"{} \" ;;\n",
                         command->get_name(), options, valued);
  }
  return kCompletionHead + fmt::format("  commands=\"{}\"\n", join(names, " ")) +
         "  case ${COMP_WORDS[1]} in\n" + cases + kCompletionTail;
}

}  // namespace plimsoll::cli
