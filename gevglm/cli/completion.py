"""``gevglm completion``: what makes a shell complete commands, options and their words."""

from __future__ import annotations

import argparse
from typing import Any

from gevglm.cli.options import add_command

EXAMPLES = """examples:
  gevglm completion bash >> ~/.bashrc
      for bash; open a new shell
  gevglm completion zsh >> ~/.zshrc
      for zsh
  gevglm completion fish > ~/.config/fish/completions/gevglm.fish
      for fish
"""
BASH = """_gevglm() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" command="${{COMP_WORDS[1]}}"
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{commands}" -- "$current"))
        return
    fi
    case "$command $previous" in
{choices}
    esac
    case "$command" in
{options}
    esac
}}
complete -o default -F _gevglm gevglm
"""
ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


def add_to(commands: Any, title: str) -> None:
    """Add the command, with its title among all commands, to the parser."""
    text = "Print a script that makes a shell complete the commands of gevglm, their options and the words these take."
    parser = add_command(commands, "completion", run, EXAMPLES, title, text)
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(options: argparse.Namespace) -> None:
    """Print the script."""
    print(script_for(options.shell), end="")


def script_for(shell: str) -> str:
    """Return the script of a shell, from the parsers of all commands."""
    from gevglm.cli import COMMANDS, parser_for

    known = {name: _options_of(parser_for([name]), name) for name in COMMANDS}
    if shell == "fish":
        return "\n".join(_fish(known, COMMANDS)) + "\n"
    choices, options = [], []
    for command, found in known.items():
        words = " ".join(name for names, _, _ in found for name in names if name.startswith("--"))
        options.append(
            f'        {command}) [[ "$current" == -* ]] && COMPREPLY=($(compgen -W "{words}" -- "$current"));;'
        )
        for names, allowed, _ in found:
            if allowed:
                pattern = "|".join(f'"{command} {name}"' for name in names)
                words = " ".join(allowed)
                choices.append(f'        {pattern}) COMPREPLY=($(compgen -W "{words}" -- "$current")); return;;')
    text = BASH.format(commands=" ".join(known), choices="\n".join(choices), options="\n".join(options))
    return ZSH + text if shell == "zsh" else text


def _options_of(parser: argparse.ArgumentParser, command: str) -> list[tuple[list[str], list[str], str]]:
    """Return the options of a command: how each is written, the words it takes, and its help."""
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    found = []
    for action in commands.choices[command]._actions:
        words = [str(word) for word in action.choices or ()]
        if action.option_strings:
            found.append((list(action.option_strings), words, action.help or ""))
    return found


def _fish(known: dict[str, Any], titles: dict[str, str]) -> list[str]:
    lines = [f"complete -c gevglm -n __fish_use_subcommand -a {name} -d '{titles[name]}'" for name in known]
    for command, found in known.items():
        for names, words, text in found:
            marks = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in names)
            taken = f" -x -a '{' '.join(words)}'" if words else ""
            about = text.replace("'", "").replace("%(choices)s", "").replace("\n", " ")[:70]
            lines.append(f"complete -c gevglm -n '__fish_seen_subcommand_from {command}' {marks}{taken} -d '{about}'")
    return lines
