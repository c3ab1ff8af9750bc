import type { ParameterSchema, Tool, ToolDefinition } from '../../tool/tool.ts';

/** Characters that models allow in names of tools. */
const OTHERS = /[^A-Za-z0-9_-]+/g;

/** The same tools with names that begin with `prefix`. Where their descriptions name each other, they use the new names. */
export function withPrefix(prefix: string, tools: readonly Tool[]): Tool[] {
  const renamed = new Map(tools.map(({ name }) => [name, `${prefix.replaceAll(OTHERS, '_')}_${name}`]));
  return tools.map((tool) => {
    const name = renamed.get(tool.name) ?? tool.name;
    return {
      name,
      get isEnabled() {
        return tool.isEnabled ?? true;
      },
      define: async () => ({ ...rename(await tool.define(), renamed), name }),
      call: (args, options) => tool.call(args, options),
    };
  });
}

function rename(definition: ToolDefinition, renamed: ReadonlyMap<string, string>): ToolDefinition {
  const inText = (text: string): string => {
    let changed = text;
    for (const [from, to] of renamed) changed = changed.replaceAll(from, to);
    return changed;
  };
  const { parameters } = definition;
  const properties: ParameterSchema['properties'] = Object.fromEntries(
    Object.entries(parameters.properties).map(([name, property]) => [
      name,
      { ...property, ...('description' in property && { description: inText(property.description) }) },
    ]),
  );
  return { ...definition, description: inText(definition.description), parameters: { ...parameters, properties } };
}
