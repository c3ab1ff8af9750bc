/** The tutorial of SynapseKit as one program, against a model that follows a script and reads the JSON of its tool. */
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { OpenAIServer, question, toolResults, type ChatRequest, type Reply } from '../../support/openai-server.ts';
import { runSeed } from './program.ts';

const PRIMES = `def is_prime(n):
    if n < 2: return False
    return all(n % d for d in range(2, int(n ** 0.5) + 1))

print(sum(n * n for n in range(50) if is_prime(n)))`;

const RANDOM = `import random, statistics
random.seed(42)
numbers = [random.randint(1, 100) for _ in range(20)]
mean, median, std = statistics.mean(numbers), statistics.median(numbers), statistics.stdev(numbers)
print(f"Mean: {mean} Median: {median} Std: {std:.2f}")`;

/** Fails first: the name of the function is wrong. */
const CHART = `import matplotlib.pyplot as plt
plt.bars([0, 1, 2, 3, 4], [3, 7, 2, 9, 5])
plt.savefig("chart.png")
plt.show()`;

const SALES = `import os
import pandas as pd
import matplotlib.pyplot as plt
df = pd.DataFrame({"region": ["north", "south"], "sales": [12, 30]})
os.makedirs("tables", exist_ok=True)
df.to_csv("tables/sales.csv", index=False)
df.plot.bar(x="region", y="sales")
plt.savefig('output.png')
plt.show()
print("total", df.sales.sum())`;

interface Shown {
  readonly stdout: string;
  readonly stderr: string;
  readonly files: readonly { readonly path: string; readonly size: number }[];
  readonly plots: readonly { readonly path: string }[];
  readonly dataframes: readonly { readonly name: string; readonly repr: string }[];
}

/** Does what the prompt of the tutorial says: parses the JSON, and repairs code whose stderr has an error. */
function model(request: ChatRequest): Reply {
  const last = toolResults(request).at(-1);
  if (last === undefined) return call(programFor(question(request)));
  const { stdout, stderr, plots, dataframes } = JSON.parse(last) as Shown;
  if (stderr.includes('AttributeError')) return call(CHART.replace('plt.bars', 'plt.bar'));
  const tables = dataframes.map(({ name, repr }) => `${name}: ${repr.split('\n').length} lines`);
  const facts = [stdout.trim(), ...tables, ...plots.map((plot) => path.basename(plot.path))];
  return { text: `It is ${facts.filter((fact) => fact !== '').join(', ')}.` };
}

function programFor(asked: string): string {
  if (asked.includes('prime')) return PRIMES;
  if (asked.includes('seed 42')) return RANDOM;
  return asked.includes('sales of each region') ? SALES : CHART;
}

function call(code: string): Reply {
  return { calls: [{ name: 'code_interpreter', arguments: { code } }] };
}

test('S-01 to S-31 SB-14 the tutorial runs to its end, with the right numbers, and its process ends by itself', async () => {
  await using server = await OpenAIServer.start(model);
  const { stdout, stderr, exitCode } = await runSeed('synapsekit', server.environment);
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
  expect(stdout).toMatch(
    /^run_code \{[^}]*stdout: '42\\n'[^}]*\} \{ error: 'ZeroDivisionError: division by zero' \}$/m,
  );
  expect(stdout).toMatch(/^analyze It is 10466\.$/m);
  expect(stdout).toMatch(/^analysis_agent It is total 42, df: 3 lines, output\.png\.$/m);

  const [, primes = '', random = '', chart = ''] = stdout.split('\nQ: ');
  expect(primes).toMatch(/\[code\]\ndef is_prime\(n\):\n {4}if n < 2: return False\n.*\n\.\.\.\n\[stdout\] 10466\n/);
  expect(random).toContain('[stdout] Mean: 43.2 Median: 30.5 Std: 34.63\n');
  expect(random).toContain('Answer: It is Mean: 43.2 Median: 30.5 Std: 34.63.');
  expect(chart).toMatch(
    /\[stderr\] Traceback[^]*\[code\][^]*\[plots\] \["\/.*chart\.png"\]\n\nAnswer: It is chart\.png\.\n/,
  );
  expect(stdout).toMatch(/^variation \{"stdout":"15\\n"/m);
  expect(stdout).toMatch(/^slow_tool \{"stdout":"slow\\n"/m);
  expect(stdout).toMatch(/^repl_tool 42\n$/m);
  expect(server.requests.every((request) => request.model === 'gpt-4o-mini')).toBe(true);
});

test('S-13 S-26 SB-02 the artifacts of the tutorial are files that exist', async () => {
  await using server = await OpenAIServer.start(model);
  const { stdout } = await runSeed('synapsekit', server.environment);
  const extracted = /^extract_artifacts \[(?<list>[^\]]*)\]/m.exec(stdout)?.groups?.['list'] ?? assert.fail(stdout);
  const entries = [...extracted.matchAll(/path: '(?<path>[^']+)',\s+size: (?<size>\d+)/g)].map(({ groups }) => groups);
  expect(entries.map((one) => path.basename(one?.['path'] ?? ''))).toEqual(['output.png', 'output.png', 'sales.csv']);
  for (const one of entries) expect(statSync(one?.['path'] ?? '').size).toBe(Number(one?.['size']));
  const listed = JSON.parse(/^Artifacts produced: (?<list>.*)$/m.exec(stdout)?.groups?.['list'] ?? '') as string[];
  expect(listed.map((file) => path.basename(file))).toEqual(['chart.png', 'chart.png']); // as a file, and as a plot
  for (const file of listed) expect(readFileSync(file).subarray(1, 4).toString()).toBe('PNG');
});
