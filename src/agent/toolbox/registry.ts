import { VivariumError } from '../../errors.ts';
import { toOpenAITool, type OpenAITool } from '../../tool/formats.ts';
import type { Tool, ToolDefinition } from '../../tool/tool.ts';

/** Tools by name. Those that are disabled are neither shown nor called; several agents may share one registry. */
export class ToolRegistry {
  readonly #tools = new Map<string, Tool>();

  constructor(tools: readonly Tool[] = []) {
    for (const tool of tools) this.register(tool);
  }

  /** From the next question on, the agents that have this registry know the tool. */
  register(tool: Tool): void {
    if (this.#tools.has(tool.name)) {
      throw new VivariumError('CONFIG_INVALID', `There are two tools named '${tool.name}'. Give each its own name.`);
    }
    this.#tools.set(tool.name, tool);
  }

  /** The tool of this name; throws when there is none that is enabled. */
  get(name: string): Tool {
    const tool = this.find(name);
    if (tool === undefined) throw new VivariumError('USAGE', this.notFound(name));
    return tool;
  }

  /** As `get`, for those who can do without. */
  find(name: string): Tool | undefined {
    const tool = this.#tools.get(name);
    return tool?.isEnabled === false ? undefined : tool;
  }

  /** Those that are enabled, in the order in which they came. */
  list(): Tool[] {
    return [...this.#tools.values()].filter(({ isEnabled }) => isEnabled !== false);
  }

  definitions(): Promise<ToolDefinition[]> {
    return Promise.all(this.list().map((tool) => tool.define()));
  }

  /** As models of OpenAI are told of them. */
  async schemas(): Promise<OpenAITool[]> {
    return (await this.definitions()).map(toOpenAITool);
  }

  /** What to say of a tool that is not there. */
  notFound(name: string): string {
    const names = this.list().map((tool) => `'${tool.name}'`);
    return `Tool '${name}' not found. Available: [${names.join(', ')}]`;
  }
}
