import type { Mutants } from '../mutants.ts';

export const LAGENT: Mutants = {
  'L-01': {
    without: 'the value of the last expression, which a notebook shows',
    file: 'src/tool/ipython/ipython.ts',
    find: "session.stream(code, { echo: 'last', timeoutMs,",
    replace: "session.stream(code, { echo: 'none', timeoutMs,",
  },
  'L-02': {
    without: 'the timeout of the constructor',
    file: 'src/tool/ipython/options.ts',
    find: '  return {\n    timeout,\n',
    replace: '  return {\n    timeout: 20,\n',
  },
  'L-03': {
    without: 'the way into the directory with files of the user',
    file: 'src/tool/ipython/user-data.ts',
    find: 'const enter = changeDirectory(directory);',
    replace: "const enter = '';",
  },
  'L-04': {
    without: 'the directory for images under its documented name',
    file: 'src/tool/ipython/options.ts',
    find: 'names.workDir ?? names.work_dir ?? DEFAULT_WORK_DIR',
    replace: 'names.workDir ?? DEFAULT_WORK_DIR',
  },
  'L-05': {
    without: 'a description that replaces the built one',
    file: 'src/tool/ipython/ipython.ts',
    find: "this.#isDescribed = typeof description?.description === 'string';",
    replace: 'this.#isDescribed = false;',
  },
  'L-06': {
    without: 'a parser that reads the inputs',
    file: 'src/tool/action/actions.ts',
    find: 'args = this.#parser.parseInputs(inputs, name);',
    replace: 'args = new JsonParser(this.#description).parseInputs(inputs, name);',
  },
  'L-07': {
    without: 'the refusal of calls of a disabled action',
    file: 'src/tool/action/executor.ts',
    find: 'const action = this.isValid(actionName) ? this.actions.get(actionName) : undefined;',
    replace: 'const action = this.actions.get(actionName);',
  },
  'L-08': {
    without: 'a client beside the manager of a kernel',
    file: 'src/tool/ipython/ipython.ts',
    find: "return [manager, await manager.createSession({ initCode: startCodeWith('') })];",
    replace: 'return [manager, undefined as unknown as Session];',
  },
  'L-09': {
    without: 'the start of the kernel by initialize',
    file: 'src/tool/ipython/ipython.ts',
    find: '  async initialize(context?: CallContext): Promise<void> {\n    await this.#sessions.of(context).get();',
    replace: '  async initialize(context?: CallContext): Promise<void> {\n    this.#sessions.of(context);',
  },
  'L-10': {
    without: 'the clearing of the state by reset',
    file: 'src/tool/ipython/ipython.ts',
    find: 'if (session.isStarted) await (await session.get()).reset();',
    replace: 'if (session.isStarted) await session.get();',
  },
  'L-11': {
    without: 'the timeout of a single run',
    file: 'src/tool/ipython/ipython.ts',
    find: '(await this.execute(command, timeout ?? this.timeout, options)).returned',
    replace: '(await this.execute(command, this.timeout, options)).returned',
  },
  'L-12': {
    without: 'the warning that external requests fail',
    file: 'src/tool/ipython/description.ts',
    find: 'is disabled. Do not make external web requests or API calls as they will fail.',
    replace: 'is disabled.',
  },
  'L-13': {
    without: 'a shell that start code has neutralised',
    file: 'src/tool/ipython/start-code.ts',
    find: "get_ipython().system = lambda *args: print('Assume we have this package, ! is disabled!')",
    replace: "get_ipython().system = lambda *args: __import__('os').system(*args)",
  },
  'L-14': {
    without: 'the own class of the error of a timeout',
    file: 'src/tool/ipython/ipython.ts',
    find: "execution?.outcome.status === 'timed-out' ? new TimeoutError(returned.errmsg) : new Error(returned.errmsg)",
    replace: 'new Error(returned.errmsg)',
  },
  'L-15': {
    without: 'the search for blocks of code in a text',
    file: 'src/text/code/extract-code.ts',
    find: 'const blocks = fenced.length > 0 ? fenced : inlineBlocks(lines);',
    replace: 'const blocks: Block[] = [];',
  },
  'L-16': {
    without: 'the removal of colour codes',
    file: 'src/text/clean-text.ts',
    find: 'if (code === CSI) return endOfControl(text, at + 1);',
    replace: 'if (code === CSI) return at - 1;',
  },
  'L-17': {
    without: 'the decoding of the base64 image',
    file: 'src/tool/ipython/output.ts',
    find: "await writeNew(bytes, '.png', withoutLinks(workDir))",
    replace: "await writeNew(Buffer.from(imageBase64), '.png', withoutLinks(workDir))",
  },
  'L-18': {
    without: 'all lines of an input but the last one',
    file: 'src/tool/ipython/terminal.ts',
    find: 'for await (const line of editor) lines.push(line);',
    replace: 'for await (const line of editor) lines.splice(0, 1, line);',
  },
  'L-19': {
    without: 'the console loop’s use of code_interpreter',
    file: 'src/tool/ipython/terminal.ts',
    find: 'interpreter = codeInterpreter)',
    replace: 'interpreter = new IPythonInterpreter())',
  },
};
