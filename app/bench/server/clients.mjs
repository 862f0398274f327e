// The cases of clients.py that run in Node: it prints what the tool and the answer of one of them said.
const [url, model, name] = process.argv.slice(-3);
const key = process.env.HEADSTART_SERVE_KEY;
const question = "What is the weather in Paris? Use a tool.";
const ran = []; // what the tool has said
const weather = ({ city }) => (ran.push(`${city}: sunny, 21 degrees`), ran.at(-1));

async function aiSdk() {
  const sdk = await import("ai");
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  const { z } = await import("zod");
  const here = createOpenAICompatible({ name: "here", baseURL: url, apiKey: key, supportsStructuredOutputs: true });
  const tool = sdk.tool({
    description: "The weather of a city",
    inputSchema: z.object({ city: z.string() }),
    execute: weather,
  });
  const asked = { model: here(model), prompt: question, tools: { weather: tool }, stopWhen: sdk.stepCountIs(5) };
  return { sdk, z, here, asked };
}

const cases = {
  async openai() {
    const { default: OpenAI } = await import("openai");
    const client = new OpenAI({ baseURL: url, apiKey: key });
    const hello = [{ role: "user", content: "Say hello." }];
    let text = "";
    for await (const part of await client.chat.completions.create({ model, messages: hello, stream: true }))
      text += part.choices[0]?.delta.content ?? "";
    const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const tool = { name: "weather", description: "The weather of a city", parameters, parse: JSON.parse };
    const runner = client.chat.completions.runTools({
      model,
      messages: [{ role: "user", content: question }],
      tools: [{ type: "function", function: { ...tool, function: weather } }],
    });
    return `${text} / ${await runner.finalContent()}`;
  },
  async ollama() {
    const { Ollama } = await import("ollama");
    const client = new Ollama({ host: new URL(url).origin, headers: { Authorization: `Bearer ${key}` } });
    const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const tools = [{ type: "function", function: { name: "weather", description: "The weather of a city", parameters } }];
    const messages = [{ role: "user", content: question }];
    const { message } = await client.chat({ model, messages, tools });
    const [call] = message.tool_calls;
    messages.push(message, { role: "tool", content: weather(call.function.arguments), tool_name: call.function.name });
    let text = "";
    for await (const part of await client.chat({ model, messages, tools, stream: true })) text += part.message.content;
    return text;
  },
  async tools() {
    const { sdk, asked } = await aiSdk();
    return (await sdk.generateText(asked)).text;
  },
  async streamed() {
    const { sdk, asked } = await aiSdk();
    let text = "";
    for await (const part of sdk.streamText(asked).textStream) text += part;
    return text;
  },
  async object() {
    const { sdk, z, here } = await aiSdk();
    const schema = z.object({ name: z.string(), age: z.number() });
    return JSON.stringify((await sdk.generateObject({ model: here(model), schema, prompt: "Ada is 36 years old." })).object);
  },
};

const said = await cases[name]();
console.log(JSON.stringify({ ran, said }));
