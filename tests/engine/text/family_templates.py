# ruff: noqa: E501 - lines of templates
"""Chat templates in the manner of well-known families of models: their marks, their checks, their forms of calls."""

_CHATML = "{{- '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}"
_ASK_CHATML = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"

FAMILIES = {
    "chatml": "{% for m in messages %}" + _CHATML + "{% endfor %}" + _ASK_CHATML,
    "llama-2": """{% if messages[0]['role'] == 'system' %}
{% set about, turns = '<<SYS>>\\n' + messages[0].content.strip() + '\\n<</SYS>>\\n\\n', messages[1:] %}
{% else %}{% set about, turns = '', messages %}{% endif %}
{%- for m in turns %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('Roles must alternate') }}{% endif %}
{% if m.role == 'user' %}{{ bos_token + '[INST] ' + (about if loop.first else '') + m.content.strip() + ' [/INST]' }}
{%- elif m.role == 'assistant' %}{{ ' ' ~ m.content | trim ~ ' ' ~ eos_token }}{% endif %}{% endfor %}""",
    "llama-3": """{{- bos_token }}
{%- if not date_string is defined %}{%- set date_string = strftime_now('%d %b %Y') %}{%- endif %}
{%- if messages[0]['role'] == 'system' %}{%- set about = messages[0]['content'] | trim %}{%- set messages = messages[1:] %}
{%- else %}{%- set about = '' %}{%- endif %}
{{- '<|start_header_id|>system<|end_header_id|>\\n\\nToday: ' + date_string + '\\n\\n' + about + '<|eot_id|>' }}
{%- if tools is not none and tools %}{%- for t in tools %}{{- t | tojson(indent=4) }}{{- '\\n\\n' }}{%- endfor %}{%- endif %}
{%- for message in messages %}
{%- if message.role in ['ipython', 'tool'] %}{{- '<|start_header_id|>ipython<|end_header_id|>\\n\\n' }}
{%- if message.content is mapping or message.content is iterable and message.content is not string %}
{{- message.content | tojson }}{%- else %}{{- message.content }}{%- endif %}{{- '<|eot_id|>' }}
{%- elif 'tool_calls' in message %}
{%- if not message.tool_calls | length == 1 %}{{- raise_exception('One call at a time') }}{%- endif %}
{%- set call = message.tool_calls[0].function %}
{{- '{"name": "' + call.name + '", "parameters": ' }}{{- call.arguments | tojson }}{{- '}<|eot_id|>' }}
{%- else %}{{- '<|start_header_id|>' ~ message.role ~ '<|end_header_id|>\\n\\n' ~ message.content | trim ~ '<|eot_id|>' }}
{%- endif %}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{%- endif %}""",
    "llama-4": """{%- macro calls(list) %}[{%- for c in list %}{{ c.function.name }}(
{%- for k, v in c.function.arguments.items() %}{{ k }}={{ v | tojson }}{{ ', ' if not loop.last }}{%- endfor %})
{{- ', ' if not loop.last }}{%- endfor %}]{%- endmacro %}
{{- bos_token }}{%- for m in messages %}<|header_start|>{{ m.role }}<|header_end|>

{% if m.content is string %}{{ m.content }}{% else %}{% for part in m.content or [] %}
{% if part.type == 'image' %}<|image|>{% elif part.type == 'text' %}{{ part.text | trim }}{% endif %}{% endfor %}{% endif %}
{%- if m.tool_calls %}{{ calls(m.tool_calls) }}{% endif %}<|eot|>{%- endfor %}""",
    "mistral": """{%- set ns = namespace(index=0, last=-1) %}
{%- for m in messages if m.role == 'user' %}{%- set ns.last = ns.last + 1 %}{%- endfor %}
{%- set user_messages = messages | selectattr('role', 'equalto', 'user') | list %}
{{- bos_token }}{%- for m in messages %}
{%- if m.role == 'user' %}{%- if tools and m == user_messages[-1] %}{{- '[AVAILABLE_TOOLS] [' }}
{%- for tool in tools %}{%- set tool = tool.function %}{{- '{"type": "function", "function": {' }}
{%- for key, val in tool.items() if key != 'return' %}{%- if val is string %}{{- '"' + key + '": "' + val + '"' }}
{%- else %}{{- '"' + key + '": ' + val | tojson }}{%- endif %}{%- if not loop.last %}{{- ', ' }}{%- endif %}{%- endfor %}
{{- '}}' }}{{- ', ' if not loop.last else ']' }}{%- endfor %}{{- '[/AVAILABLE_TOOLS]' }}{%- endif %}
{{- '[INST] ' + m.content + '[/INST]' }}
{%- elif m.tool_calls is defined and m.tool_calls is not none %}{{- '[TOOL_CALLS] [' }}
{%- for c in m.tool_calls %}{%- set out = c.function | tojson %}{{- out[:-1] }}
{%- if not c.id is defined or c.id | length != 9 %}{{- raise_exception('Ids have nine characters') }}{%- endif %}
{{- ', "id": "' + c.id + '"}' }}{{- ', ' if not loop.last else ']' + eos_token }}{%- endfor %}
{%- elif m.role == 'tool' %}{{- '[TOOL_RESULTS] {"content": ' + m.content | string + '}[/TOOL_RESULTS]' }}
{%- else %}{{- ' ' + m.content | trim + eos_token }}{%- endif %}{%- endfor %}""",
    "gemma-2": """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}
{% endif %}{% for message in messages %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}
{% set role = message['role'] %}{% endif %}
{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}
{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}""",
    "gemma-3": """{{ bos_token }}{%- if messages[0].role == 'system' -%}
{%- set first = messages[0].content + '\\n\\n' if messages[0].content is string else messages[0].content[0].text -%}
{%- set turns = messages[1:] -%}{%- else -%}{%- set first = '' -%}{%- set turns = messages -%}{%- endif -%}
{%- for m in turns -%}{{ '<start_of_turn>' ~ ('model' if m.role == 'assistant' else m.role) ~ '\\n' ~ (first if loop.first) }}
{%- if m.content is string -%}{{ m.content | trim }}{%- elif m.content is iterable -%}
{%- for item in m.content -%}{{ '<start_of_image>' if item.type == 'image' else item['text'] | trim }}{%- endfor -%}
{%- else -%}{{ raise_exception('Invalid content type') }}{%- endif -%}{{ '<end_of_turn>\\n' }}{%- endfor -%}""",
    "gemma-3-tools": """{{ bos_token }}{%- set functions -%}{%- for t in tools or [] %}
def {{ t.function.name }}({{ (t.function.parameters.properties or {}) | join(', ') }}): \'{{ t.function.description }}\'
{%- endfor %}{%- endset -%}{%- for m in messages -%}
{{ '<start_of_turn>' ~ ('model' if m.role == 'assistant' else 'user') ~ '\\n' }}
{%- if loop.first and tools %}{{ 'Call functions in ```tool_code blocks.\\n' ~ functions ~ '\\n\\n' }}{%- endif -%}
{%- if m.role == 'tool' %}{{ '```tool_output\\n' ~ m.content ~ '\\n```' }}{%- else %}{{ m.content | trim }}{%- endif -%}
{%- if m.tool_calls %}{{ '```tool_code\\n' }}{%- for c in m.tool_calls -%}{{ c.function.name ~ '(' }}
{%- for k, v in c.function.arguments.items() -%}{{ k ~ '=' ~ ("'" ~ v ~ "'" if v is string else v) ~ (', ' if not loop.last else '') }}
{%- endfor -%}{{ ')' ~ ('\\n' if not loop.last else '') }}{%- endfor -%}{{ '\\n```' }}{%- endif -%}
{{ '<end_of_turn>\\n' }}{%- endfor -%}{%- if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{%- endif %}""",
    "gemma-4": """{%- macro typed(v) -%}{%- if v is string -%}<|"|>{{ v }}<|"|>{%- elif v is boolean -%}
{{ 'true' if v else 'false' }}{%- elif v is mapping -%}{ {%- for k, w in v | dictsort -%}{{ k }}:{{ typed(w) }}
{{- ',' if not loop.last }}{%- endfor -%} }{%- elif v is sequence -%}[{%- for w in v -%}{{ typed(w) }}
{{- ',' if not loop.last }}{%- endfor -%}]{%- else -%}{{ v }}{%- endif -%}{%- endmacro -%}
{{ bos_token }}{%- for t in tools or [] -%}<|tool>declaration:{{ t.function.name }}{{ typed(t.function) }}<tool|>{%- endfor -%}
{%- for m in messages -%}<|turn>{{ m.role }}
{% for c in m.tool_calls or [] -%}<|tool_call>call:{{ c.function.name }}{{ typed(c.function.arguments) }}<tool_call|>{%- endfor -%}
{{ (m.content or '').split('<|channel>')[-1] | trim }}<turn|>
{% endfor -%}""",
    "phi-3": """{% for m in messages %}{% if m.role == 'system' %}{{ '<|system|>\\n' + m.content + '<|end|>\\n' }}
{%- elif m.role == 'user' %}{{ '<|user|>\\n' + m.content + '<|end|>\\n' }}
{%- elif m.role == 'assistant' %}{{ '<|assistant|>\\n' + m.content + '<|end|>\\n' }}{% endif %}{% endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% else %}{{ eos_token }}{% endif %}""",
    "phi-4": """{% for m in messages %}{% if m.role == 'system' and 'tools' in m and m.tools is not none %}
{{ '<|system|>' + m.content + '<|tool|>' + m.tools + '<|/tool|><|end|>' }}
{%- else %}{{ '<|' + m.role + '|>' + m.content + '<|end|>' }}{% endif %}{% endfor %}""",
    "deepseek-2": """{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}
{{ bos_token }}{% for m in messages %}{% if m['role'] == 'user' %}{{ 'User: ' + m['content'] + '\n\n' }}
{%- elif m['role'] == 'assistant' %}{{ 'Assistant: ' + m['content'] + eos_token }}
{%- elif m['role'] == 'system' %}{{ m['content'] + '\n\n' }}{% endif %}{% endfor %}
{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}""",
    "deepseek-r1": """{% set ns = namespace(is_first=false, is_tool=false, system='', is_first_sp=true) %}
{%- for m in messages %}{%- if m.role == 'system' %}{%- if ns.is_first_sp %}{% set ns.system = ns.system + m.content %}
{%- set ns.is_first_sp = false %}{%- else %}{% set ns.system = ns.system + '\\n\\n' + m.content %}{%- endif %}{%- endif %}
{%- endfor %}{{ bos_token }}{{ ns.system }}
{%- for m in messages %}{%- if m.role == 'user' %}{%- set ns.is_tool = false %}{{ '<｜User｜>' + m.content }}{%- endif %}
{%- if m.role == 'assistant' and m.tool_calls %}{%- set ns.is_first = false %}{%- for call in m.tool_calls %}
{%- if not ns.is_first %}{{ '<｜Assistant｜><｜tool▁calls▁begin｜>' }}{%- set ns.is_first = true %}{%- endif %}
{{- call.function.name + '\\n```json\\n' + call.function.arguments + '\\n```' }}{%- endfor %}
{%- elif m.role == 'assistant' %}{%- set content = m.content %}
{%- if '</think>' in content %}{%- set content = content.split('</think>')[-1] %}{%- endif %}
{{- '<｜Assistant｜>' + content + '<｜end▁of▁sentence｜>' }}{%- elif m.role == 'tool' %}{%- set ns.is_tool = true %}
{{- '<｜tool▁output▁begin｜>' + m.content }}{%- endif %}{%- endfor -%}
{% if ns.is_tool %}{{ '<｜tool▁outputs▁end｜>' }}{% endif %}{% if add_generation_prompt and not ns.is_tool %}
{{- '<｜Assistant｜><think>\\n' }}{% endif %}""",
    "qwen-2.5": """{%- if tools %}{{- '<|im_start|>system\\n' }}
{%- if messages[0]['role'] == 'system' %}{{- messages[0]['content'] }}{%- else %}{{- 'You are a helper.' }}{%- endif %}
{{- "\\n\\n# Tools\\n<tools>" }}{%- for tool in tools %}{{- "\\n" }}{{- tool | tojson }}{%- endfor %}
{{- "\\n</tools>{\\"name\\": <function-name>}<|im_end|>\\n" }}{%- endif %}
{%- for message in messages %}
{%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
{%- elif message.role == "assistant" %}{{- '<|im_start|>' + message.role }}
{%- if message.content %}{{- '\\n' + message.content }}{%- endif %}
{%- for tool_call in message.tool_calls %}{%- if tool_call.function is defined %}{%- set tool_call = tool_call.function %}
{%- endif %}{{- '\\n<tool_call>\\n{"name": "' }}{{- tool_call.name }}{{- '", "arguments": ' }}
{{- tool_call.arguments | tojson }}{{- '}\\n</tool_call>' }}{%- endfor %}{{- '<|im_end|>\\n' }}
{%- elif message.role == "tool" %}
{%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}{{- '<|im_start|>user' }}{%- endif %}
{{- '\\n<tool_response>\\n' }}{{- message.content }}{{- '\\n</tool_response>' }}
{%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}{{- '<|im_end|>\\n' }}{%- endif %}{%- endif %}
{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}""",
    "qwen-3": """{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}{%- set index = (messages|length - 1) - loop.index0 %}
{%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
{%- set ns.multi_step_tool = false %}{%- set ns.last_query_index = index %}{%- endif %}{%- endfor %}
{%- for message in messages %}{%- set content = message.content if message.content is string else '' %}
{%- if message.role == "assistant" %}{%- set reasoning_content = '' %}
{%- if message.reasoning_content is string %}{%- set reasoning_content = message.reasoning_content %}
{%- elif '</think>' in content %}
{%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
{%- set content = content.split('</think>')[-1].lstrip('\\n') %}{%- endif %}
{%- if loop.index0 > ns.last_query_index and (loop.last or (not loop.last and reasoning_content)) %}
{{- '<|im_start|>assistant\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
{%- else %}{{- '<|im_start|>assistant\\n' + content }}{%- endif %}{{- '<|im_end|>\\n' }}
{%- else %}{{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>\\n' }}{%- endif %}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}""",
    "qwen-3-coder": """{% macro render_extra_keys(json_dict, handled) %}{%- if json_dict is mapping %}
{%- for json_key in json_dict if json_key not in handled %}
{%- if json_dict[json_key] is string %}{{ '\\n<' ~ json_key ~ '>' ~ json_dict[json_key] ~ '</' ~ json_key ~ '>' }}
{%- else %}{{- '\\n<' ~ json_key ~ '>' ~ (json_dict[json_key] | tojson | safe) ~ '</' ~ json_key ~ '>' }}{%- endif %}
{%- endfor %}{%- endif %}{%- endmacro %}
{%- for tool in tools or [] %}{%- set tool = tool.function if tool.function is defined else tool %}
{{- '<function>\\n<name>' ~ tool.name ~ '</name>' }}
{%- for name, fields in (tool.parameters.properties or {}) | items %}{{ '\\n<parameter>' ~ name }}
{{- render_extra_keys(fields, ['name', 'type']) }}{{ '</parameter>' }}{%- endfor %}{{ '</function>' }}{%- endfor %}
{%- for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + (m.content or '') }}
{%- for call in m.tool_calls or [] %}{{ '\\n<tool_call>\\n<function=' + call.function.name + '>\\n' }}
{%- for name, value in call.function.arguments | items %}{{ '<parameter=' + name + '>\\n' }}
{%- set value = value if value is string else value | tojson %}{{ value }}{{ '\\n</parameter>\\n' }}{%- endfor %}
{{- '</function>\\n</tool_call>' }}{%- endfor %}{{ '<|im_end|>\\n' }}{%- endfor %}""",
    "glm": """[gMASK]<sop>{%- for tool in tools or [] %}{{ tool | tojson(ensure_ascii=False) }}
{% endfor %}{% macro visible_text(content) %}{%- if content is string %}{{- content }}
{%- elif content is iterable and content is not mapping %}{%- for item in content %}
{%- if item is mapping and item.type == 'text' %}{{- item.text }}{%- endif %}{%- endfor %}{%- else %}{{- content }}{%- endif %}
{%- endmacro %}{% for m in messages %}<|{{ m.role }}|>
{{ visible_text(m.content) }}{% for tc in m.tool_calls or [] %}{% set tc = tc.function or tc %}
<tool_call>{{ tc.name }}
{% for k, v in tc.arguments.items() %}<arg_key>{{ k }}</arg_key><arg_value>{{ v | tojson(ensure_ascii=False) if v is not string else v }}</arg_value>
{% endfor %}</tool_call>{% endfor %}{% endfor %}
{%- if add_generation_prompt %}<|assistant|>{{ '\\n<think></think>' if enable_thinking is defined and not enable_thinking }}
{%- endif %}""",
    "kimi": """{%- if tools -%}<|im_system|>tool_declare<|im_middle|>{{ tools | tojson(separators=(',', ':')) }}<|im_end|>
{%- endif -%}{% for m in messages %}{% set name = m.name or m.role %}
{%- if m.role == 'user' -%}<|im_user|>{%- elif m.role == 'assistant' -%}<|im_assistant|>{%- else -%}<|im_system|>{%- endif -%}
{{ name }}<|im_middle|>{%- for c in m.tool_calls or [] -%}<|tool_call_begin|>{{ c.id }}<|tool_call_argument_begin|>
{%- if c.function.arguments is string %}{{ c.function.arguments }}{% else %}{{ c.function.arguments | tojson }}{% endif -%}
<|tool_call_end|>{%- endfor -%}{% if m.role == 'tool' %}## Return of {{ m.tool_call_id }}
{% endif %}{{ m.content }}<|im_end|>{% endfor %}{% if add_generation_prompt %}<|im_assistant|>assistant<|im_middle|>{% endif %}""",
    "gpt-oss": """{%- macro render_typescript_type(spec, indent="") -%}{%- if spec.type == "array" -%}
{{ render_typescript_type(spec["items"], indent + "  ") ~ "[]" }}{%- elif spec.enum -%}{{ '"' + spec.enum | join('" | "') + '"' }}
{%- elif spec.type is not string and spec.type is iterable -%}{{ spec.type | join(" | ") }}{%- elif spec.type == "object" -%}
{ {%- for name, each in (spec.properties or {}).items() -%}{{ indent ~ name ~ ("?" if name not in (spec.required or [])) ~ ": " }}
{{- render_typescript_type(each, indent + "  ") }}, {% endfor -%} }{%- else -%}{{ spec.type or "any" }}{%- endif -%}{%- endmacro -%}
<|start|>system<|message|>Current date: {{ strftime_now("%Y-%m-%d") }}
Reasoning: {{ reasoning_effort | default("medium", true) }}<|end|>
{%- if messages[0].role in ["developer", "system"] -%}{%- set about, turns = messages[0].content, messages[1:] -%}
{%- else -%}{%- set about, turns = "", messages -%}{%- endif -%}
{%- if about or tools -%}<|start|>developer<|message|>{{ about }}{%- for tool in tools or [] -%}{%- set tool = tool.function %}
// {{ tool.description }}
type {{ tool.name }} = (_: {{ render_typescript_type(tool.parameters) }}) => any;{%- endfor -%}<|end|>{%- endif -%}
{%- set last = namespace(name=none) -%}{%- for m in turns -%}
{%- if m.role == "assistant" and "tool_calls" in m -%}{%- set call = m.tool_calls[0].function -%}
{%- if m.content and m.thinking %}{{- raise_exception("Cannot pass both content and thinking.") }}{%- endif %}
{%- if m.thinking %}<|start|>assistant<|channel|>analysis<|message|>{{ m.thinking }}<|end|>{%- endif -%}
{%- set last.name = call.name -%}<|start|>assistant to=functions.{{ call.name }}<|channel|>commentary json<|message|>
{{- call.arguments | tojson }}<|call|>
{%- elif m.role == "tool" -%}{%- if last.name is none %}{{- raise_exception("A result without a call") }}{%- endif %}
{{- "<|start|>functions." + last.name }} to=assistant<|channel|>commentary<|message|>{{ m.content | tojson }}<|end|>
{%- else -%}<|start|>{{ m.role }}{{ "<|channel|>final" if m.role == "assistant" }}<|message|>{{ m.content }}<|end|>{%- endif -%}
{%- endfor -%}{%- if add_generation_prompt -%}<|start|>assistant{%- endif -%}""",
    "granite": """{%- if tools %}{{- '<|start_of_role|>available_tools<|end_of_role|>\\n' }}
{%- for tool in tools %}{{- tool | tojson(indent=4) }}{%- if not loop.last %}{{- '\\n\\n' }}{%- endif %}{%- endfor %}
{{- '<|end_of_text|>\\n' }}{%- endif %}
{%- for message in messages %}{%- if message['role'] == 'assistant_tool_call' or (message['role'] == 'assistant' and message.tool_calls is defined) %}
{{- '<|start_of_role|>assistant<|end_of_role|><|tool_call|>' + message.tool_calls | map(attribute='function') | list | tojson }}
{%- else %}{{- '<|start_of_role|>' + message['role'] + '<|end_of_role|>' + message['content'] }}{%- endif %}
{{- '<|end_of_text|>\\n' }}{%- if loop.last and add_generation_prompt %}{{- '<|start_of_role|>assistant<|end_of_role|>' }}
{%- endif %}{%- endfor %}""",
    "command-r": """{% macro json_to_python_type(json_spec) %}
{%- set basic = {"string": "str", "number": "float", "integer": "int", "boolean": "bool"} %}
{%- if json_spec.type is string and basic[json_spec.type] is defined %}{{- basic[json_spec.type] }}
{%- elif json_spec.type == "array" %}{{- "List[" + json_to_python_type(json_spec['items']) + "]" }}
{%- elif json_spec.type is iterable and json_spec.type is not string %}{{- "Union[" }}{%- for t in json_spec.type %}
{{- json_to_python_type({"type": t}) }}{{- "," if not loop.last }}{%- endfor %}{{- "]" }}{%- else %}{{- "Any" }}{%- endif %}
{%- endmacro %}{{ bos_token }}{% for tool in tools or [] %}{%- set f = tool.function %}
{{- "\\n\\n```python\\ndef " + f.name + "(" }}{%- for p, spec in (f.parameters.properties or {}) | items %}
{{- ", " if not loop.first }}{{- p + ": " + json_to_python_type(spec) }}
{%- if p not in (f.parameters.required or []) %}{{- " = None" }}{%- endif %}{%- endfor %}{{- ") -> List[Dict]:\\n    pass\\n```" }}
{%- endfor %}{% for m in messages %}{{ '<|START_OF_TURN_TOKEN|><|' ~ m.role | upper ~ '_TOKEN|>' }}
{%- if m.tool_calls %}Action: ```json
[
{% for call in m.tool_calls %}{{ {"tool_name": call.function.name, "parameters": call.function.arguments} | tojson(indent=4) | indent(4, first=true) }}
{{- ",\\n" if not loop.last }}{% endfor %}

]```{% else %}{{ m.content }}{% endif %}<|END_OF_TURN_TOKEN|>{% endfor %}""",
    "smollm-3": """{%- if enable_thinking is not defined -%}{%- set enable_thinking = true -%}{%- endif -%}
{%- set mode = "/think" if enable_thinking else "/no_think" -%}
{%- if messages[0].role == "system" -%}{%- set custom = messages[0].content.replace("/no_think", "").replace("/think", "").rstrip() -%}
{%- else -%}{%- set custom = "" -%}{%- endif -%}
{{- "<|im_start|>system\\nMode: " + mode + "\\n" -}}{% generation %}{% endgeneration %}
{%- if xml_tools or python_tools -%}{{- "### Tools" -}}{%- endif -%}{{- custom ~ "<|im_end|>\\n" -}}
{%- for message in messages -%}{%- set content = message.content if message.content is string else "" -%}
{%- if message.role == "assistant" -%}{% generation %}{{ "<|im_start|>assistant\\n" + content.lstrip("\\n") + "<|im_end|>\\n" }}{% endgeneration %}
{%- elif message.role != "system" -%}{{ "<|im_start|>" + message.role + "\\n" + content + "<|im_end|>\\n" }}{%- endif -%}
{%- endfor -%}{%- if add_generation_prompt -%}{{ "<|im_start|>assistant\\n" }}{%- if mode == "/no_think" -%}
{{ "<think>\\n\\n</think>\\n" }}{%- endif -%}{%- endif -%}""",
    "hermes": """{{ bos_token }}{%- for m in messages if m.role != 'system' or loop.first %}{{ '<|im_start|>' + m.role }}
{%- for call in m.tool_calls or [] %}{{ '\\n<tool_call>\\n' }}{{ {'name': call.function.name, 'arguments': call.function.arguments} | tojson(sort_keys=true) }}
{{ '</tool_call>' }}{% endfor %}{%- if m.content is not none and m.content | length %}{{ '\\n' ~ m.content }}{% endif %}
{{- '<|im_end|>\\n' }}{%- endfor %}""",
    "falcon": """{% for message in messages %}{% if not loop.first %}{{ '\\n' }}{% endif %}
{{ message['role'].title() if message.role != 'tool' else 'Result' }}: {{ (message['content'] or '').strip().replace('\\r\\n', '\\n').replace('\\n\\n', '\\n') }}
{% endfor %}{% if add_generation_prompt %}{{ '\\n' + 'Assistant:' }}{% endif %}""",
    "nemotron": """{%- for m in messages %}{%- if loop.previtem is defined and loop.previtem.role == m.role %}{{ '\\n' }}{%- else %}
{{- '<SPECIAL_' ~ (10 + loop.index0 % 3) ~ '>' ~ m.role | capitalize ~ '\\n' }}{%- endif %}{{ m.content }}
{%- if loop.nextitem is not defined %}{%- break %}{%- endif %}{%- if m.content == 'stop' %}{%- continue %}{%- endif %}
{{- loop.cycle('\\n', '\\n\\n') }}{%- endfor %}""",
}
