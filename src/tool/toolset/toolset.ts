import { parse } from '../../config.ts';
import type { SessionOptions } from '../../session/options.ts';
import { isAnswer } from '../answers.ts';
import { describeSurroundings } from '../description.ts';
import { resolveDirectory } from '../host-directory.ts';
import { LazyEngine } from '../lazy-engine.ts';
import type { CallContext, CallOptions, Tool } from '../tool.ts';
import { enterDirectory } from './init-code.ts';
import { Interpreters } from './interpreters.ts';
import { parseToolSet, type ToolSetOptions, type ToolSetSettings } from './options.ts';
import {
  failedCall,
  type ManageArguments,
  type ManageResult,
  type RunPythonArguments,
  type RunPythonResult,
} from './result.ts';
import { Runner, type Finished } from './runner.ts';
import { describeTool, manageInterpretersTool, RunArguments, runPythonCodeTool, type ListedTool } from './tools.ts';

type RunPythonOptions = CallOptions & Omit<RunPythonArguments, 'code'>;

/** Interpreters with state for agents: one for each client or chat, and more when asked for. */
export class PythonInterpreterToolSet implements AsyncDisposable {
  readonly name: string;
  readonly #settings: ToolSetSettings;
  readonly #engine: LazyEngine;
  readonly #interpreters: Interpreters;
  readonly #runner: Runner;
  #workdir: Promise<string> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: ToolSetOptions) {
    const settings = parseToolSet(options);
    this.name = settings.name;
    this.#settings = settings;
    const { memoryMb } = settings;
    this.#engine = new LazyEngine(options.engine, memoryMb === undefined ? {} : { limits: { memoryMb } });
    this.#interpreters = new Interpreters({
      engine: this.#engine,
      optionsFor: (context) => this.#sessionOptions(context),
      maxInterpreters: settings.maxInterpreters,
    });
    this.#runner = new Runner({
      engine: this.#engine,
      interpreters: this.#interpreters,
      workdir: () => this.#resolvedWorkdir(),
      retryOnCrash: settings.retryOnCrash,
    });
  }

  /** Runs code in the interpreter of the calling client or chat, or in the one with the given id. */
  async runPythonCode(code: string | RunPythonArguments, options: RunPythonOptions = {}): Promise<RunPythonResult> {
    const { signal, context, ...named } = options;
    const args = typeof code === 'string' ? { ...named, code } : code;
    return (await this.run(args, { ...(signal && { signal }), ...(context && { context }) })).result;
  }

  run_python_code(code: string | RunPythonArguments, options?: RunPythonOptions): Promise<RunPythonResult> {
    return this.runPythonCode(code, options);
  }

  /** Creates, lists and deletes interpreters. */
  async manageInterpreters(
    { operation, interpreter_id: id }: ManageArguments,
    { context = {} }: CallOptions = {},
  ): Promise<ManageResult> {
    if (operation === 'create') return this.newInterpreter(context);
    if (operation === 'list') return this.listInterpreters(context);
    if (operation !== 'delete') return { success: false, error: `Unknown operation: ${operation}` };
    if (id) return this.deleteInterpreter(id, context);
    return { success: false, error: 'interpreter_id is required for delete operation' };
  }

  manage_interpreters(args: ManageArguments, options?: CallOptions): Promise<ManageResult> {
    return this.manageInterpreters(args, options);
  }

  async newInterpreter(context: CallContext = {}): Promise<ManageResult> {
    try {
      return { success: true, interpreter_id: await this.#interpreters.create(context) };
    } catch (error) {
      if (isAnswer(error)) return { success: false, error: error.message };
      throw error;
    }
  }

  async deleteInterpreter(id: string, context: CallContext = {}): Promise<ManageResult> {
    const entry = this.#interpreters.find(id, context);
    if (entry === undefined) return { success: false, error: `Interpreter ${id} not found` };
    await this.#interpreters.delete(entry);
    return { success: true, interpreter_id: id };
  }

  async listInterpreters(context: CallContext = {}): Promise<ManageResult> {
    const interpreters = this.#interpreters.list(context).map((id) => ({ id, status: 'running' as const }));
    return { success: true, interpreters };
  }

  runCodeInInterpreter(code: string, id: string, resultVariable?: string): Promise<RunPythonResult> {
    return this.runPythonCode({ code, interpreter_id: id, result_var_name: resultVariable });
  }

  /** `runPythonCode`, together with the execution that the answer was made from. */
  async run(args: RunPythonArguments, { signal, context = {} }: CallOptions = {}): Promise<Finished> {
    try {
      const { code, result_var_name: variable, interpreter_id: id } = parse(RunArguments, args);
      const entry = id ? this.#interpreters.find(id, context) : this.#interpreters.ofContext(context);
      if (entry === undefined) return { result: failedCall(`Interpreter ${id} not found`) };
      const { timeoutMs } = this.#settings;
      return await this.#runner.run(entry, { code, variable: variable ?? undefined, timeoutMs, signal });
    } catch (error) {
      if (isAnswer(error)) return { result: failedCall(error.message) };
      throw error;
    }
  }

  /** Starts the engine now. Where its walls are weaker than they could be, a warning says so. */
  async runSetup(): Promise<void> {
    const { isolation } = await this.#engine.get();
    if (isolation.level === 'namespaces') return;
    process.emitWarning(
      `The toolset ${this.name} executes arbitrary Python code with isolation "${isolation.level}". Run it in a container or a virtual machine, and do not expose it to untrusted input.`,
      { type: 'SecurityWarning', code: 'VIVARIUM_WEAK_ISOLATION' },
    );
  }

  /** What a model can call. */
  tools(): Tool[] {
    return [runPythonCodeTool(this), manageInterpretersTool(this)];
  }

  /** The tools with their arguments, for programs that show or forward them. */
  async listTools(): Promise<ListedTool[]> {
    return Promise.all(this.tools().map(async (tool) => describeTool(await tool.define())));
  }

  /** Where the code of this toolset runs, in words for a model. */
  async describe(): Promise<string> {
    const { timeoutMs, memoryMb } = this.#settings;
    const { environment, isolation, limits } = await this.#engine.get();
    return describeSurroundings({
      environment,
      isolation,
      timeoutMs,
      memoryMb: memoryMb ?? limits.memoryMb,
      keeps: 'variables and files',
      workdir: (await this.#resolvedWorkdir()) ?? undefined,
    });
  }

  /** Ends the interpreters of this toolset, and its engine if that is its own. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await this.#interpreters.close();
    await this.#engine.close();
  }

  async #sessionOptions(context: CallContext): Promise<SessionOptions> {
    const { timeoutMs, memoryMb, initCode } = this.#settings;
    const workdir = await this.#resolvedWorkdir();
    const code = [workdir === null ? '' : enterDirectory(workdir), initCode ?? ''].join('');
    return {
      initCode: code === '' ? null : code,
      limits: { timeoutMs, ...(memoryMb !== undefined && { memoryMb }) },
      mounts: workdir === null ? [] : [{ source: workdir, target: workdir, writable: true }],
      environment: { PANTHEON_CONTEXT: JSON.stringify({ workdir, ...wireContext(context) }) },
    };
  }

  async #resolvedWorkdir(): Promise<string | null> {
    const { workdir } = this.#settings;
    return workdir === null ? null : await (this.#workdir ??= resolveDirectory('workdir', workdir));
  }
}

function wireContext({ clientId, chatId, sessionId }: CallContext): Record<string, string | undefined> {
  return { client_id: clientId, chat_id: chatId, session_id: sessionId };
}
