import { CodeInterpreterTool } from '../../tool/code-interpreter/code-interpreter.ts';
import { IPythonInterpreter } from '../../tool/ipython/ipython.ts';
import { toAnthropicTool } from '../../tool/formats/anthropic.ts';
import { toMcpTool } from '../../tool/formats/mcp.ts';
import { toOpenAITool } from '../../tool/formats/openai.ts';
import { PythonInterpreterToolSet } from '../../tool/toolset/toolset.ts';
import type { Context } from '../terminal/context.ts';
import { configOf, type MachineFlags } from '../session/flags.ts';
import { openHost } from '../session/host.ts';

export interface ToolsFlags extends MachineFlags {
  readonly format: 'openai' | 'anthropic' | 'mcp';
}

/** Prints the tool definitions that a model gets, with the limits and libraries of this machine. */
export async function tools(flags: ToolsFlags, context: Context): Promise<number> {
  const { environment, stdout } = context;
  await using host = await openHost(flags, configOf(flags, environment), context);
  await using toolset = new PythonInterpreterToolSet({ name: 'python', host, workdir: false });
  await using codeInterpreter = new CodeInterpreterTool({ host });
  await using notebook = new IPythonInterpreter({ host });
  const all = [...toolset.tools(), codeInterpreter, notebook.toTool()];
  const definitions = await Promise.all(all.map((tool) => tool.define()));
  const traits = { isReadOnly: false, usesNetwork: host.isolation.network !== 'none' };
  const forms = {
    openai: () => definitions.map(toOpenAITool),
    anthropic: () => definitions.map(toAnthropicTool),
    mcp: () => definitions.map((definition) => toMcpTool(definition, traits)),
  }[flags.format]();
  await stdout.line(JSON.stringify(forms, undefined, 2));
  return 0;
}
