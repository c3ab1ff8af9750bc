/** Sessions: what is known of them, what confines them, and what became of their variables. */
import { z } from 'zod';
import { LEVELS } from '../config.ts';
import { CountSchema, TimestampSchema } from './values.ts';

const mechanisms = (what: string) =>
  z
    .array(z.enum(['cgroup', 'rlimit', 'watchdog', 'tmpfs', 'affinity']))
    .describe(`What enforces the limit on ${what}.`);

export const IsolationSchema = z
  .object({
    level: z
      .enum([...LEVELS, 'jupyter'])
      .describe('How strongly sessions are confined. `jupyter`: only by whatever confines the kernels of the server.'),
    uid: z.enum(['own', 'shared']).describe('Whether each session has a user id of its own.'),
    files: z
      .enum(['private-root', 'landlock', 'host'])
      .describe('What limits the files that a session sees; `host`: nothing does.'),
    network: z
      .enum(['none', 'list', 'host'])
      .describe('Whether a session has no network, reaches listed hosts, or has that of the machine.'),
    proc: z.enum(['private', 'none', 'host']).describe('Which processes a session sees in `/proc`.'),
    memory: mechanisms('memory'),
    processes: mechanisms('the number of processes'),
    cpus: mechanisms('processors'),
    disk: mechanisms('disk space'),
    seccomp: z.boolean().describe('Whether system calls are filtered.'),
    landlock: CountSchema.describe('The Landlock ABI version of the kernel; 0 if it has none.'),
    missing: z.array(z.string()).describe('What the machine lacks, and what to do about it.'),
  })
  .meta({ id: 'Isolation', description: 'What is enforced for a session, and by what, as observed.' });

export const SessionInfoSchema = z
  .object({
    id: z.string().describe('The id of the session.'),
    key: z.string().describe('What the session is found by: its id, a chat, a client, or `default`.'),
    clientId: z.string().nullable().describe('The client that owns the session, if one does.'),
    status: z.enum(['idle', 'running', 'closed']).describe('Whether code is running in it now.'),
    createdAt: TimestampSchema.describe('When the session was created, in ISO 8601.'),
    lastUsedAt: TimestampSchema.describe('When the session was last used, in ISO 8601.'),
    executions: CountSchema.describe('How many runs were started.'),
    queued: CountSchema.describe('How many calls wait for their turn.'),
    workspace: z.string().describe('Where its files are: a path on the machine, or an address.'),
  })
  .meta({ id: 'SessionInfo', description: 'What is known of a session without asking its Python process.' });

const generation = CountSchema.describe('Grows by one whenever the state did not simply continue from the run before.');
const names = (what: string) => z.array(z.string()).describe(`Names of variables that the run ${what}.`);

export const VariableChangesSchema = z
  .object({
    added: names('added'),
    changed: names('changed'),
    removed: names('removed'),
    omitted: CountSchema.optional().describe('How many further names are not listed.'),
    unseen: CountSchema.optional().describe(
      'How many further variables may have changed; there was no time to look at them.',
    ),
  })
  .meta({ id: 'VariableChanges', description: 'The variables that a run touched, up to a limit.' });

export const EarlierEventSchema = z
  .object({
    status: z
      .enum(['restored', 'lost'])
      .describe('`restored`: a copy of the process took over, and no variable was lost. `lost`: all variables were.'),
    reason: z.string().describe('How the process was lost.'),
  })
  .meta({
    id: 'EarlierEvent',
    description: 'A loss of the Python process before a run.',
    examples: [{ status: 'restored', reason: 'between runs, the process was killed by SIGKILL' }],
  });

export const StateReceiptSchema = z
  .object({
    status: z
      .enum(['preserved', 'restored', 'lost'])
      .describe(
        '`preserved`: during the run only the code changed the state. `restored`: the run lost the process, and the ' +
          'variables are those from before it. `lost`: the variables from before are gone. With `earlier` they were ' +
          'gone before the run, and what the run did is kept; without it the run lost them.',
      ),
    earlier: EarlierEventSchema.exactOptional().describe(
      'What happened to the state since the last receipt that a caller received, and before this run.',
    ),
    generation,
    variables: VariableChangesSchema.describe('The variables that the run added, changed or removed.'),
    unprotected: z.string().exactOptional().describe('Why a crash of the next run would lose the state, if it would.'),
    remedy: z
      .string()
      .exactOptional()
      .describe('What can be done about `unprotected`. Only on the first receipt with this kind of reason.'),
    reason: z
      .string()
      .exactOptional()
      .describe(
        'Why the state was restored or lost, what became of a run that was stopped, or what else needs attention.',
      ),
  })
  .meta({
    id: 'StateReceipt',
    description: "What happened to the session's variables in this run.",
    examples: [{ status: 'preserved', generation: 0, variables: { added: ['x'], changed: [], removed: [] } }],
  });

export const VariableSchema = z
  .object({
    name: z.string().describe('The name of the variable; `…` in a last entry that counts those not listed.'),
    type: z.string().describe('The class of its value.'),
    description: z.string().describe('A short description of its value.'),
    sizeBytes: CountSchema.nullable().describe('How much memory the value uses; null if that is not known.'),
  })
  .meta({
    id: 'Variable',
    description: 'A variable of a session.',
    examples: [{ name: 'x', type: 'int', description: '42', sizeBytes: 28 }],
  });

export const CompletionSchema = z
  .object({
    matches: z.array(z.string()).describe('Texts that can replace the code from `start` to `end`, sorted.'),
    start: CountSchema.describe('Where the word that is completed begins, in UTF-16 code units.'),
    end: CountSchema.describe('The cursor, in UTF-16 code units.'),
  })
  .meta({
    id: 'Completion',
    description: 'What code can be completed with at a cursor.',
    examples: [{ matches: ['print', 'property'], start: 0, end: 2 }],
  });

export const RollbackSchema = z
  .object({
    generation,
    files: z
      .string()
      .describe(
        '`restored`, `restored in part` with what is not, or `kept` with the reason why the files were left as they are.',
      ),
  })
  .meta({ id: 'Rollback', description: 'The result of undoing the last run that changed the state.' });
