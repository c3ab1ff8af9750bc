/** The same conversation in the words of each API: the model draws, fails, and is done. */
export const PLOT = 'import matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint(6 * 7)';
const CALLS = [PLOT, '1 / 0'];
const NAME = 'code_interpreter';

const chatUsage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

export const CHAT_COMPLETIONS: readonly object[] = [
  ...CALLS.map((code, index) => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id: `c${index}`, type: 'function', function: { name: NAME, arguments: JSON.stringify({ code }) } }],
  })),
  { role: 'assistant', content: 'done' },
].map((message) => ({
  id: 'r',
  object: 'chat.completion',
  created: 0,
  model: 'scripted',
  choices: [{ index: 0, message, finish_reason: 'content' in message && message.content ? 'stop' : 'tool_calls' }],
  usage: chatUsage,
}));

export const RESPONSES: readonly object[] = [
  ...CALLS.map((code, index) => ({
    type: 'function_call',
    id: `f${index}`,
    call_id: `c${index}`,
    name: NAME,
    arguments: JSON.stringify({ code }),
    status: 'completed',
  })),
  {
    type: 'message',
    id: 'm',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'done', annotations: [] }],
  },
].map((item) => ({
  id: 'r',
  object: 'response',
  created_at: 0,
  model: 'scripted',
  status: 'completed',
  output: [item],
}));

export const MESSAGES: readonly object[] = [
  ...CALLS.map((code, index) => ({ type: 'tool_use', id: `c${index}`, name: NAME, input: { code } })),
  { type: 'text', text: 'done', citations: null },
].map((block) => ({
  id: 'r',
  type: 'message',
  role: 'assistant',
  model: 'scripted',
  content: [block],
  stop_reason: block.type === 'text' ? 'end_turn' : 'tool_use',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
}));
