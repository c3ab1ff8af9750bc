/**
 * Every snippet of SynapseKit's tutorial "Code Execution Agent", in its order, with its calls and arguments. Nothing is
 * closed. `OpenAILLM` finds its endpoint in the environment: see docs/agent.md.
 */

// Step 1: Import and configure the tool
import {
  ActionEvent,
  CodeInterpreterTool,
  FinalAnswerEvent,
  FunctionCallingAgent,
  ObservationEvent,
  OpenAILLM,
  PythonREPLTool,
} from '../../src/agent.ts';

const code_tool = new CodeInterpreterTool({
  timeout: 10.0, // abort after 10 seconds — prevents infinite loops
  memory_limit_mb: 256, // cap at 256 MB — prevents OOM from large datasets
});

// Step 2: Understand the output format
interface Artifact {
  readonly path: string;
  readonly size: number;
}

interface Payload {
  readonly stdout?: string;
  readonly stderr?: string;
  readonly files?: readonly Artifact[];
  readonly plots?: readonly Artifact[];
  readonly dataframes?: readonly { readonly name: string; readonly repr: string }[];
  readonly error?: string | null;
}

async function run_code(code: string): Promise<Payload> {
  const result = await code_tool.run({ code });
  if (result.is_error) {
    return { error: result.error };
  }
  return JSON.parse(result.output) as Payload;
}

console.log('run_code', await run_code('print(6 * 7)'), await run_code('1 / 0'));

// Step 3: Build a data analysis agent
const agent = new FunctionCallingAgent({
  llm: new OpenAILLM({ model: 'gpt-4o-mini' }),
  tools: [code_tool],
  system_prompt:
    'You are a data analysis assistant. Always answer quantitative questions ' +
    'by writing Python code and executing it with the code_interpreter tool. ' +
    'Parse the JSON output to extract stdout and any dataframe reprs. ' +
    'If code fails with an error in stderr, fix it and retry once.',
  max_iterations: 6,
});

// Step 4: Ask a calculation question
async function analyze(question: string): Promise<string> {
  return await agent.run(question);
}

console.log('analyze', await analyze('What is the sum of squares of all prime numbers below 50?'));

// Step 5: Handle multi-step analysis
const DATA_ANALYSIS_PROMPT = `
You are a data analysis assistant. Follow these rules:
1. Always write self-contained Python scripts — load data and perform analysis in one block.
2. Print a summary of results to stdout so they appear in the output.
3. If matplotlib is used, call plt.savefig('output.png') before plt.show().
4. Interpret the captured stdout and dataframe reprs in your final answer.
`;
const analysis_agent = new FunctionCallingAgent({
  llm: new OpenAILLM({ model: 'gpt-4o-mini' }),
  tools: [new CodeInterpreterTool({ timeout: 15.0, memory_limit_mb: 512 })],
  system_prompt: DATA_ANALYSIS_PROMPT,
  max_iterations: 8,
});

console.log('analysis_agent', await analysis_agent.run('Plot the sales of each region and summarize them.'));

// Step 6: Parse plots and file artifacts
function extract_artifacts(of: FunctionCallingAgent): Artifact[] {
  const artifacts: Artifact[] = [];
  for (const step of of.memory.steps) {
    try {
      const payload = JSON.parse(step.observation) as Payload;
      artifacts.push(...(payload.plots ?? []));
      artifacts.push(...(payload.files ?? []));
    } catch {
      // the observation is a sentence
    }
  }
  return artifacts;
}

console.log('extract_artifacts', extract_artifacts(analysis_agent));

// Complete working example
// oxlint-disable no-shadow -- in the tutorial it is a file of its own
function build_agent(): FunctionCallingAgent {
  return new FunctionCallingAgent({
    llm: new OpenAILLM({ model: 'gpt-4o-mini' }),
    tools: [new CodeInterpreterTool({ timeout: 10.0, memory_limit_mb: 256 })],
    system_prompt:
      'You are a Python data analysis assistant. ' +
      'Always execute code to answer quantitative questions. ' +
      'Print results to stdout. If code fails, fix and retry once.',
    max_iterations: 6,
  });
}

function show(observation: string): void {
  try {
    const payload = JSON.parse(observation) as Payload;
    if (payload.stdout) console.log(`[stdout] ${payload.stdout.trim()}`);
    if (payload.stderr) console.log(`[stderr] ${payload.stderr.trim().slice(0, 100)}`);
    if (payload.plots?.length) console.log(`[plots] ${JSON.stringify(payload.plots.map((plot) => plot.path))}`);
  } catch {
    console.log(`[obs] ${observation.slice(0, 100)}`);
  }
}

async function main(): Promise<void> {
  const agent = build_agent();
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
        const code = String(event.tool_input);
        // Show only the first 3 lines of code to keep output readable
        const preview = code.split('\n').slice(0, 3).join('\n');
        console.log(`[code]\n${preview}\n...`);
      } else if (event instanceof ObservationEvent) {
        show(event.observation);
      } else if (event instanceof FinalAnswerEvent) {
        console.log(`\nAnswer: ${event.answer}`);
      }
    }
  }
  // Inspect artifacts produced across all questions
  const artifacts: Artifact[] = [];
  for (const step of agent.memory.steps) {
    try {
      const payload = JSON.parse(step.observation) as Payload;
      artifacts.push(...(payload.files ?? []));
      artifacts.push(...(payload.plots ?? []));
    } catch {
      // the observation is a sentence
    }
  }
  if (artifacts.length > 0) {
    console.log(`\nArtifacts produced: ${JSON.stringify(artifacts.map((artifact) => artifact.path))}`);
  }
}

await main();

// Variations: pass data into the execution context by embedding it as a literal in the code string
const data = [1, 2, 3, 4, 5];
const code = `data = ${JSON.stringify(data)}\nprint(sum(data))`;
const result = await code_tool.run({ code });
console.log('\nvariation', result.output);

// Allow longer-running analysis by increasing timeout
const slow_tool = new CodeInterpreterTool({ timeout: 60.0, memory_limit_mb: 1024 });
console.log('slow_tool', (await slow_tool.run({ code: 'import time\ntime.sleep(0.1)\nprint("slow")' })).output);

// PythonREPLTool keeps its variables. Here it runs in a sandbox; docs/tools.md tells how to run code without one.
const repl_tool = new PythonREPLTool();
await repl_tool.run({ code: 'x = 41' });
console.log('repl_tool', (await repl_tool.run({ code: 'print(x + 1)' })).output);
