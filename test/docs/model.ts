/** The model that the snippets of the pages talk to. It follows a script: what it is asked decides what it writes. */
import { question, toolResults, type ChatRequest, type Reply } from '../support/openai-server.ts';

interface Turn {
  /** Words of the question that this answers. */
  readonly asked: string;
  /** What it does first. */
  readonly call: Reply;
  /** What it says then. */
  readonly answer: string;
}

const TURNS: readonly Turn[] = [
  {
    asked: 'sum of the squares',
    call: python('code_interpreter', 'print(sum(n * n for n in range(1, 11)))'),
    answer: 'The sum is 385.',
  },
  {
    asked: 'What does A-17 cost?',
    call: { calls: [{ name: 'look_up', arguments: { article: 'A-17' } }] },
    answer: 'A-17 costs 12.5.',
  },
  {
    asked: 'product of 6 and 7',
    call: python('run_python_code', 'print(6 * 7)'),
    answer: 'The product is 42.',
  },
  { asked: 'Remember that x', call: python('run_python_code', 'x = 6 * 7'), answer: 'I do.' },
  { asked: 'What is x?', call: python('run_python_code', 'print(x)'), answer: 'x is 42.' },
  {
    asked: 'Which month sold most?',
    call: python('run_python_code', 'import pandas as pd\npd.read_csv("sales.csv").sort_values("sold").month.iloc[-1]'),
    answer: 'June sold most.',
  },
  {
    asked: 'Draw what each month sold',
    call: python('run_python_code', 'import pandas as pd\npd.read_csv("sales.csv").plot.bar(x="month", y="sold")'),
    answer: 'The chart shows one bar for each month.',
  },
];

/** What the execution service asks for is a program, not an answer. */
const MEAN = `\`\`\`python
import pandas as pd
results = {"mean": float(pd.read_csv("sales.csv").price.mean())}
\`\`\``;

export function answer(request: ChatRequest): Reply {
  const asked = request.messages.map(({ content }) => content ?? '').join('\n');
  if (asked.includes('Compute the mean price')) return { text: MEAN };
  return answerOf(request);
}

function answerOf(request: ChatRequest): Reply {
  const asked = question(request);
  const turn = TURNS.find((candidate) => asked.includes(candidate.asked));
  if (turn === undefined) return { status: 400, message: `test/docs/model.ts has no answer to: ${asked}` };
  const results = toolResults(request);
  if (results.some((result) => /Traceback|Error/u.test(result)))
    return { status: 400, message: `a tool failed: ${results.join('\n')}` };
  return results.length === 0 ? turn.call : { text: turn.answer };
}

function python(name: string, code: string): Reply {
  return { calls: [{ name, arguments: { code } }] };
}
