import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { Agent } from '../../agent/agent.ts';
import { Chat } from '../../agent/chat/chat.ts';
import { Display } from '../../agent/chat/display.ts';
import { LIMIT_REACHED } from '../../agent/loop.ts';
import { OpenAILLM } from '../../model/openai.ts';
import { parseConfig } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import type { Host } from '../../host/host.ts';
import { createHost } from '../../host/local-host.ts';
import type { Session } from '../../host/session.ts';
import { RunFolder } from '../../tool/code-interpreter/artifact-folder.ts';
import { SESSION_TOOL, SessionTool } from '../agent/session-tool.ts';
import { Stage } from '../agent/stage.ts';
import type { Context } from '../context.ts';
import { namedFiles } from '../given-files.ts';
import { configOf, parseMount, type SessionFlags } from '../options.ts';

export interface AgentFlags extends Omit<SessionFlags, 'echo'> {
  readonly file?: readonly string[];
  readonly model?: string;
  readonly baseUrl?: string;
  readonly maxIterations?: number;
  /** The model writes its actions as text. */
  readonly react?: boolean;
  readonly outputDir?: string;
}

const INSTRUCTIONS = `You are a data analysis assistant with a Python session.
Answer quantitative questions by running code with ${SESSION_TOOL}, never by guessing. Print what you need to see.
If code fails, read its traceback, fix it and run it again. Figures are shown to the user by themselves.
Then answer in the language of the question, briefly, with the numbers that the code gave.`;

/** Answers one question, or talks with whoever sits at the terminal. */
export async function agent(question: string | undefined, flags: AgentFlags, context: Context): Promise<number> {
  const { stdin, stdout, environment } = context;
  const { model, baseUrl } = flags;
  // First of all: without a model there is nothing to open a session for.
  const llm = new OpenAILLM({ ...(model && { model }), ...(baseUrl && { baseUrl }) }, environment);
  const isChat = question === undefined && stdin.isTTY && stdout.isTerminal;
  const asked = isChat ? '' : (question ?? (await text(stdin))).trim();
  if (!isChat && asked === '') throw new VivariumError('USAGE', 'There is no question. Give it as an argument.');
  const files = await namedFiles(flags.file ?? []);
  llm.connect().catch(() => undefined); // loads while the engine starts; whoever asks it meets the error
  await using desk = await openDesk(llm, { flags, files }, context);
  return isChat ? await chat(desk, context) : await answer(asked, desk, context);
}

interface Desk extends AsyncDisposable {
  readonly agent: Agent;
  readonly display: Display;
  readonly python: string;
}

/** What the agent works with: flags, and the files to upload by the name that they get. */
interface Order {
  readonly flags: AgentFlags;
  readonly files: ReadonlyMap<string, string>;
}

async function openDesk(llm: OpenAILLM, { flags, files }: Order, context: Context): Promise<Desk> {
  const { environment, lifetime, stdout } = context;
  const { preload: _, ...input } = configOf(flags, environment); // what models use most is worth its time here
  const config = parseConfig(input, environment);
  await using stack = new AsyncDisposableStack();
  const host = stack.use(await createHost({ ...input, dataDir: config.dataDir, signal: lifetime.signal }));
  const session = await openSession(host, flags);
  const notes = await uploadAll(session, files);
  const display = makeDisplay(context);
  const folder = new RunFolder(
    flags.outputDir === undefined
      ? path.join(config.dataDir, 'tool-artifacts', randomUUID())
      : path.resolve(flags.outputDir),
  );
  const { artifacts } = host;
  const stage = new Stage({ display, artifacts, folder, environment, isTerminal: stdout.isTerminal });
  const tool = new SessionTool({ session, host, limits: config.limits, watcher: stage });
  const { maxIterations, react = false } = flags;
  const partner = new Agent({
    name: 'vivarium',
    instructions: [INSTRUCTIONS, ...notes].join('\n'),
    model: llm,
    agentType: react ? 'react' : 'function_calling',
    ...(maxIterations !== undefined && { maxIterations }),
  });
  await partner.toolset({ tools: () => [tool] });
  const owned = stack.move();
  const python = `Python ${host.environment.version}, walls: ${session.isolation.level}`;
  return { agent: partner, display, python, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function openSession(host: Host, { mount = [], allowNetwork = false }: AgentFlags): Promise<Session> {
  return host.createSession({ mounts: mount.map(parseMount), network: allowNetwork, idleMs: null });
}

/** Puts files into the session, and says so for the model. */
async function uploadAll(session: Session, files: ReadonlyMap<string, string>): Promise<string[]> {
  const notes: string[] = [];
  for (const [name, file] of files) {
    const { sizeBytes } = await session.files.upload(name, createReadStream(file));
    notes.push(`The user gave you the file ${name} (${sizeBytes} bytes), in the current directory.`);
  }
  return notes;
}

const STYLES = { code: 'cyan', output: 'dim', error: 'red', notice: 'yellow' } as const;

/** Steps go where they do not get in the way: when the answer is piped on, only the answer is on standard output. */
function makeDisplay({ stdout, stderr }: Context): Display {
  const output = stdout.isTerminal ? stdout : stderr;
  return new Display({
    write: (words) => output.write(words),
    style: (kind, words) => output.style(STYLES[kind], words),
    isNews: ({ tool, observation }) => tool !== SESSION_TOOL || !observation.startsWith('{'),
  });
}

async function answer(question: string, { agent: partner, display }: Desk, context: Context): Promise<number> {
  const { stdout, lifetime } = context;
  let said = '';
  for await (const event of partner.streamSteps(question, { signal: lifetime.signal })) {
    if (event.type === 'final_answer') said = event.answer;
    const isForDisplay = stdout.isTerminal || (event.type !== 'token' && event.type !== 'final_answer');
    if (isForDisplay) await display.show(event);
  }
  if (!stdout.isTerminal) await stdout.line(said);
  return said === LIMIT_REACHED ? 1 : 0;
}

async function chat({ agent: partner, display, python }: Desk, context: Context): Promise<number> {
  const { stdin, stdout, lifetime } = context;
  const talk = new Chat(partner, { input: stdin, output: stdout.stream, signal: lifetime.signal, display });
  using _ = lifetime.handleInterrupts(() => talk.interrupt());
  await stdout.line(`${python}. Ctrl-C stops an answer, Ctrl-D leaves.`);
  await talk.run();
  await stdout.endLine();
  return 0;
}
