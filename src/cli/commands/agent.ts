import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { Agent } from '../../agent/agent.ts';
import { Chat } from '../../agent/chat/chat.ts';
import { Display } from '../../agent/chat/display.ts';
import { LIMIT_REACHED } from '../../agent/loop.ts';
import { OpenAILLM } from '../../model/openai.ts';
import { VivariumError } from '../../errors.ts';
import type { Host } from '../../host/host.ts';
import type { Session } from '../../host/session.ts';
import { SESSION_TOOL, SessionTool } from '../agent/session-tool.ts';
import { RunDisplay } from '../agent/run-display.ts';
import type { Context } from '../terminal/context.ts';
import { OutputFolder } from '../session/output-folder.ts';
import { namedFiles } from '../session/user-files.ts';
import { configOf, networkOf, type SessionFlags } from '../session/flags.ts';
import { mountsOf, openHost, remoteSettings, serverOf } from '../session/host.ts';

export interface AgentFlags extends Omit<SessionFlags, 'echo'> {
  readonly file?: readonly string[];
  readonly model?: string;
  readonly baseUrl?: string;
  readonly maxIterations?: number;
  /** The model writes its actions as text. */
  readonly react?: boolean;
  readonly outputDir?: string;
  readonly overwrite?: boolean;
}

const INSTRUCTIONS = `You are a data analysis assistant with a Python session.
Answer quantitative questions by running code with ${SESSION_TOOL}, never by guessing. Print what you need to see.
If code fails, read its traceback, fix it and run it again. Figures are shown to the user without further code.
Then answer in the language of the question, briefly, with the numbers that the code gave.`;

/** Answers one question, or chats with the person at the terminal. */
export async function agent(question: string | undefined, flags: AgentFlags, context: Context): Promise<number> {
  const { stdin, stdout, environment } = context;
  const { model, baseUrl } = flags;
  // First, because without a model there is no need to open a session.
  const llm = new OpenAILLM({ ...(model && { model }), ...(baseUrl && { baseUrl }) }, environment);
  const isChat = question === undefined && stdin.isTTY && stdout.isTerminal;
  const asked = isChat ? '' : (question ?? (await text(stdin))).trim();
  if (!isChat && asked === '') throw new VivariumError('USAGE', 'There is no question. Give it as an argument.');
  const files = await namedFiles(flags.file ?? []);
  llm.connect().catch(() => undefined); // loads while the engine starts; the first request reports an error
  await using opened = await openAgent(llm, { flags, files }, context);
  return isChat ? await chat(opened, context) : await answer(asked, opened, context);
}

interface OpenedAgent extends AsyncDisposable {
  readonly agent: Agent;
  readonly display: Display;
  /** The Python it uses, in words. */
  readonly python: string;
}

interface AgentRequest {
  readonly flags: AgentFlags;
  /** Paths of the files to upload, by their names in the session. */
  readonly files: ReadonlyMap<string, string>;
}

async function openAgent(llm: OpenAILLM, { flags, files }: AgentRequest, context: Context): Promise<OpenedAgent> {
  const { environment, stdout } = context;
  const { preload: _, ...config } = configOf(flags, environment); // models use the default libraries: preload them
  await using stack = new AsyncDisposableStack();
  const host = stack.use(await openHost(flags, config, context));
  const session = stack.use(await openSession(host, flags, environment));
  const notes = await uploadAll(session, files);
  const display = makeDisplay(context);
  const directory = flags.outputDir ?? path.join(config.dataDir, 'tool-artifacts', randomUUID());
  const report = (words: string): Promise<void> => display.block('notice', `[${words}]`);
  const { overwrite: overwrites = false } = flags;
  const folder = new OutputFolder({ directory, overwrites, artifacts: host.artifacts, report });
  const listener = new RunDisplay({ display, folder, environment, isTerminal: stdout.isTerminal });
  const tool = new SessionTool({ session, host, limits: host.limits, listener });
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
  const python = `Python ${host.environment.version}, isolation: ${session.isolation.level}`;
  return { agent: partner, display, python, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function openSession(host: Host, flags: AgentFlags, environment: NodeJS.ProcessEnv): Promise<Session> {
  const server = serverOf(flags, environment);
  const setting = server === undefined ? { idleMs: null } : remoteSettings(flags);
  return host.createSession({ mounts: mountsOf(flags, server), network: networkOf(flags), ...setting });
}

/** Uploads files into the session. The notes tell the model about them. */
async function uploadAll(session: Session, files: ReadonlyMap<string, string>): Promise<string[]> {
  const notes: string[] = [];
  for (const [name, file] of files) {
    const { sizeBytes } = await session.files.upload(name, createReadStream(file));
    notes.push(`The user gave you the file ${name} (${sizeBytes} bytes), in the current directory.`);
  }
  return notes;
}

const STYLES = { code: 'cyan', output: 'dim', error: 'red', notice: 'yellow' } as const;

/** Shows steps on standard error if standard output is not a terminal: a pipe gets only the answer. */
function makeDisplay({ stdout, stderr }: Context): Display {
  const output = stdout.isTerminal ? stdout : stderr;
  return new Display({
    write: (words) => output.write(words),
    style: (kind, words) => output.style(STYLES[kind], words),
    isNews: ({ tool, observation }) => tool !== SESSION_TOOL || !observation.startsWith('{'),
  });
}

async function answer(question: string, { agent: partner, display }: OpenedAgent, context: Context): Promise<number> {
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

async function chat({ agent: partner, display, python }: OpenedAgent, context: Context): Promise<number> {
  const { stdin, stdout, lifetime } = context;
  const talk = new Chat(partner, { input: stdin, output: stdout.stream, signal: lifetime.signal, display });
  using _ = lifetime.handleInterrupts(() => talk.interrupt());
  await stdout.line(`${python}. Ctrl-C stops an answer, Ctrl-D leaves.`);
  await talk.run();
  await stdout.endLine();
  return 0;
}
