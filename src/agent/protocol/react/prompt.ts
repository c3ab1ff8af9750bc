/** The instructions for a model that writes its tool calls as text. */
import type { ToolDefinition } from '../../../tool/tool.ts';

export const OBSERVATION = 'Observation:';

export const NO_MOVE =
  'Please follow the format: your reply has neither an Action nor a Final Answer. ' +
  'Write "Action:" and "Action Input:" to use a tool, or "Final Answer:" and the answer if you are done.';

/** The format, to be appended to the instructions of the agent. */
export function explainFormat(tools: readonly ToolDefinition[]): string {
  return tools.length === 0 ? ANSWER_ONLY : [toolsText(tools), FORMAT].join('\n\n');
}

function toolsText(tools: readonly ToolDefinition[]): string {
  const each = tools.map(
    ({ name, description, parameters }) =>
      `${name}: ${description}\nArguments of ${name} as JSON schema: ${JSON.stringify(parameters)}`,
  );
  return `You have these tools:\n\n${each.join('\n\n')}`;
}

const ANSWER_ONLY = `Write in this format:

Thought: what you think about the question
Final Answer: the answer to the question`;

const FORMAT = `To use a tool, write in this format and then stop:

Thought: what to do next, and why
Action: the name of one tool
Action Input: its arguments as a JSON object

Instead of a JSON object, code may be written as it is, in a fence:

Action Input:
\`\`\`python
print(6 * 7)
\`\`\`

One action at a time. The user then gives you its result after "${OBSERVATION}"; never write that yourself. Go on with thoughts and
actions until you know the answer. Then write:

Thought: I know the answer
Final Answer: the answer to the question`;
