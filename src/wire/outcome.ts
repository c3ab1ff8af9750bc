/** How an execution ended. */
import { z } from 'zod';

const status = <const S extends string>(name: S) => z.literal(name).describe('How the execution ended.');

export const OutcomeSchema = z
  .discriminatedUnion('status', [
    z
      .object({ status: status('succeeded') })
      .meta({ id: 'SucceededOutcome', description: 'The program ran to its end.' }),
    z
      .object({ status: status('raised') })
      .meta({ id: 'RaisedOutcome', description: 'The program ended with an uncaught exception; see `error`.' }),
    z
      .object({
        status: status('timed-out'),
        limit: z
          .enum(['wall', 'cpu'])
          .describe('Which limit was reached: `wall` is elapsed time, `cpu` is processor time.'),
        limitMs: z.number().describe('The limit, in milliseconds.'),
      })
      .meta({ id: 'TimedOutOutcome', description: 'The program was stopped at a time limit.' }),
    z
      .object({ status: status('cancelled') })
      .meta({ id: 'CancelledOutcome', description: 'The caller stopped the program, or took it out of the queue.' }),
    z
      .object({
        status: status('out-of-memory'),
        limitMb: z.number().describe('The memory limit of the session, in megabytes.'),
      })
      .meta({ id: 'OutOfMemoryOutcome', description: 'The program was stopped because it used too much memory.' }),
    z
      .object({
        status: status('crashed'),
        signal: z.string().nullable().describe('The signal that ended the process, such as `SIGSEGV`, if one did.'),
        exitCode: z.int().nullable().describe('The exit code of the process, if it exited by itself.'),
        reason: z.string().describe('What happened, in words.'),
        cause: z
          .literal('connection')
          .exactOptional()
          .describe('Present when the connection to the session broke: what became of the program is not known.'),
      })
      .meta({ id: 'CrashedOutcome', description: 'The process of the program ended unexpectedly.' }),
  ])
  .meta({
    id: 'Outcome',
    description: 'How an execution ended. Whatever the program does is an outcome, never an error of the API.',
    examples: [{ status: 'succeeded' }, { status: 'timed-out', limit: 'wall', limitMs: 60000 }],
  });

export const PythonErrorSchema = z
  .object({
    name: z.string().describe('The class of the exception, such as `ValueError`.'),
    value: z.string().describe('The message of the exception.'),
    traceback: z.string().describe('The traceback, as Python prints it.'),
  })
  .meta({
    id: 'PythonError',
    description: 'An uncaught Python exception.',
    examples: [
      {
        name: 'ZeroDivisionError',
        value: 'division by zero',
        traceback:
          'Traceback (most recent call last):\n  File "<cell>", line 1, in <module>\nZeroDivisionError: division by zero\n',
      },
    ],
  });
