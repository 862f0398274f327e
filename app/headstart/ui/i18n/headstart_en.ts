<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en">
<context>
    <name>Faults</name>
    <message>
        <source>--device</source>
        <translation>“Device”</translation>
    </message>
    <message>
        <source>--draft-device</source>
        <translation>“Draft device”</translation>
    </message>
    <message>
        <source>--from belongs to the recipe of one model, which {source!r} is not; of a pair, name both files: `headstart-export FILE --draft FILE`.</source>
        <translation>A file in place of the download fits the recipe of one model, which {source!r} is not; for a pair, choose both files.</translation>
    </message>
    <message>
        <source>--group-size is a number of weights, such as 64, or -1 for those of a whole row.</source>
        <translation>The group size is a number of weights, such as 64, or -1 for those of a whole row.</translation>
    </message>
    <message>
        <source>--ratio is a share of the weights, above 0 and at most 1, such as 0.8.</source>
        <translation>The ratio is a share of the weights, above 0 and at most 1, such as 0.8.</translation>
    </message>
    <message>
        <source>--{option} belongs to INT4: add --weights int4.</source>
        <translation>{option} belongs to INT4: choose INT4 weights.</translation>
    </message>
    <message>
        <source>--{option} needs --draft, or the recipe of a pair.</source>
        <translation>{option} needs a draft, or the recipe of a pair.</translation>
    </message>
    <message>
        <source>An NPU compiles a fixed prompt length in, while Headstart&apos;s own engine feeds passes of any length: leave out --engine headstart, or use --device CPU.</source>
        <translation>An NPU compiles a fixed prompt length in, while Headstart&apos;s own engine feeds passes of any length: set “Engine” to “Automatic”, or “Device” to CPU.</translation>
    </message>
    <message>
        <source>An NPU computes with symmetric weights, but {name} has {weights}: export it with --weights int4-sym, or use --device CPU.</source>
        <translation>An NPU computes with symmetric weights, but {name} has {weights}: export it with “Weights” at INT4-SYM, or set “Device” to CPU.</translation>
    </message>
    <message>
        <source>An NPU decides itself how it keeps keys and values: leave out --kv-precision.</source>
        <translation>An NPU decides itself how it keeps keys and values: set “Cache precision” to “Automatic”.</translation>
    </message>
    <message>
        <source>An NPU needs a context of at least {least} tokens, not {context}: use another --context.</source>
        <translation>An NPU needs a context of at least {least} tokens, not {context}: set another “Context”.</translation>
    </message>
    <message>
        <source>An NPU takes no guesses from the text: use a draft model, or --speculation off.</source>
        <translation>An NPU takes no guesses from the text: choose a draft model, or set “Speed-up” to “Off”.</translation>
    </message>
    <message>
        <source>An address must not hold a password; give the key with --key instead.</source>
        <translation>An address must not hold a password; give the key under “Key” instead.</translation>
    </message>
    <message>
        <source>Encrypted chat histories need packages that are not installed: pip install {packages}, then start Headstart again.</source>
        <translation>Encrypted chat histories need packages that are not installed: install {packages} with pip, then start Headstart again.</translation>
    </message>
    <message>
        <source>Exporting {name} needs {wanted} of disk space at {place}, but only {free} is free; make room, or choose another --output.</source>
        <translation>Exporting {name} needs {wanted} of disk space at {place}, but only {free} is free; make room there.</translation>
    </message>
    <message>
        <source>Headstart&apos;s own engine uses the EAGLE-3 head {head} on a processor only: leave out --engine headstart, or use --device CPU.</source>
        <translation>Headstart&apos;s own engine uses the EAGLE-3 head {head} on a processor only: set “Engine” to “Automatic”, or “Device” to CPU.</translation>
    </message>
    <message>
        <source>Name what to export: a recipe, a hub id, a folder or a .gguf file (--list shows recipes).</source>
        <translation>Name what to export: a recipe, a hub id, a folder or a .gguf file.</translation>
    </message>
    <message>
        <source>No installed model can be used; `headstart models` says why.</source>
        <translation>No installed model can be used; the page of models says why.</translation>
    </message>
    <message>
        <source>No model is installed yet; run {command} to get a small one.</source>
        <translation>No model is installed yet.</translation>
    </message>
    <message>
        <source>OpenVINO GenAI cannot bound its guesses under a confidence threshold, and sixty in one round were seen: {ours}, or --num-assistant-tokens alone.</source>
        <translation>OpenVINO GenAI cannot bound its guesses under a confidence threshold, and sixty in one round were seen: {ours}, or set “Guesses per step” alone.</translation>
    </message>
    <message>
        <source>OpenVINO GenAI garbles sampled answers when a draft model guesses ahead (its issue 4190): {ours}, --temperature 0 or --speculation off.</source>
        <translation>OpenVINO GenAI garbles sampled answers when a draft model guesses ahead (its issue 4190): {ours}, “Temperature” to 0, or “Speed-up” to “Off”.</translation>
    </message>
    <message>
        <source>OpenVINO GenAI makes unlikely tokens likelier by presence and frequency penalties: {ours}, or --repetition-penalty.</source>
        <translation>OpenVINO GenAI makes unlikely tokens likelier by presence and frequency penalties: {ours}, or use “Repetition penalty” instead.</translation>
    </message>
    <message>
        <source>Others may read the key in {path}: run {command}, and change the key.</source>
        <translation>Others may read the key in {path}: make that file readable for you alone, and change the key.</translation>
    </message>
    <message>
        <source>Port {port} is taken by another program, maybe by another `headstart serve`: choose another one with --port, or --port 0 for any that is free.</source>
        <translation>Port {port} is taken by another program: choose another “Port”.</translation>
    </message>
    <message>
        <source>Port {port} may not be used by this user: choose one above 1023 with --port.</source>
        <translation>Port {port} may not be used by this user: choose a “Port” above 1023.</translation>
    </message>
    <message>
        <source>Several models are installed ({names}): choose one with --model NAME.</source>
        <translation>Several models are installed ({names}): choose one of them.</translation>
    </message>
    <message>
        <source>Something unexpected happened ({kind}: {reason}); nothing half done was left. Add --verbose to see where, and report it.</source>
        <translation>Something unexpected happened ({kind}: {reason}); nothing half done was left. Try again, and report it if it comes back.</translation>
    </message>
    <message>
        <source>The certificate of {name} at {url} is not trusted ({fault}); if it is your own, add the server again with --certificate FILE, the authority that signed it.</source>
        <translation>The certificate of {name} at {url} is not trusted ({fault}); if it is your own, add the server again with the authority that signed it under “Certificate”.</translation>
    </message>
    <message>
        <source>The conversation has {count} tokens, but the NPU was compiled for prompts of at most {prompt}: start a new chat, shorten the text, or load it with a longer --context.</source>
        <translation>The conversation has {count} tokens, but the NPU was compiled for prompts of at most {prompt}: start a new chat, shorten the text, or load the model again with a longer “Context”.</translation>
    </message>
    <message>
        <source>The conversation has {count} tokens, but the context holds {room} with the answer: start a new chat, shorten the text, or load the model with a longer --context.</source>
        <translation>The conversation has {count} tokens, but the context holds {room} with the answer: start a new chat, shorten the text, or load the model again with a longer “Context”.</translation>
    </message>
    <message>
        <source>The disk at {place} became full; nothing half done was left. Make room and run the command again: what was fetched is kept.</source>
        <translation>The disk at {place} became full; nothing half done was left. Make room and export it again: what was fetched is kept.</translation>
    </message>
    <message>
        <source>The package {package} is damaged ({error}) and was deleted; run the command again to fetch it anew.</source>
        <translation>The package {package} is damaged ({error}) and was deleted; export it again to fetch it anew.</translation>
    </message>
    <message>
        <source>The target writes no texts whose tokens could be counted; --draft-vocab full does without.</source>
        <translation>The target writes no texts whose tokens could be counted; export both models one by one, which does without.</translation>
    </message>
    <message>
        <source>There are no kernels with {isa} for this processor; leave out --isa.</source>
        <translation>There are no kernels with {isa} for this processor.</translation>
    </message>
    <message>
        <source>There is no device {device} here; present: {here}. Choose one with {option}; `headstart doctor` says why a {wanted} cannot be used.</source>
        <translation>There is no device {device} here; present: {here}. Choose one with {option}. If this computer has a {wanted}, its driver is missing or closed to you.</translation>
    </message>
    <message>
        <source>There is no model {name!r}: none is installed yet; run {command} to get a small one.</source>
        <translation>There is no model {name!r}: none is installed yet.</translation>
    </message>
    <message>
        <source>There is no server {name!r}; {there}. Add it with {command}.</source>
        <translation>There is no server {name!r}; {there}. Add it on the page of models.</translation>
    </message>
    <message>
        <source>These weights cannot be compressed to {weights} ({error}); try another --weights or --group-size.</source>
        <translation>These weights cannot be compressed to {weights} ({error}); try other weights or another group size.</translation>
    </message>
    <message>
        <source>With an NPU, model and draft run on it together: leave out --draft-device.</source>
        <translation>With an NPU, model and draft run on it together: set “Draft device” to “Automatic”.</translation>
    </message>
    <message>
        <source>ask again, or use --device CPU</source>
        <translation>ask again, or set “Device” to CPU</translation>
    </message>
    <message>
        <source>ask again, or use --engine headstart</source>
        <translation>ask again, or set “Engine” to “Headstart”</translation>
    </message>
    <message>
        <source>load the model with a smaller --context</source>
        <translation>load the model with a smaller “Context”</translation>
    </message>
    <message>
        <source>use --device CPU</source>
        <translation>set “Device” to CPU</translation>
    </message>
    <message>
        <source>use --engine headstart</source>
        <translation>set “Engine” to “Headstart”</translation>
    </message>
    <message>
        <source>{device} refuses {name} ({reason}). Try --device CPU.</source>
        <translation>{device} refuses {name} ({reason}). Try it with “Device” set to CPU.</translation>
    </message>
    <message>
        <source>{file} cannot be read ({error}); `headstart serve --new-key` makes a new one.</source>
        <translation>{file} cannot be read ({error}); “New key” writes it anew.</translation>
    </message>
    <message>
        <source>{file} is damaged; `headstart serve --new-key` makes a new one.</source>
        <translation>{file} is damaged; “New key” writes it anew.</translation>
    </message>
    <message>
        <source>{folder} cannot be loaded ({reason}). Export it again with {command}.</source>
        <translation>{folder} cannot be loaded ({reason}). Export it again on the page of models.</translation>
    </message>
    <message>
        <source>{folder} cannot be written to ({strerror}); choose another --output.</source>
        <translation>{folder} cannot be written to ({strerror}); make that folder writable for you.</translation>
    </message>
    <message>
        <source>{folder} holds an adapter ({adapter_file}); name its model, and this folder with --adapter.</source>
        <translation>{folder} holds an adapter ({adapter_file}); name its model, and this folder as the adapter.</translation>
    </message>
    <message>
        <source>{folder} is not a Headstart model: {file_name} is missing; export it with `headstart models add`.</source>
        <translation>{folder} is not a Headstart model: {file_name} is missing; export it on the page of models.</translation>
    </message>
    <message>
        <source>{folder} wants to run Python code of its own ({code_key} in {path}), which is refused; if you have read that code and trust it, add --trust-remote-code.</source>
        <translation>{folder} wants to run Python code of its own ({code_key} in {path}), which is refused; choose another model.</translation>
    </message>
    <message>
        <source>{host} can be reached from other computers: add --allow-network if that is what you want, or leave out --host to stay on this one.</source>
        <translation>{host} can be reached from other computers: allow that, or use the address of this one.</translation>
    </message>
    <message>
        <source>{host} port {port} cannot be used ({strerror}): choose others with --host and --port.</source>
        <translation>{host} port {port} cannot be used ({strerror}): choose another “Port”.</translation>
    </message>
    <message>
        <source>{name} always thinks before it answers: ask for less of it, with the effort `low`.</source>
        <translation>{name} always thinks before it answers: set “Thinking” to Automatic.</translation>
    </message>
    <message>
        <source>{name} and the source are not both a pair; name the recipe of the pair, or its two sources with --against and --draft.</source>
        <translation>{name} and the source are not both a pair; name the recipe of the pair, or its two sources.</translation>
    </message>
    <message>
        <source>{name} does not know the model {model!r}{in_brackets}; {command} lists what it has.</source>
        <translation>{name} does not know the model {model!r}{in_brackets}; add the server again with one that it has under “Model”.</translation>
    </message>
    <message>
        <source>{name} does not list its models at {url}/models; check the address (it often ends in /v1), or name a model: remote:{name}/MODEL.</source>
        <translation>{name} does not list its models at {url}/models; check the address (it often ends in /v1), or add {name} again with a name under “Model”.</translation>
    </message>
    <message>
        <source>{name} fits into the memory in 4 bits only, and agrees so with its source on {agreement} of the tokens, below {floor}; close other programs, take another model, or take it all the same with --weights int4.</source>
        <translation>{name} fits into the memory in 4 bits only, and agrees so with its source on {agreement} of the tokens, below {floor}; close other programs, or take another model.</translation>
    </message>
    <message>
        <source>{name} has the blocks of its GGUF file, which OpenVINO GenAI cannot read: {ours}, or export it again with --weights int8.</source>
        <translation>{name} has the blocks of its GGUF file, which OpenVINO GenAI cannot read: {ours}, or export it again in INT8.</translation>
    </message>
    <message>
        <source>{name} has these models: {names}; name one of them: remote:{name}/MODEL.</source>
        <translation>{name} has these models: {names}; add {name} again with one of them under “Model”.</translation>
    </message>
    <message>
        <source>{name} is a model of the kind {kind!r}, which cannot be exported; take {recipe}, or another of a kind that {command} names.</source>
        <translation>{name} is a model of the kind {kind!r}, which cannot be exported; choose {recipe} instead.</translation>
    </message>
    <message>
        <source>{name} is a picture, and no model that reads text in pictures is installed; get PP-OCRv6 on the page of models (`headstart models add pp-ocrv6`), then attach it again.</source>
        <translation>{name} is a picture, and no model that reads text in pictures is installed; get PP-OCRv6 on the page of models, then attach it again.</translation>
    </message>
    <message>
        <source>{name} is a recording, and no model that writes down speech is installed; get Whisper on the page of models (`headstart models add whisper-base`), then attach it again.</source>
        <translation>{name} is a recording, and no model that writes down speech is installed; get Whisper on the page of models, then attach it again.</translation>
    </message>
    <message>
        <source>{name} is damaged: {faults}; export it again with {command}.</source>
        <translation>{name} is damaged: {faults}; export it again on the page of models.</translation>
    </message>
    <message>
        <source>{name} is damaged: {names}. Export it again with {command}.</source>
        <translation>{name} is damaged: {names}. Export it again on the page of models.</translation>
    </message>
    <message>
        <source>{name} is on another computer and can only chat; choose a model of `headstart models`.</source>
        <translation>{name} is on another computer and can only chat; choose a model that is on this one.</translation>
    </message>
    <message>
        <source>{name} keeps the blocks of a GGUF file, which OpenVINO Model Server does not know; export it with --weights int8, and a draft with --draft-weights int8.</source>
        <translation>{name} keeps the blocks of a GGUF file, which OpenVINO Model Server does not know; export it with INT8 weights.</translation>
    </message>
    <message>
        <source>{name} of {source} is not the file that commit {revision} had when it was exported before; empty the hub&apos;s cache and try again, or name another --output if the new one is to be trusted.</source>
        <translation>{name} of {source} is not the file that commit {revision} had when it was exported before; empty the hub&apos;s cache and try again, or remove that model first if the new one is to be trusted.</translation>
    </message>
    <message>
        <source>{name} refuses the key{in_brackets}; give another one with {command}.</source>
        <translation>{name} refuses the key{in_brackets}; add the server again with another “Key”.</translation>
    </message>
    <message>
        <source>{name} wants a key{in_brackets}; give it with {command}.</source>
        <translation>{name} wants a key{in_brackets}; add the server again with its “Key”.</translation>
    </message>
    <message>
        <source>{name} was exported with {made}; name the same with --adapter.</source>
        <translation>{name} was exported with {made}; name the same adapter.</translation>
    </message>
    <message>
        <source>{order} guesses among the tokens that it was made for: leave out --draft-vocab.</source>
        <translation>{order} guesses among the tokens that it was made for: name no others.</translation>
    </message>
    <message>
        <source>{order} is an EAGLE-3 head, no model by itself: name its target, and it with --draft.</source>
        <translation>{order} is an EAGLE-3 head, no model by itself: name its target under “Model”, and it under “Draft model”.</translation>
    </message>
    <message>
        <source>{output} exists already; add --force to replace it, or choose another --output.</source>
        <translation>{output} exists already; remove that model first, then export it again.</translation>
    </message>
    <message>
        <source>{output} exists and is not an exported model, so it is not replaced; choose another --output.</source>
        <translation>{output} exists and is not an exported model, so it is not replaced; move it elsewhere.</translation>
    </message>
    <message>
        <source>{output} is being exported already, by process {pid}; wait until that ends, or choose another --output.</source>
        <translation>{output} is being exported already, by process {pid}; wait until that ends.</translation>
    </message>
    <message>
        <source>{output} is in use; close what uses it and run the command again.</source>
        <translation>{output} is in use; close what uses it and export it again.</translation>
    </message>
    <message>
        <source>{package} did not arrive within {limit} minutes; run the command again to go on from here.</source>
        <translation>{package} did not arrive within {limit} minutes; export it again to go on from here.</translation>
    </message>
    <message>
        <source>{pair} is the recipe of a pair: it names both models, so --draft does not fit.</source>
        <translation>{pair} is the recipe of a pair: it names both models, so leave “Draft model” empty.</translation>
    </message>
    <message>
        <source>{path} holds pictures but no text, and no model that reads text in pictures is installed; it can be read once you get PP-OCRv6 on the page of models (`headstart models add pp-ocrv6`).</source>
        <translation>{path} holds pictures but no text, and no model that reads text in pictures is installed; it can be read once you get PP-OCRv6 on the page of models.</translation>
    </message>
    <message>
        <source>{path} holds pictures of pages but no text, as scans do, and no model that reads text in pictures is installed; it can be read once you get PP-OCRv6 on the page of models (`headstart models add pp-ocrv6`).</source>
        <translation>{path} holds pictures of pages but no text, as scans do, and no model that reads text in pictures is installed; it can be read once you get PP-OCRv6 on the page of models.</translation>
    </message>
    <message>
        <source>{path} of --template cannot be read ({error}).</source>
        <translation>{path}, the file of the chat template, cannot be read ({error}).</translation>
    </message>
    <message>
        <source>{path} of --template is no file; name one with a chat template.</source>
        <translation>{path} is no file; choose one with a chat template.</translation>
    </message>
    <message>
        <source>{source} asks for your consent: accept its licence on huggingface.co, and log in with `hf auth login`</source>
        <translation>{source} asks for your consent: accept its licence on huggingface.co, and log in with the hub’s program</translation>
    </message>
    <message>
        <source>{source} must be exported first, and the exporter is not installed; run: {command}</source>
        <translation>{source} must be exported first, and the exporter is not installed.</translation>
    </message>
    <message>
        <source>{title} is not what was expected: the joined file has the SHA-256 {found} instead of {wanted}. It was deleted; run the command again.</source>
        <translation>{title} is not what was expected: the joined file has the SHA-256 {found} instead of {wanted}. It was deleted; export it again.</translation>
    </message>
</context>
</TS>
