import { VivariumError } from '../../errors.ts';
import { toOpenAITool, type OpenAITool } from '../../tool/formats/openai.ts';
import type { Tool, ToolDefinition } from '../../tool/tool.ts';

/** Tools by name. Disabled tools are neither shown nor called. Several agents may share one registry. */
export class ToolRegistry {
  readonly #tools = new Map<string, Tool>();

  constructor(tools: readonly Tool[] = []) {
    for (const tool of tools) this.register(tool);
  }

  /** Agents with this registry know the tool from their next question on. */
  register(tool: Tool): void {
    if (this.#tools.has(tool.name)) {
      throw new VivariumError('CONFIG_INVALID', `There are two tools named '${tool.name}'. Give each its own name.`);
    }
    this.#tools.set(tool.name, tool);
  }

  /** Whether there is a tool of this name, enabled or not. */
  has(name: string): boolean {
    return this.#tools.has(name);
  }

  /** Throws if there is no enabled tool of this name. */
  get(name: string): Tool {
    const tool = this.find(name);
    if (tool === undefined) throw new VivariumError('USAGE', this.notFound(name));
    return tool;
  }

  /** Same as `get`, but returns undefined. */
  find(name: string): Tool | undefined {
    const tool = this.#tools.get(name);
    return tool?.isEnabled === false ? undefined : tool;
  }

  /** The enabled tools, in order of registration. */
  list(): Tool[] {
    return [...this.#tools.values()].filter(({ isEnabled }) => isEnabled !== false);
  }

  definitions(): Promise<ToolDefinition[]> {
    return Promise.all(this.list().map((tool) => tool.define()));
  }

  /** The definitions in OpenAI's format. */
  async schemas(): Promise<OpenAITool[]> {
    return (await this.definitions()).map(toOpenAITool);
  }

  /** The message for a tool that does not exist. */
  notFound(name: string): string {
    const names = this.list().map((tool) => `'${tool.name}'`);
    return `Tool '${name}' not found. Available: [${names.join(', ')}]`;
  }
}
