/** Commands of the system over HTTP. */
import { z } from 'zod';
import { TruncationSchema } from '../execution.ts';
import { CountSchema, StreamSchema } from '../values.ts';

const Text = z.string().regex(/^[^\0]*$/, 'must not contain NUL');

export const CommandRequestSchema = z
  .strictObject({
    argv: z.array(Text).min(1).describe('The program and its arguments.'),
    cwd: Text.min(1).exactOptional().describe('The directory that it runs in, relative to the workspace.'),
    env: z
      .record(z.string().regex(/^[^\0=]+$/), Text)
      .exactOptional()
      .describe('Environment variables besides those of the session.'),
    input: z
      .string()
      .exactOptional()
      .describe('What it reads as its standard input. Without it, a command in the background waits for input.'),
    timeoutMs: z
      .int()
      .positive()
      .max(24 * 3_600_000)
      .nullable()
      .exactOptional()
      .describe('The longest that it may take, in milliseconds; null for as long as the session.'),
    background: z
      .boolean()
      .exactOptional()
      .meta({ description: 'Whether to answer as soon as it has been started.', default: false }),
  })
  .meta({ id: 'CommandRequest', description: 'A command of the system.', examples: [{ argv: ['bash', '-c', 'ls'] }] });

export const ExecResultSchema = z
  .object({
    exitCode: z.int().nullable().describe('Null if a signal ended it. 127 if there is no such program.'),
    signal: z.string().nullable().describe('The signal that ended it, if one did.'),
    stdout: z.string().describe('What it printed to standard output.'),
    stderr: z.string().describe('What it printed to standard error.'),
    truncated: z
      .object({ stdout: TruncationSchema.exactOptional(), stderr: TruncationSchema.exactOptional() })
      .exactOptional()
      .describe('Present if output went over its budget.'),
    timedOut: z.boolean().describe('Whether it was ended because its time was over.'),
    reason: z.string().exactOptional().describe('Why it was ended, if it did not end by itself.'),
    durationMs: z.number().nonnegative().describe('How long it took, in milliseconds.'),
  })
  .meta({ id: 'ExecResult', description: 'How a command ended, and what it printed.' });

export const CommandViewSchema = z
  .object({
    id: z.string().describe('The id of the command.'),
    pid: CountSchema.describe('Its number, as the processes of the session see it.'),
  })
  .meta({ id: 'CommandView', description: 'A command that has been started.' });

export const CommandEventSchema = z
  .discriminatedUnion('type', [
    z
      .object({
        type: z.literal('output').describe('What happened.'),
        stream: StreamSchema.describe('The stream that it was printed to.'),
        text: z.string().describe('The text.'),
      })
      .meta({ id: 'CommandOutputEvent', description: 'The command printed text.' }),
    z
      .object({
        type: z.literal('ended').describe('What happened.'),
        result: ExecResultSchema.describe('How it ended. Output is here, too, within its budget.'),
      })
      .meta({ id: 'CommandEndedEvent', description: 'The command has ended. This is the last event of a stream.' }),
  ])
  .meta({ id: 'CommandEvent', description: 'Something that happened while a command ran.' });

/** Those that a program may be sent. */
const SIGNALS = [
  'SIGHUP',
  'SIGINT',
  'SIGQUIT',
  'SIGKILL',
  'SIGUSR1',
  'SIGUSR2',
  'SIGPIPE',
  'SIGALRM',
  'SIGTERM',
  'SIGCONT',
  'SIGSTOP',
  'SIGTSTP',
  'SIGWINCH',
] as const;

export const SignalRequestSchema = z
  .strictObject({ signal: z.enum(SIGNALS).exactOptional().meta({ description: 'The signal.', default: 'SIGKILL' }) })
  .meta({ id: 'SignalRequest', description: 'A signal for a command and everything that it has started.' });

export const SignalAnswerSchema = z
  .object({ delivered: z.boolean().describe('False if the command has ended already.') })
  .meta({ id: 'SignalAnswer', description: 'Whether a signal was delivered.' });
