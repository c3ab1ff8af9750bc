/** An agent that answers questions by writing Python, running it and reading the result. */
import {
  ActionEvent,
  CodeInterpreterTool,
  FinalAnswerEvent,
  FunctionCallingAgent,
  ObservationEvent,
  OpenAILLM,
} from '../src/agent.ts';

interface Payload {
  readonly stdout?: string;
  readonly stderr?: string;
  readonly files?: readonly { readonly path: string }[];
  readonly plots?: readonly { readonly path: string }[];
}

await using codeTool = new CodeInterpreterTool({ timeout: 10.0, memory_limit_mb: 256 });

const agent = new FunctionCallingAgent({
  llm: new OpenAILLM({ model: 'gpt-4o-mini' }),
  tools: [codeTool],
  system_prompt:
    'You are a Python data analysis assistant. ' +
    'Always execute code to answer quantitative questions. ' +
    'Print results to stdout. If code fails, fix and retry once.',
  max_iterations: 6,
});

const questions = [
  'What is the sum of squares of all prime numbers below 50?',
  'Generate a list of 20 random integers between 1 and 100 using seed 42, ' +
    'then compute mean, median, and standard deviation.',
  'Write Python to create a simple bar chart of [3, 7, 2, 9, 5] and save it as chart.png.',
];

for (const question of questions) {
  console.log(`\nQ: ${question}`);
  console.log('-'.repeat(60));
  for await (const event of agent.stream_steps(question)) {
    if (event instanceof ActionEvent) {
      // Only the first 3 lines of code, to keep the output readable.
      const preview = String(event.tool_input).split('\n').slice(0, 3).join('\n');
      console.log(`[code]\n${preview}\n...`);
    } else if (event instanceof ObservationEvent) {
      showObservation(event.observation);
    } else if (event instanceof FinalAnswerEvent) {
      console.log(`\nAnswer: ${event.answer}`);
    }
  }
}

// The files and plots of all questions.
const artifacts = agent.memory.steps.flatMap(({ observation }) => {
  const { files = [], plots = [] } = parsePayload(observation) ?? {};
  return [...files, ...plots];
});
if (artifacts.length > 0) {
  console.log(`\nArtifacts produced: ${JSON.stringify(artifacts.map(({ path }) => path))}`);
}

function showObservation(observation: string): void {
  const payload = parsePayload(observation);
  if (payload === undefined) return console.log(`[obs] ${observation.slice(0, 100)}`);
  const { stdout = '', stderr = '', plots = [] } = payload;
  if (stdout) console.log(`[stdout] ${stdout.trim()}`);
  if (stderr) console.log(`[stderr] ${stderr.trim().slice(0, 100)}`);
  if (plots.length > 0) console.log(`[plots] ${JSON.stringify(plots.map(({ path }) => path))}`);
}

/** Undefined if the observation is a sentence, for example when the tool does not exist or its arguments are invalid. */
function parsePayload(observation: string): Payload | undefined {
  try {
    return JSON.parse(observation) as Payload;
  } catch {
    return undefined;
  }
}
