import { parse } from '../../config.ts';
import { isRefusal, readContext } from '../call.ts';
import { LazyHost } from '../lazy.ts';
import type { CallContext, CallOptions, Tool } from '../tool.ts';
import { Interpreters } from './interpreters.ts';
import { Management } from './management.ts';
import { parseToolSet, type ToolSetOptions } from './options.ts';
import {
  failedCall,
  type ManageArguments,
  type ManageResult,
  type RunPythonArguments,
  type RunPythonResult,
} from './result.ts';
import { Runner, type ToolsetRun } from './runner.ts';
import { InterpreterSetup } from './setup.ts';
import { describeTool, manageInterpretersTool, RunArguments, runPythonCodeTool, type ListedTool } from './tools.ts';

type RunPythonOptions = CallOptions & Omit<RunPythonArguments, 'code'>;

/** Stateful interpreters for agents: one for each client or chat, and more on request. */
export class PythonInterpreterToolSet implements AsyncDisposable {
  readonly name: string;
  readonly #host: LazyHost;
  readonly #interpreters: Interpreters;
  readonly #management: Management;
  readonly #runner: Runner;
  readonly #setup: InterpreterSetup;
  #closing: Promise<void> | undefined;

  constructor(options: ToolSetOptions) {
    const settings = parseToolSet(options);
    this.name = settings.name;
    const { memoryMb } = settings;
    this.#host = new LazyHost(
      options.host ?? options.engine ?? undefined,
      memoryMb === undefined ? {} : { limits: { memoryMb } },
    );
    const setup = new InterpreterSetup(this.#host, settings);
    this.#setup = setup;
    this.#interpreters = new Interpreters({
      host: this.#host,
      optionsFor: (caller) => setup.sessionOptions(caller),
      maxInterpreters: settings.maxInterpreters,
    });
    this.#management = new Management(this.#interpreters);
    this.#runner = new Runner({
      host: this.#host,
      interpreters: this.#interpreters,
      setup,
      retryOnCrash: settings.retryOnCrash,
      maxResultBytes: settings.maxResultBytes,
    });
  }

  /** Runs code in the interpreter of the calling client or chat, or in the one with the given id. */
  async runPythonCode(code: string | RunPythonArguments, options: RunPythonOptions = {}): Promise<RunPythonResult> {
    const { signal, context, ...named } = options;
    const args = typeof code === 'string' ? { ...named, code } : { ...named, ...code };
    return (await this.run(args, { ...(signal && { signal }), ...(context && { context }) })).result;
  }

  run_python_code(code: string | RunPythonArguments, options?: RunPythonOptions): Promise<RunPythonResult> {
    return this.runPythonCode(code, options);
  }

  /** Creates, lists, deletes, restarts and interrupts interpreters. */
  manageInterpreters(args: ManageArguments, { context }: CallOptions = {}): Promise<ManageResult> {
    return this.#management.manage(args, context);
  }

  manage_interpreters(args: ManageArguments, options?: CallOptions): Promise<ManageResult> {
    return this.manageInterpreters(args, options);
  }

  newInterpreter(context?: CallContext): Promise<ManageResult> {
    return this.#management.manage({ operation: 'create' }, context);
  }

  new_interpreter(context?: CallContext): Promise<ManageResult> {
    return this.newInterpreter(context);
  }

  deleteInterpreter(id: string, context?: CallContext): Promise<ManageResult> {
    return this.#management.manage({ operation: 'delete', interpreter_id: id }, context);
  }

  delete_interpreter(id: string, context?: CallContext): Promise<ManageResult> {
    return this.deleteInterpreter(id, context);
  }

  listInterpreters(context?: CallContext): Promise<ManageResult> {
    return this.#management.manage({ operation: 'list' }, context);
  }

  list_interpreters(context?: CallContext): Promise<ManageResult> {
    return this.listInterpreters(context);
  }

  runCodeInInterpreter(
    code: string,
    id: string,
    resultVariable?: string | null,
    options?: CallOptions,
  ): Promise<RunPythonResult> {
    return this.runPythonCode({ code, interpreter_id: id, result_var_name: resultVariable }, options);
  }

  run_code_in_interpreter(
    code: string,
    id: string,
    resultVariable?: string | null,
    options?: CallOptions,
  ): Promise<RunPythonResult> {
    return this.runCodeInInterpreter(code, id, resultVariable, options);
  }

  /** Same as `runPythonCode`, with the execution. */
  async run(args: RunPythonArguments, { signal, context }: CallOptions = {}): Promise<ToolsetRun> {
    try {
      const caller = readContext(context);
      const { code, result_var_name: variable, interpreter_id: id } = parse(RunArguments, args);
      const entry = id ? this.#interpreters.find(id, caller) : this.#interpreters.ofContext(caller);
      if (entry === undefined) return { result: failedCall(`Interpreter ${id} not found`) };
      const timeoutMs = await this.#setup.timeoutMs();
      return await this.#runner.run(entry, { code, variable: variable ?? undefined, timeoutMs, signal });
    } catch (error) {
      if (isRefusal(error)) return { result: failedCall(error.message) };
      throw error;
    }
  }

  /** Starts the host now. Emits warnings if its isolation is weaker than usual, or libraries are missing. */
  async runSetup(): Promise<void> {
    const { isolation } = await this.#host.get();
    await this.#setup.warn();
    if (isolation.level === 'namespaces') return;
    process.emitWarning(
      `The toolset ${this.name} executes arbitrary Python code with isolation "${isolation.level}". Run it in a container or a virtual machine, and do not expose it to untrusted input.`,
      { type: 'SecurityWarning', code: 'VIVARIUM_WEAK_ISOLATION' },
    );
  }

  run_setup(): Promise<void> {
    return this.runSetup();
  }

  /** The tools for a model. */
  tools(): Tool[] {
    return [runPythonCodeTool(this), manageInterpretersTool(this)];
  }

  /** The tools with their arguments, for programs that show or forward them. */
  async listTools(): Promise<ListedTool[]> {
    return Promise.all(this.tools().map(async (tool) => describeTool(await tool.define())));
  }

  list_tools(): Promise<ListedTool[]> {
    return this.listTools();
  }

  /** Where the code runs, in words for a model. */
  describe(): Promise<string> {
    return this.#setup.describe();
  }

  /** Ends the interpreters of this toolset, and its host if it started that itself. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  cleanup(): Promise<void> {
    return this.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await this.#interpreters.close();
    await this.#host.close();
  }
}
