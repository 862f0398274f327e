<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en">
<context>
    <name>Faults</name>
    <message>
        <source>{} is an EAGLE-3 head, which only OpenVINO GenAI can use: leave out --engine headstart.</source>
        <translation>{} is an EAGLE-3 head, which only OpenVINO GenAI can use: set “Engine” to “Automatic”.</translation>
    </message>
    <message>
        <source>An NPU compiles a fixed prompt length in, while Headstart&apos;s own engine feeds passes of any length: leave out --engine headstart, or use --device CPU.</source>
        <translation>An NPU compiles a fixed prompt length in, while Headstart&apos;s own engine feeds passes of any length: set “Engine” to “Automatic”, or “Device” to CPU.</translation>
    </message>
    <message>
        <source>Exact numerics need keys and values in 16 bits: leave out --kv-precision u8.</source>
        <translation>Exact numerics need keys and values in 16 bits: set “Keys and values” to “Automatic”.</translation>
    </message>
    <message>
        <source>The conversation has {} tokens, but the NPU was compiled for prompts of at most {}: start a new chat, shorten the text, or load it with a longer --context.</source>
        <translation>The conversation has {} tokens, but the NPU was compiled for prompts of at most {}: start a new chat, shorten the text, or load the model again with a longer “Context”.</translation>
    </message>
    <message>
        <source>The conversation has {} tokens, but the context holds {}: start a new chat, shorten the text, or load the model with a longer --context.</source>
        <translation>The conversation has {} tokens, but the context holds {}: start a new chat, shorten the text, or load the model again with a longer “Context”.</translation>
    </message>
    <message>
        <source>OpenVINO GenAI garbles sampled answers when a draft model guesses ahead (its issue 4190): {remedy}, --temperature 0 or --speculation off.</source>
        <translation>OpenVINO GenAI garbles sampled answers when a draft model guesses ahead (its issue 4190): {remedy}, “Temperature” to 0, or “Speculation” to “Off”.</translation>
    </message>
    <message>
        <source>OpenVINO GenAI makes unlikely tokens likelier by presence and frequency penalties: {remedy}, or --repetition-penalty.</source>
        <translation>OpenVINO GenAI makes unlikely tokens likelier by presence and frequency penalties: {remedy}, or use “Repetition penalty” instead.</translation>
    </message>
    <message>
        <source>OpenVINO GenAI cannot bound its guesses under a confidence threshold, and sixty in one round were seen: {remedy}, or --num-assistant-tokens alone.</source>
        <translation>OpenVINO GenAI cannot bound its guesses under a confidence threshold, and sixty in one round were seen: {remedy}, or set “Assistant tokens” alone.</translation>
    </message>
    <message>
        <source>An NPU takes no guesses from the text: use a draft model, or --speculation off.</source>
        <translation>An NPU takes no guesses from the text: choose a draft model, or set “Speculation” to “Off”.</translation>
    </message>
    <message>
        <source>An NPU needs a context of at least {} tokens, not {}: use another --context.</source>
        <translation>An NPU needs a context of at least {} tokens, not {}: set another “Context”.</translation>
    </message>
    <message>
        <source>An NPU computes with symmetric weights, but {} has {}: export it with --weights int4-sym, or use --device CPU.</source>
        <translation>An NPU computes with symmetric weights, but {} has {}: export it with “Weights” at INT4-SYM, or set “Device” to CPU.</translation>
    </message>
    <message>
        <source>With an NPU, model and draft run on it together: leave out --draft-device.</source>
        <translation>With an NPU, model and draft run on it together: set “Device of the draft” to “Automatic”.</translation>
    </message>
    <message>
        <source>An NPU has arithmetic of its own: leave out --numerics exact, or use --device CPU.</source>
        <translation>An NPU has arithmetic of its own: set “Numerics” to “Fast”, or “Device” to CPU.</translation>
    </message>
    <message>
        <source>An NPU decides itself how it keeps keys and values: leave out --kv-precision.</source>
        <translation>An NPU decides itself how it keeps keys and values: set “Keys and values” to “Automatic”.</translation>
    </message>
    <message>
        <source>An address must not hold a password; give the key with --key instead.</source>
        <translation>An address must not hold a password; give the key under “Key” instead.</translation>
    </message>
    <message>
        <source>{} is damaged; `headstart serve --new-key` writes it anew.</source>
        <translation>{} is damaged; “New key” writes it anew.</translation>
    </message>
    <message>
        <source>{} cannot be read ({}); `headstart serve --new-key` writes it anew.</source>
        <translation>{} cannot be read ({}); “New key” writes it anew.</translation>
    </message>
    <message>
        <source>{} port {} cannot be used ({}): choose others with --host and --port.</source>
        <translation>{} port {} cannot be used ({}): choose another “Port”.</translation>
    </message>
    <message>
        <source>{} exists already; add --force to replace it, or choose another --output.</source>
        <translation>{} exists already; remove that model first, then export it again.</translation>
    </message>
    <message>
        <source>{} exists and is not an exported model, so it is not replaced; choose another --output.</source>
        <translation>{} exists and is not an exported model, so it is not replaced; move it elsewhere.</translation>
    </message>
    <message>
        <source>{} cannot be written to ({}); choose another --output.</source>
        <translation>{} cannot be written to ({}); make that folder writable for you.</translation>
    </message>
    <message>
        <source>{} is in use; close what uses it and run the command again.</source>
        <translation>{} is in use; close what uses it and export it again.</translation>
    </message>
    <message>
        <source>Exporting {} needs {} of disk space at {}, but only {} is free; make room, or choose another --output.</source>
        <translation>Exporting {} needs {} of disk space at {}, but only {} is free; make room there.</translation>
    </message>
    <message>
        <source>The disk at {} became full; nothing half done was left. Make room and run the command again: what was fetched is kept.</source>
        <translation>The disk at {} became full; nothing half done was left. Make room and export it again: what was fetched is kept.</translation>
    </message>
    <message>
        <source>{} wants to run Python code of its own ({} in {}), which is refused; if you have read that code and trust it, add --trust-remote-code.</source>
        <translation>{} wants to run Python code of its own ({} in {}), which is refused; choose another model.</translation>
    </message>
    <message>
        <source>Something unexpected happened ({}: {}); nothing half done was left. Add --verbose to see where, and report it.</source>
        <translation>Something unexpected happened ({}: {}); nothing half done was left. Try again, and report it if it comes back.</translation>
    </message>
    <message>
        <source>These weights cannot be compressed to {} ({}); try another --weights.</source>
        <translation>These weights cannot be compressed to {} ({}); try others under “Weights”.</translation>
    </message>
    <message>
        <source>{} is an EAGLE-3 head, no model by itself: name its target, and it with --draft.</source>
        <translation>{} is an EAGLE-3 head, no model by itself: name its target under “Model”, and it under “Draft”.</translation>
    </message>
    <message>
        <source>{} is the recipe of a pair: it names both models, so --draft does not fit.</source>
        <translation>{} is the recipe of a pair: it names both models, so leave “Draft” empty.</translation>
    </message>
    <message>
        <source>The target cannot write the texts whose tokens are counted ({}); --draft-vocab full does without.</source>
        <translation>The target cannot write the texts whose tokens are counted ({}); export both models one by one, which does without.</translation>
    </message>
    <message>
        <source>{} did not arrive within {} minutes; run the command again to go on from here.</source>
        <translation>{} did not arrive within {} minutes; export it again to go on from here.</translation>
    </message>
    <message>
        <source>The package {} is damaged ({}) and was deleted; run the command again to fetch it anew.</source>
        <translation>The package {} is damaged ({}) and was deleted; export it again to fetch it anew.</translation>
    </message>
    <message>
        <source>{} is not what was expected: {}. It was deleted; run the command again.</source>
        <translation>{} is not what was expected: {}. It was deleted; export it again.</translation>
    </message>
    <message>
        <source>Encrypted chat histories need packages that are not installed: pip install {}, then start Headstart again.</source>
        <translation>Encrypted chat histories need packages that are not installed: install {} with pip, then start Headstart again.</translation>
    </message>
    <message>
        <source>{} reads blank space before a digit, as in a list, as wrong tokens, which makes its answers worse; export it again with {command}.</source>
        <translation>{} reads blank space before a digit, as in a list, as wrong tokens, which makes its answers worse; export it again on the page of models.</translation>
    </message>
    <message>
        <source>use --engine headstart</source>
        <translation>set “Engine” to “Headstart”</translation>
    </message>
    <message>
        <source>use --device CPU</source>
        <translation>set “Device” to CPU</translation>
    </message>
    <message>
        <source>{} refuses {} ({}). Try --device CPU.</source>
        <translation>{} refuses {} ({}). Try it with “Device” set to CPU.</translation>
    </message>
    <message>
        <source>{} cannot be loaded ({}). Export it again with headstart-export.</source>
        <translation>{} cannot be loaded ({}). Export it again on the page of models.</translation>
    </message>
    <message>
        <source>{} is damaged: {faults}. Export it again with headstart-export.</source>
        <translation>{} is damaged: {faults}. Export it again on the page of models.</translation>
    </message>
    <message>
        <source>{} is damaged: {faults}; export it again with headstart-export.</source>
        <translation>{} is damaged: {faults}; export it again on the page of models.</translation>
    </message>
    <message>
        <source>{} is not a Headstart model: {} is missing; export it with headstart-export.</source>
        <translation>{} is not a Headstart model: {} is missing; export it on the page of models.</translation>
    </message>
    <message>
        <source>There is no model {}: none is installed yet; run {command} to get a small one.</source>
        <translation>There is no model {}: none is installed yet.</translation>
    </message>
    <message>
        <source>No model is installed yet; run {command} to get a small one.</source>
        <translation>No model is installed yet.</translation>
    </message>
    <message>
        <source>{} is on another computer and can only chat; choose a model of `headstart models`.</source>
        <translation>{} is on another computer and can only chat; choose a model that is on this one.</translation>
    </message>
    <message>
        <source>{} does not tell its models at {}/models; check the address (it often ends in /v1), or name a model: remote:{}/MODEL.</source>
        <translation>{} does not tell its models at {}/models; check the address (it often ends in /v1), or add {} again with a name under “Model”.</translation>
    </message>
    <message>
        <source>{} has these models: {}; name one of them: remote:{}/MODEL.</source>
        <translation>{} has these models: {}; add {} again with one of them under “Model”.</translation>
    </message>
    <message>
        <source>The certificate of {} at {} is not trusted ({}); if it is your own, add the server again with --certificate FILE, the authority that signed it.</source>
        <translation>The certificate of {} at {} is not trusted ({}); if it is your own, add the server again with the authority that signed it under “Certificate”.</translation>
    </message>
    <message>
        <source>{} refuses the key{}; give another one with {command}.</source>
        <translation>{} refuses the key{}; add the server again with another “Key”.</translation>
    </message>
    <message>
        <source>{} wants a key{}; give it with {command}.</source>
        <translation>{} wants a key{}; add the server again with its “Key”.</translation>
    </message>
    <message>
        <source>{} does not know the model {}; {command} lists what it has.</source>
        <translation>{} does not know the model {}; add the server again with one that it has under “Model”.</translation>
    </message>
    <message>
        <source>There is no server {}; {known}. Add it with {command}.</source>
        <translation>There is no server {}; {known}. Add it on the page of models.</translation>
    </message>
    <message>
        <source>Others may read the key in {}: run {command}, and change the key.</source>
        <translation>Others may read the key in {}: make that file readable for you alone, and change the key.</translation>
    </message>
    <message>
        <source>There is no device {} here; present: {}. Choose one with {option}; `headstart doctor` says what speaks against a {}.</source>
        <translation>There is no device {} here; present: {}. Choose one with {option}. If this computer has a {}, its driver is missing or closed to you.</translation>
    </message>
    <message>
        <source>--device</source>
        <translation>“Device”</translation>
    </message>
    <message>
        <source>--draft-device</source>
        <translation>“Device of the draft”</translation>
    </message>
    <message>
        <source>{} {fault}; build it again with headstart-export bigram.</source>
        <translation>{} {fault}; export the model again on the page of models.</translation>
    </message>
    <message>
        <source>ask again, or use --engine headstart</source>
        <translation>ask again, or set “Engine” to “Headstart”</translation>
    </message>
    <message>
        <source>ask again, or use --device CPU</source>
        <translation>ask again, or set “Device” to CPU</translation>
    </message>
    <message>
        <source>load the model with a smaller --context</source>
        <translation>load the model with a smaller “Context”</translation>
    </message>
</context>
</TS>
