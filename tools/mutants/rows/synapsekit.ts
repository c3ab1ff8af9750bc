import type { Mutants } from '../mutants.ts';

const TOOL = 'src/tool/code-interpreter/code-interpreter.ts';
const RESULT = 'src/tool/code-interpreter/result.ts';
const PAYLOAD = 'src/tool/code-interpreter/payload.ts';
const LOOP = 'src/agent/loop.ts';

export const SYNAPSEKIT: Mutants = {
  'S-01': {
    without: 'the default of five seconds',
    file: 'src/tool/code-interpreter/code-tool.ts',
    find: '.default(5)',
    replace: '.default(10)',
  },
  'S-02': {
    without: 'the name that models know the tool by',
    file: TOOL,
    find: "readonly name = 'code_interpreter'",
    replace: "readonly name = 'python_interpreter'",
  },
  'S-03': {
    without: 'the argument `code` of `run`',
    file: TOOL,
    find: 'await this.#run(input, options)',
    replace: 'await this.#run({ input: input.input }, options)',
  },
  'S-04': {
    without: 'errors in `is_error`',
    file: RESULT,
    find: 'return this.isError;',
    replace: 'return false;',
  },
  'S-05': {
    without: 'the key `dataframes` where there are none',
    file: TOOL,
    find: 'new ToolResult(JSON.stringify(payload), error',
    replace:
      'new ToolResult(JSON.stringify({ ...payload, dataframes: payload.dataframes[0] && payload.dataframes }), error',
  },
  'S-06': {
    without: 'the time limit of the tool',
    file: TOOL,
    find: 'limits: { timeoutMs: this.#timeoutMs, memoryMb: this.#memoryMb }',
    replace: 'limits: { memoryMb: this.#memoryMb }',
  },
  'S-07': {
    without: 'the memory limit of the tool',
    file: TOOL,
    find: 'limits: { timeoutMs: this.#timeoutMs, memoryMb: this.#memoryMb }',
    replace: 'limits: { timeoutMs: this.#timeoutMs }',
  },
  'S-08': {
    without: 'the wall to the network',
    file: 'src/tool/access.ts',
    find: 'given.network ?? access.network',
    replace: 'given.network ?? true',
  },
  'S-09': {
    without: 'a fresh session for each run',
    file: TOOL,
    find: `host.runOnce(source, {
      echo: 'none',
      initCode: null,
      limits: { timeoutMs: this.#timeoutMs, memoryMb: this.#memoryMb },
      ...resolveAccess(this.#access, host),`,
    replace: `host.runCode(source, {
      echo: 'none',
      timeoutMs: this.#timeoutMs,
      clientId: (this.clientId ??= crypto.randomUUID()),`,
  },
  'S-10': {
    without: 'a stream of its own for stderr',
    file: 'python/_vivarium/cell/process.py',
    find: 'ErrorOutput(2, "<stderr>"',
    replace: 'ErrorOutput(1, "<stderr>"',
  },
  'S-11': {
    without: 'figures that are still open at the end',
    file: 'python/_vivarium/display/figures.py',
    find: 'attempt(lambda: self.show_open(close=False))',
    replace: 'attempt(lambda: None)',
  },
  'S-12': {
    without: 'tables after the first',
    file: 'python/_vivarium/values/frames.py',
    find: 'is_table(value) and len(found) < FRAMES_LIMIT',
    replace: 'is_table(value) and not found',
  },
  'S-13': {
    without: 'files that are no pictures',
    file: PAYLOAD,
    find: '...files.filter((file) => !isImage(file)),',
    replace: '',
  },
  'S-14': {
    without: 'literals that reach Python as they are',
    file: 'src/tool/code-interpreter/code-tool.ts',
    find: "return code || input || '';",
    replace: String.raw`return (code || input || '').replaceAll('\\n', '\n');`,
  },
  'S-15': {
    without: 'time limits above the default',
    file: TOOL,
    find: 'this.#timeoutMs = Math.ceil(timeout * 1000)',
    replace: 'this.#timeoutMs = Math.ceil(Math.min(timeout, 5) * 1000)',
  },
  'S-16': {
    without: 'a warning about code that runs without isolation',
    file: 'src/tool/code-interpreter/python-repl.ts',
    find: '      warn();\n',
    replace: '',
  },
  'S-17': {
    without: 'a memory limit where the usual one does not see the memory',
    file: 'python/_vivarium/surveyor/watch.py',
    find: 'if seen.memory_bytes > limits.memory_bytes + MEMORY_SLACK:',
    replace: 'if seen.memory_bytes < 0:',
  },
  'S-20': {
    without: 'the default of ten iterations',
    file: 'src/agent/options.ts',
    find: 'maxIterations: z.int().min(1).default(10)',
    replace: 'maxIterations: z.int().min(1).default(20)',
  },
  'S-21': {
    without: 'a difference between the final answer and what the model said before it',
    file: 'src/agent/step/events.ts',
    find: "if (event.type === 'final_answer') answer = event.answer;",
    replace: "if (event.type === 'token') answer = (answer ?? '') + event.token;",
  },
  'S-22': {
    without: 'steps that come while the agent still works',
    file: 'src/agent/single-turn.ts',
    find: 'yield* this.#parts.loop.answer([new SystemMessage(this.#systemPrompt), new HumanMessage(question)], signal);',
    replace:
      'yield* await Array.fromAsync(this.#parts.loop.answer([new SystemMessage(this.#systemPrompt), new HumanMessage(question)], signal));',
  },
  'S-23': {
    without: 'the code as the text of `tool_input`',
    file: 'src/agent/step/tool-input.ts',
    find: 'return codeIn(args) ?? (isAlone',
    replace: 'return (isAlone',
  },
  'S-24': {
    without: 'the whole payload in an observation',
    file: 'src/agent/tools/caller.ts',
    find: 'return { observation: JSON.stringify(payload), text: shown + why, isError };',
    replace: 'return { observation: shown, text: shown + why, isError };',
  },
  'S-25': {
    without: 'a final answer that is a `FinalAnswerEvent`',
    file: LOOP,
    find: 'yield new FinalAnswerEvent(reply.move.answer)',
    replace: "yield { type: 'final_answer', answer: reply.move.answer }",
  },
  'S-26': {
    without: 'the steps of earlier questions',
    file: LOOP,
    find: '      yield* this.#iterate(messages, signal);',
    replace: '      this.#parts.memory.clear();\n      yield* this.#iterate(messages, signal);',
  },
  'S-27': {
    without: 'the order to fix failing code and retry once',
    file: TOOL,
    find: "        'If the code fails, its traceback is in stderr: fix it and retry once.',\n",
    replace: '',
  },
  'S-28': {
    without: 'the model that the caller names',
    file: 'src/config.ts',
    find: 'const model = input.model ?? (VIVARIUM_LLM_MODEL || (baseUrl',
    replace: 'const model = VIVARIUM_LLM_MODEL ?? (input.model || (baseUrl',
  },
  'S-29': {
    without: 'an error for code that raises',
    file: RESULT,
    find: "return isPlainExit(error) ? null : `${error?.name ?? 'Exception'}: ${error?.value ?? ''}`;",
    replace: 'return null;',
  },
  'S-30': {
    without: 'paths that lead to the plots',
    file: 'src/tool/code-interpreter/artifact-folder.ts',
    find: 'return { path: target, size };',
    replace: 'return { path: name, size };',
  },
  'S-31': {
    without: 'the name that a chart was saved under',
    file: PAYLOAD,
    find: "images.get(figure.path ?? '')",
    replace: "images.get('')",
  },
  'S-32': {
    without: 'figures that `plt.show()` clears',
    file: 'python/_vivarium/display/hooks.py',
    find: 'collector.show_open(close=not module.isinteractive() if block is None else bool(block))',
    replace: 'module.close("all")',
  },
};
