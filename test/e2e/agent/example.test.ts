/** The complete example of the agent, as a process of its own, against a model that follows a script. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { OpenAIServer, question, toolResults, type ChatRequest, type Reply } from '../../support/openai-server.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');

const PRIMES = `def is_prime(n):
    if n < 2: return False
    return all(n % d for d in range(2, int(n ** 0.5) + 1))

print(sum(n * n for n in range(50) if is_prime(n)))`;

const RANDOM = `import random, statistics
random.seed(42)
numbers = [random.randint(1, 100) for _ in range(20)]
print("Mean:", statistics.mean(numbers))
print("Median:", statistics.median(numbers))
print("Std:", round(statistics.stdev(numbers), 2))`;

/** Fails first: the name of the function is wrong. */
const BROKEN_CHART = `import matplotlib.pyplot as plt
plt.bars([0, 1, 2, 3, 4], [3, 7, 2, 9, 5])
plt.savefig("chart.png")`;

function model(request: ChatRequest): Reply {
  const results = toolResults(request);
  const last = results.at(-1);
  if (last === undefined) return run(firstProgram(question(request)));
  if (last.includes('AttributeError')) return run(BROKEN_CHART.replace('plt.bars', 'plt.bar'));
  const { stdout, plots } = JSON.parse(last) as { stdout: string; plots: unknown[] };
  return { text: `The result: ${stdout.trim().replaceAll('\n', ' ')}, ${plots.length} plots` };
}

function firstProgram(asked: string): string {
  if (asked.includes('prime')) return PRIMES;
  return asked.includes('seed 42') ? RANDOM : BROKEN_CHART;
}

function run(code: string): Reply {
  return { calls: [{ name: 'code_interpreter', arguments: { code } }] };
}

async function runExample(
  server: OpenAIServer,
  name: string,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [path.join(ROOT, 'examples', name)], {
    env: { ...process.env, ...server.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, stdout, stderr };
}

test('S-30 S-31 U-50 SB-14 the complete example answers its three questions, and its files stay', async () => {
  await using server = await OpenAIServer.start(model);
  const { code, stdout, stderr } = await runExample(server, 'code-execution-agent.ts');
  expect(stderr).toBe('');
  expect(code).toBe(0);
  const [, primes = '', random = '', chart = ''] = stdout.split('\nQ: ');

  expect(primes).toMatch(/\[code\]\ndef is_prime\(n\):\n {4}if n < 2: return False\n.*\n\.\.\.\n\[stdout\] 10466\n/);
  expect(primes).toContain('Answer: The result: 10466');
  expect(random).toContain('[stdout] Mean: 43.2\nMedian: 30.5\nStd: 34.63\n');
  expect(chart).toMatch(/\[stderr\] .*Traceback/);
  expect(chart.match(/\[code\]/g)).toHaveLength(2);
  expect(chart).toContain('[plots] ');

  const listed = JSON.parse(/^Artifacts produced: (?<list>.*)$/m.exec(stdout)?.groups?.['list'] ?? '[]') as string[];
  expect(listed.map((file) => path.basename(file))).toEqual(['chart.png', 'chart.png']); // as a file, and as a plot
  const png = await readFile(path.resolve(ROOT, listed[0] ?? assert.fail()));
  expect(png.subarray(1, 4).toString()).toBe('PNG');
  expect(server.requests[0]?.model).toBe('gpt-4o-mini');
});

test('S-53 L-46 the example for models without tool calling uses a tool of its own and Python', async () => {
  await using server = await OpenAIServer.start(({ messages, tools }) => {
    if (tools) return { status: 400, message: 'this model does not support tools' };
    const last = messages.at(-1)?.content ?? '';
    const [, seen] = /^Observation: (?:\{"stdout":")?(?<seen>[\d.]+)/.exec(last) ?? [];
    if (seen === undefined) return { text: 'Thought: I need the price.\nAction: look_up\nAction Input: A-17' };
    if (seen === '87.5') return { text: `Thought: I know.\nFinal Answer: They cost ${seen}.` };
    return { text: `Action: code_interpreter\nAction Input: {"code": "print(7 * ${seen})"}` };
  });
  const { code, stdout, stderr } = await runExample(server, 'react-agent.ts');
  expect(stderr).toBe('');
  expect(code).toBe(0);
  expect(stdout).toBe(
    [
      '[thought] I need the price.',
      '[look_up] {"article":"A-17"}',
      '[observation] 12.5',
      '[code_interpreter] print(7 * 12.5)',
      '[observation] 87.5',
      '[thought] I know.',
      '',
      'They cost 87.5.',
      '',
    ].join('\n'),
  );
});
