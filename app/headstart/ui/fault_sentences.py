"""The sentences that parts without a window say to a person, as those parts write them."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QT_TRANSLATE_NOOP

# {} is whatever stands there. A test finds each where it is said.
EXPORTS: Sequence[Any] = (
    QT_TRANSLATE_NOOP("Faults", "{} exists already; add --force to replace it, or choose another --output."),
    QT_TRANSLATE_NOOP(
        "Faults", "{} exists and is not an exported model, so it is not replaced; choose another --output."
    ),
    QT_TRANSLATE_NOOP("Faults", "{} cannot be written to ({}); choose another --output."),
    QT_TRANSLATE_NOOP("Faults", "{} is in use; close what uses it and run the command again."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "Exporting {} needs {} of disk space at {}, but only {} is free; make room, or choose another --output.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The disk at {} became full; nothing half done was left. Make room and run the command again: what was fetched "
        "is kept.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "{} wants to run Python code of its own ({} in {}), which is refused; if you have read that code and trust it, "
        "add --trust-remote-code.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "Something unexpected happened ({}: {}); nothing half done was left. Add --verbose to see where, and report "
        "it.",
    ),
    QT_TRANSLATE_NOOP("Faults", "These weights cannot be compressed to {} ({}); try another --weights."),
    QT_TRANSLATE_NOOP("Faults", "{} is an EAGLE-3 head, no model by itself: name its target, and it with --draft."),
    QT_TRANSLATE_NOOP("Faults", "{} is the recipe of a pair: it names both models, so --draft does not fit."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The target cannot write the texts whose tokens are counted ({}); --draft-vocab full does without.",
    ),
    QT_TRANSLATE_NOOP("Faults", "{} did not arrive within {} minutes; run the command again to go on from here."),
    QT_TRANSLATE_NOOP(
        "Faults", "The package {} is damaged ({}) and was deleted; run the command again to fetch it anew."
    ),
    QT_TRANSLATE_NOOP("Faults", "{} is not what was expected: {}. It was deleted; run the command again."),
)

SETUP: Sequence[Any] = (
    QT_TRANSLATE_NOOP("Faults", "Cancelled."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "No Python was found on this computer; install Python 3.11 or newer, of 64 bits (Debian and Ubuntu: apt "
        "install python3 python3-venv), and try again.",
    ),
    QT_TRANSLATE_NOOP("Faults", "The Python found here is {}, and 3.11 or newer is needed; install one and try again."),
    QT_TRANSLATE_NOOP(
        "Faults", "The exporter needs {} on the disk while it is set up, and {} are free; make room and try again."
    ),
    QT_TRANSLATE_NOOP("Faults", "The disk is full; make room and try again."),
    QT_TRANSLATE_NOOP("Faults", "The set-up was ended from outside, perhaps for want of memory; try again."),
    QT_TRANSLATE_NOOP("Faults", "The exporter could not be set up: {}"),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The package index cannot be reached; check this computer's network and try again. What was fetched to its "
        "end is not fetched again.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The package index lacks something for Python {}; the log names it. Another Python, 3.11 or newer, may have "
        "all: install one and try again.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "Python {} can make no environments here, as its module venv is missing; on Debian and Ubuntu, apt install "
        "python3-venv brings it. Then try again.",
    ),
)


# {} is whatever stands there, {name} a part that is one of REMEDIES or OPTIONS. A test finds each where it is said.
# What names flags or commands of a terminal has other words for the window in every language, English too.
REFUSALS: Sequence[Any] = (
    QT_TRANSLATE_NOOP(
        "Faults",
        "{} is an EAGLE-3 head, which only OpenVINO GenAI can use: leave out --engine headstart.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "An NPU compiles a fixed prompt length in, while Headstart's own engine feeds passes of any length: "
        "leave out --engine headstart, or use --device CPU.",
    ),
    QT_TRANSLATE_NOOP("Faults", "Exact numerics need keys and values in 16 bits: leave out --kv-precision u8."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The conversation has {} tokens, but the NPU was compiled for prompts of at most {}: start a new "
        "chat, shorten the text, or load it with a longer --context.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "OpenVINO GenAI garbles sampled answers when a draft model guesses ahead (its issue 4190): {remedy}, "
        "--temperature 0 or --speculation off.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "OpenVINO GenAI makes unlikely tokens likelier by presence and frequency penalties: {remedy}, or "
        "--repetition-penalty.",
    ),
    QT_TRANSLATE_NOOP("Faults", "OpenVINO GenAI has no table of likely next tokens: {remedy}."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "OpenVINO GenAI cannot bound its guesses under a confidence threshold, and sixty in one round were "
        "seen: {remedy}, or --num-assistant-tokens alone.",
    ),
    QT_TRANSLATE_NOOP("Faults", "OpenVINO GenAI has no acceptance threshold: {remedy}."),
    QT_TRANSLATE_NOOP("Faults", "An NPU takes no guesses from the text: use a draft model, or --speculation off."),
    QT_TRANSLATE_NOOP("Faults", "An NPU needs a context of at least {} tokens, not {}: use another --context."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "An NPU computes with symmetric weights, but {} has {}: export it with --weights int4-sym, or use "
        "--device CPU.",
    ),
    QT_TRANSLATE_NOOP("Faults", "With an NPU, model and draft run on it together: leave out --draft-device."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "An NPU has arithmetic of its own: leave out --numerics exact, or use --device CPU.",
    ),
    QT_TRANSLATE_NOOP("Faults", "An NPU decides itself how it keeps keys and values: leave out --kv-precision."),
    QT_TRANSLATE_NOOP("Faults", "OpenVINO GenAI cannot run {} ({}) on {} ({}); {remedy}."),
    QT_TRANSLATE_NOOP("Faults", "OpenVINO GenAI failed ({}); {remedy}."),
    QT_TRANSLATE_NOOP(
        "Faults", "Headstart runs a model on one device, not on {}; present: {}. Choose one with {option}, or AUTO."
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "A benchmark times Headstart's own engine, and OpenVINO GenAI beside it: load the model on a CPU, "
        "without an EAGLE-3 head, and run it again.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "It takes about {} of memory, but {} is free: close other programs and tune again.",
    ),
    QT_TRANSLATE_NOOP("Faults", "Tuning needs {} seconds at least, not {}."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The engine's line was longer than {} MiB, so it cannot be a message of Headstart.",
    ),
    QT_TRANSLATE_NOOP("Faults", "The engine's line is no message of Headstart: {}"),
    QT_TRANSLATE_NOOP("Faults", "The engine's line is of an unknown kind: {}"),
    QT_TRANSLATE_NOOP("Faults", "The engine's message {} is damaged ({})."),
    QT_TRANSLATE_NOOP("Faults", "The engine cannot be started ({}); install Headstart again."),
    QT_TRANSLATE_NOOP("Faults", "The engine stopped unexpectedly ({}); see {}."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The engine stopped unexpectedly ({}, as the system does when memory runs out); it starts again when it is "
        "needed.",
    ),
    QT_TRANSLATE_NOOP("Faults", "The engine stopped too often; load the model again, or see {}."),
    QT_TRANSLATE_NOOP("Faults", "The engine does not start; see {}."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The key cannot be kept: there is no keyring, and {} cannot be written ({}). Set it in the "
        "environment variable {} instead.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "A server's name has up to 40 letters, digits, dots, dashes and underscores, unlike {}.",
    ),
    QT_TRANSLATE_NOOP("Faults", "{} is no address of a server; write it like https://host:8000/v1."),
    QT_TRANSLATE_NOOP("Faults", "An address must not hold a password; give the key with --key instead."),
    QT_TRANSLATE_NOOP("Faults", "The servers cannot be saved in {} ({}); make the folder writable and try again."),
    QT_TRANSLATE_NOOP("Faults", "{} is damaged; `headstart serve --new-key` writes it anew."),
    QT_TRANSLATE_NOOP("Faults", "{} cannot be read ({}); `headstart serve --new-key` writes it anew."),
    QT_TRANSLATE_NOOP("Faults", "{} cannot be written ({}); make room or correct its rights."),
    QT_TRANSLATE_NOOP("Faults", "{} port {} cannot be used ({}): choose others with --host and --port."),
)
REMEDIES: Sequence[Any] = (
    QT_TRANSLATE_NOOP("Faults", "use --engine headstart"),
    QT_TRANSLATE_NOOP("Faults", "use --device CPU"),
    QT_TRANSLATE_NOOP("Faults", "ask again, or use --engine headstart"),
    QT_TRANSLATE_NOOP("Faults", "ask again, or use --device CPU"),
    QT_TRANSLATE_NOOP("Faults", "load the model with a smaller --context"),
)
OPTIONS: Sequence[Any] = (
    QT_TRANSLATE_NOOP("Faults", "--device"),
    QT_TRANSLATE_NOOP("Faults", "--draft-device"),
)


# {} is whatever stands there, {name} a part that is one of DETAILS, {command} what is to be typed into a terminal: the
# window leaves that out. A test finds each where it is said.
SENTENCES: Sequence[Any] = (
    *REFUSALS,
    *EXPORTS,
    *SETUP,
    QT_TRANSLATE_NOOP(
        "Faults",
        "The chat history {} is damaged ({}): restore a backup; the damaged file is kept beside it.",
    ),
    QT_TRANSLATE_NOOP("Faults", "The chat history {} could not be used ({}); try again, then restart the program."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The index of the search is damaged; start Headstart again to have it made anew: no chat is lost.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The disk is full, so the last change was not saved in {}; free some space and try again: everything "
        "saved before is still there.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The chat history in {} cannot be written; make the folder readable and writable for you, then try again.",
    ),
    QT_TRANSLATE_NOOP("Faults", "Another program is using the chat history {}; close it and try again."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The chat history in {} cannot be used ({}); make the folder readable and writable for you, then try again.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The chat history {} was written by a newer version of Headstart (schema {}, this one knows {}); "
        "update Headstart to open it.",
    ),
    QT_TRANSLATE_NOOP("Faults", "The chat history in {} is encrypted; open it in the window, with its passphrase."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "This is not the passphrase of the chat history; try again, and mind capitals and the keyboard's language.",
    ),
    QT_TRANSLATE_NOOP("Faults", "A passphrase needs at least {} characters; take several words."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The key of the chat history is damaged: put a copy of it in the place of {}; without it the chats cannot be "
        "read.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "To check a passphrase takes {} MiB of memory; close other programs and try again.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "Encrypted chat histories need packages that are not installed: pip install {}, then start Headstart again.",
    ),
    QT_TRANSLATE_NOOP("Faults", "This chat no longer exists in the history; start a new one."),
    QT_TRANSLATE_NOOP("Faults", "A tag needs a name; type one."),
    QT_TRANSLATE_NOOP("Faults", "There is no tag “{}” any more; make a new one."),
    QT_TRANSLATE_NOOP("Faults", "There already is a tag “{}”; choose another name."),
    QT_TRANSLATE_NOOP("Faults", "{} cannot be read ({}); choose a file that you may open."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "{} was not imported because {reason}; choose a JSON file exported by Headstart or the "
        "conversations.json from a ChatGPT export.",
    ),
    QT_TRANSLATE_NOOP("Faults", "{} cannot be written ({}); choose another folder or make room there."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "There is no device {} here; present: {}. Choose one with {option}; `headstart doctor` says what speaks "
        "against a {}.",
    ),
    QT_TRANSLATE_NOOP("Faults", "There is no device {} here; present: {}. Choose one with {option}."),
    QT_TRANSLATE_NOOP("Faults", "No model is loaded; choose one first."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "Memory ran out while the model was loaded: close other programs, choose a smaller context, or a smaller "
        "model.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "Memory ran out, so the engine starts again: close other programs, start a new chat, or choose a smaller "
        "context.",
    ),
    QT_TRANSLATE_NOOP("Faults", "The engine failed. Details are in the log: {}"),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The engine gave no sign for {} seconds while {doing}, so it was ended; it starts again when it is needed.",
    ),
    QT_TRANSLATE_NOOP("Faults", "{} refuses {} ({}). Try --device CPU."),
    QT_TRANSLATE_NOOP("Faults", "{} cannot be loaded ({}). Export it again with headstart-export."),
    QT_TRANSLATE_NOOP("Faults", "{} gave results that are not numbers; load it again, in another precision."),
    QT_TRANSLATE_NOOP("Faults", "{} gave results that are not numbers in {}; it goes on in {}."),
    QT_TRANSLATE_NOOP("Faults", "{} does not run in {} here, as {why}; it runs in {}."),
    QT_TRANSLATE_NOOP("Faults", "{} is damaged: {faults}. Export it again with headstart-export."),
    QT_TRANSLATE_NOOP("Faults", "The manifest of {} does not list {}; export the model again."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The conversation has {} tokens, but the context holds {}: start a new chat, shorten the text, or "
        "load the model with a longer --context.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "{} has no chat template, so it cannot hold a conversation; export the instruct or chat version of this model.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        'The chat template of {} has no place for a message of role "{}" here; leave it out, or use the roles'
        " system, user and assistant in their usual order.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The chat template of {} refused this conversation ({}); change the system prompt or the order of the"
        " messages, or start a new conversation.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The engine program belongs to another version of Headstart (its messages have version {}, not {}); "
        "install Headstart again.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "Loading {} with {} tokens of context takes about {} of memory, but {present}: choose {shorter}, "
        "{lighter}, or a smaller model.",
    ),
    QT_TRANSLATE_NOOP("Faults", "The list of draft tokens in {} {fault}; export the model again."),
    QT_TRANSLATE_NOOP("Faults", "{} {fault}; build it again with headstart-export bigram."),
    QT_TRANSLATE_NOOP("Faults", "The tokenizer in {} is damaged ({}); export the model again."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The tokenizer in {} swallows spaces before punctuation, which would damage code; export the model "
        "again with clean_up_tokenization_spaces off.",
    ),
    QT_TRANSLATE_NOOP("Faults", "{} lacks {}; export the model again."),
    QT_TRANSLATE_NOOP("Faults", "{} is damaged: {} is no file of it; export it again."),
    QT_TRANSLATE_NOOP("Faults", "{} is installed already; it lies in the folder of the models."),
    QT_TRANSLATE_NOOP("Faults", "A model named {} is installed already; remove it or rename the new folder."),
    QT_TRANSLATE_NOOP("Faults", "{} needs {} of disk space at {}, but only {} is free; make room and add it again."),
    QT_TRANSLATE_NOOP("Faults", "{} cannot be copied to {} ({}); nothing was kept."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "{} does not have the content it was exported with; copy the folder again, or export again.",
    ),
    QT_TRANSLATE_NOOP("Faults", "There is no model {}; installed are {}."),
    QT_TRANSLATE_NOOP("Faults", "There is no model {}: none is installed yet; run {command} to get a small one."),
    QT_TRANSLATE_NOOP("Faults", "draft {} does not fit {}: {difference}; choose a draft with the same tokenizer."),
    QT_TRANSLATE_NOOP("Faults", "{} is damaged: {faults}; export it again with headstart-export."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "{} reads blank space before a digit, as in a list, as wrong tokens, which makes its answers worse; export it "
        "again with {command}.",
    ),
    QT_TRANSLATE_NOOP("Faults", "{} is damaged: {} is no folder of it; export it again."),
    QT_TRANSLATE_NOOP("Faults", "{} is a pair; name one model of it as the draft: {}."),
    QT_TRANSLATE_NOOP("Faults", "No model is installed yet; run {command} to get a small one."),
    QT_TRANSLATE_NOOP("Faults", "{} was written for another version of Headstart; export the model again."),
    QT_TRANSLATE_NOOP("Faults", "{} holds a pair; name its {} or {} folder instead."),
    QT_TRANSLATE_NOOP("Faults", "{} is not a Headstart model: {} is missing; export it with headstart-export."),
    QT_TRANSLATE_NOOP("Faults", "{} cannot be read ({}); export the model again."),
    QT_TRANSLATE_NOOP("Faults", "{} is damaged ({}); export the model again."),
    QT_TRANSLATE_NOOP("Faults", "{} is damaged (its added tokens); export the model again."),
    QT_TRANSLATE_NOOP("Faults", "{} is damaged; export the model again."),
    QT_TRANSLATE_NOOP("Faults", "{} is missing; export the model again."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "{} is encrypted; open it with its password, save a copy without one, and attach that.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "{} is damaged{where} or no PDF; open it in a PDF viewer, save it again, and attach that.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "{} has {} pages, and {} is the most; attach those that matter as a file of their own.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "{} holds pictures of pages but no text, as scans do; have its text recognised (OCR) first, then attach that.",
    ),
    QT_TRANSLATE_NOOP("Faults", "{} has {} MB, and {} MB is the most for a PDF; attach a part of it."),
    QT_TRANSLATE_NOOP("Faults", "{} cannot be read ({}); check that it is there."),
    QT_TRANSLATE_NOOP("Faults", "Fixed speculation needs a number of assistant tokens: set 1 to 16, or use automatic."),
    QT_TRANSLATE_NOOP("Faults", "The settings cannot be saved in {} ({}); make the folder writable and try again."),
    QT_TRANSLATE_NOOP("Faults", "{} was not attached: {} files is the most for one message."),
    QT_TRANSLATE_NOOP("Faults", "{} is a folder; drop the files in it instead."),
    QT_TRANSLATE_NOOP("Faults", "{} has {} MB, and {} MB is the most; attach a part of it."),
    QT_TRANSLATE_NOOP("Faults", "{} has {} MB of text, and {} MB is the most; attach a part of it."),
    QT_TRANSLATE_NOOP("Faults", "{} is empty; there is nothing to attach."),
    QT_TRANSLATE_NOOP("Faults", "No model is installed yet."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "{} is no PDF and no text in UTF-8; attach text, Markdown, code or PDF, or save it as text first.",
    ),
    QT_TRANSLATE_NOOP("Faults", "{} is on another computer and can only chat; choose a model of `headstart models`."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "{} does not speak TLS as expected at {} ({}); check the port, or whether the address begins with http://.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "No computer is found by the address of {}, {}; check the spelling and your network.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "{} cannot be reached at {} ({}); check that the server runs there and that this computer has a network.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The connection to {} broke in the middle of the answer; what came of it is kept: continue it, or ask again.",
    ),
    QT_TRANSLATE_NOOP("Faults", "{} broke off the answer ({}); ask again, or look into the log of that server."),
    QT_TRANSLATE_NOOP("Faults", "{} has moved to {}; if you trust that, add it again with that address."),
    QT_TRANSLATE_NOOP("Faults", "{} is busy{}; try again in a while."),
    QT_TRANSLATE_NOOP("Faults", "{} failed (status {}); try again, or look into that server's log."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The conversation is too long for {} ({}): start a new chat, or allow shorter answers.",
    ),
    QT_TRANSLATE_NOOP("Faults", "{} does not take this request (status {}); change what it names."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "{} does not tell its models at {}/models; check the address (it often ends in /v1), or name a model: "
        "remote:{}/MODEL.",
    ),
    QT_TRANSLATE_NOOP("Faults", "{} has these models: {}; name one of them: remote:{}/MODEL."),
    QT_TRANSLATE_NOOP("Faults", "{} has no model {}; it has {}."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The certificate of {} at {} is not trusted ({}); if it is your own, add the server again with "
        "--certificate FILE, the authority that signed it.",
    ),
    QT_TRANSLATE_NOOP("Faults", "{} refuses the key{}; give another one with {command}."),
    QT_TRANSLATE_NOOP("Faults", "{} wants a key{}; give it with {command}."),
    QT_TRANSLATE_NOOP("Faults", "{} does not know the model {}; {command} lists what it has."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "There is no such API at {}; check the address of {}: it often ends in /v1.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "A benchmark measures this computer, but {} is another one: choose a model that is here.",
    ),
    QT_TRANSLATE_NOOP("Faults", "The certificate {} cannot be used ({}); name a file in PEM form."),
    QT_TRANSLATE_NOOP("Faults", "Others may read the key in {}: run {command}, and change the key."),
    QT_TRANSLATE_NOOP("Faults", "The key in {} cannot be read ({}); make it readable for you."),
    QT_TRANSLATE_NOOP("Faults", "There is no server {}; {known}. Add it with {command}."),
)
DETAILS: Sequence[Any] = (
    *REMEDIES,
    *OPTIONS,
    QT_TRANSLATE_NOOP("Faults", "it is no export of chats"),
    QT_TRANSLATE_NOOP("Faults", "there is no chat in it"),
    QT_TRANSLATE_NOOP("Faults", "it is not UTF-8 text"),
    QT_TRANSLATE_NOOP("Faults", "its parts are nested too deeply"),
    QT_TRANSLATE_NOOP("Faults", "it is not JSON ({})"),
    QT_TRANSLATE_NOOP("Faults", "it has {} MB and at most {} MB are read"),
    QT_TRANSLATE_NOOP("Faults", "a smaller context ({} tokens would fit)"),
    QT_TRANSLATE_NOOP("Faults", "a smaller context"),
    QT_TRANSLATE_NOOP("Faults", "a smaller draft or none"),
    QT_TRANSLATE_NOOP("Faults", "INT4 weights"),
    QT_TRANSLATE_NOOP("Faults", "is not a list of token ids"),
    QT_TRANSLATE_NOOP("Faults", "names a token twice"),
    QT_TRANSLATE_NOOP("Faults", "cannot be read ({})"),
    QT_TRANSLATE_NOOP("Faults", "{} is free"),
    QT_TRANSLATE_NOOP("Faults", "{} has {}"),
    QT_TRANSLATE_NOOP("Faults", "{} does not have the content it was exported with"),
    QT_TRANSLATE_NOOP("Faults", "{} cannot be read ({})"),
    QT_TRANSLATE_NOOP("Faults", "{} is missing"),
    QT_TRANSLATE_NOOP("Faults", "{} has {} bytes instead of {}"),
    QT_TRANSLATE_NOOP("Faults", "id {} is {} here and {} there"),
    QT_TRANSLATE_NOOP("Faults", " on page {}"),
    QT_TRANSLATE_NOOP("Faults", "known are {}"),
    QT_TRANSLATE_NOOP("Faults", "none is known yet"),
    QT_TRANSLATE_NOOP("Faults", "is damaged ({})"),
    QT_TRANSLATE_NOOP("Faults", "was built for another vocabulary than that of {}"),
    QT_TRANSLATE_NOOP("Faults", "{} of {} results are not numbers"),
    QT_TRANSLATE_NOOP("Faults", "results differ from exact ones by {} nats, more than {}"),
    QT_TRANSLATE_NOOP("Faults", "it ended the process that tried it ({})"),
    QT_TRANSLATE_NOOP("Faults", "it gave no sign for {} seconds"),
    QT_TRANSLATE_NOOP("Faults", "the device refuses it ({})"),
    QT_TRANSLATE_NOOP("Faults", "it gave results that are not numbers"),
    QT_TRANSLATE_NOOP("Faults", "it could not be tried"),
    QT_TRANSLATE_NOOP("Faults", "starting"),
    QT_TRANSLATE_NOOP("Faults", "loading the model"),
    QT_TRANSLATE_NOOP("Faults", "reading the message"),
    QT_TRANSLATE_NOOP("Faults", "writing the answer"),
    QT_TRANSLATE_NOOP("Faults", "measuring"),
)
