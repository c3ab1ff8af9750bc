/** Schemas and interfaces are the same types. The compiler checks this; nothing here can fail at run time. */
import { expectTypeOf, test } from 'vitest';
import type { z } from 'zod';
import type { Artifact } from '../../src/artifact/artifact.ts';
import type { FileFacts, FileList } from '../../src/host/session.ts';
import type { Limits, Mount } from '../../src/config.ts';
import type { Completion, Rollback } from '../../src/engine/engine.ts';
import type { Event, SavedFigure, Summary } from '../../src/execution/event.ts';
import type * as execution from '../../src/execution/execution.ts';
import type { Isolation } from '../../src/execution/isolation.ts';
import type { Outcome, PythonError } from '../../src/execution/outcome.ts';
import type { HostOptions, KeyOptions, OnceOptions, RunOptions, SessionOptions } from '../../src/host/options.ts';
import type { TableOptions } from '../../src/host/options.ts';
import type { SessionInfo } from '../../src/host/session.ts';
import type { ApprovalPayload } from '../../src/service/approval/payload.ts';
import type { Effects } from '../../src/service/approval/effects.ts';
import type { Approval, Decision } from '../../src/storage/approvals/approval.ts';
import type * as approval from '../../src/wire/approval.ts';
import type * as artifact from '../../src/wire/artifact.ts';
import type { EventSchema } from '../../src/wire/event.ts';
import type * as wire from '../../src/wire/execution.ts';
import type * as options from '../../src/wire/options.ts';
import type * as outcome from '../../src/wire/outcome.ts';
import type * as result from '../../src/wire/result.ts';
import type * as session from '../../src/wire/session.ts';
import type { JsonSchema } from '../../src/wire/values.ts';

type Json = execution.Json;
type Primitive = string | number | boolean | null | undefined;

/** A type without what has no meaning on the wire: `readonly`, intersections, and `undefined` beside `?`. */
type Plain<T> = [Json] extends [T] ? Json : PlainPart<T>;
type PlainPart<T> = T extends Primitive | Date
  ? T
  : T extends readonly (infer E)[]
    ? Plain<E>[]
    : { -readonly [K in keyof T]: Plain<Exclude<T[K], undefined>> };

type Answered<S extends z.ZodType> = Plain<z.output<S>>;
type Sent<S extends z.ZodType> = Plain<z.input<S>>;

test('what is answered has the types of the interfaces', () => {
  expectTypeOf<Answered<typeof wire.ExecutionSchema>>().toEqualTypeOf<Plain<execution.Execution>>();
  expectTypeOf<Answered<typeof wire.SummarySchema>>().toEqualTypeOf<Plain<Summary>>();
  expectTypeOf<Answered<typeof wire.StreamBytesSchema>>().toEqualTypeOf<Plain<execution.StreamBytes>>();
  expectTypeOf<Answered<typeof wire.TruncationSchema>>().toEqualTypeOf<Plain<execution.Truncation>>();
  expectTypeOf<Answered<typeof wire.ResultTruncationSchema>>().toEqualTypeOf<Plain<execution.ResultTruncation>>();
  expectTypeOf<Answered<typeof outcome.OutcomeSchema>>().toEqualTypeOf<Plain<Outcome>>();
  expectTypeOf<Answered<typeof outcome.PythonErrorSchema>>().toEqualTypeOf<Plain<PythonError>>();
  expectTypeOf<Answered<typeof result.ResultSchema>>().toEqualTypeOf<Plain<execution.Result>>();
  expectTypeOf<Answered<typeof result.TranscriptEntrySchema>>().toEqualTypeOf<Plain<execution.TranscriptEntry>>();
  expectTypeOf<Answered<typeof result.DataFrameSummarySchema>>().toEqualTypeOf<Plain<execution.DataFrameSummary>>();
  expectTypeOf<Answered<typeof artifact.ProducedFileSchema>>().toEqualTypeOf<Plain<execution.ProducedFile>>();
  expectTypeOf<Answered<typeof artifact.ProducedFigureSchema>>().toEqualTypeOf<Plain<execution.ProducedFigure>>();
  expectTypeOf<Answered<typeof artifact.SpillSchema>>().toEqualTypeOf<Plain<execution.Spill>>();
  expectTypeOf<Answered<typeof artifact.ArtifactSchema>>().toEqualTypeOf<Plain<Artifact>>();
  expectTypeOf<Answered<typeof artifact.FileFactsSchema>>().toEqualTypeOf<Plain<FileFacts>>();
  expectTypeOf<Answered<typeof artifact.FileListSchema>>().toEqualTypeOf<Plain<FileList>>();
  expectTypeOf<Answered<typeof session.IsolationSchema>>().toEqualTypeOf<Plain<Isolation>>();
  expectTypeOf<Answered<typeof session.StateReceiptSchema>>().toEqualTypeOf<Plain<execution.StateReceipt>>();
  expectTypeOf<Answered<typeof session.EarlierEventSchema>>().toEqualTypeOf<Plain<execution.EarlierEvent>>();
  expectTypeOf<Answered<typeof session.VariableChangesSchema>>().toEqualTypeOf<Plain<execution.VariableChanges>>();
  expectTypeOf<Answered<typeof session.VariableSchema>>().toEqualTypeOf<Plain<execution.Variable>>();
  expectTypeOf<Answered<typeof session.CompletionSchema>>().toEqualTypeOf<Plain<Completion>>();
  expectTypeOf<Answered<typeof session.RollbackSchema>>().toEqualTypeOf<Plain<Rollback>>();
  expectTypeOf<Answered<typeof session.SessionInfoSchema>>().toEqualTypeOf<Plain<SessionInfo>>();
  expectTypeOf<Answered<typeof EventSchema>>().toEqualTypeOf<Plain<Event>>();
  expectTypeOf<Answered<typeof JsonSchema>>().toEqualTypeOf<Plain<Json>>();
  expectTypeOf<Answered<typeof approval.ApprovalSchema>>().toEqualTypeOf<Plain<Approval>>();
});

test('what is sent has the types of the interfaces, but for signals and functions', () => {
  expectTypeOf<Sent<typeof options.RunOptionsSchema>>().toEqualTypeOf<Plain<Omit<RunOptions, 'signal' | 'onEvent'>>>();
  expectTypeOf<Sent<typeof options.KeyOptionsSchema>>().toEqualTypeOf<Plain<KeyOptions>>();
  expectTypeOf<Sent<typeof options.SessionOptionsSchema>>().toEqualTypeOf<Plain<Omit<SessionOptions, 'signal'>>>();
  expectTypeOf<Sent<typeof options.OnceOptionsSchema>>().toEqualTypeOf<
    Plain<Omit<OnceOptions, 'signal' | 'onEvent'>>
  >();
  expectTypeOf<Sent<typeof options.HostOptionsSchema>>().toEqualTypeOf<
    Plain<Omit<HostOptions, 'signal' | 'log' | 'logCode'>>
  >();
  expectTypeOf<Sent<typeof options.TableOptionsSchema>>().toEqualTypeOf<Plain<Omit<TableOptions, 'signal'>>>();
  expectTypeOf<Sent<typeof options.LimitsSchema>>().toEqualTypeOf<Plain<Partial<Limits>>>();
  expectTypeOf<Sent<typeof options.MountSchema>>().toEqualTypeOf<
    Plain<Pick<Mount, 'source' | 'target'> & Partial<Pick<Mount, 'writable'>>>
  >();
  expectTypeOf<Sent<typeof approval.DecisionSchema>>().toEqualTypeOf<Plain<Decision>>();
});

test('a reviewer is shown what the service found', () => {
  type Payload = z.output<typeof approval.ApprovalPayloadSchema>;
  expectTypeOf<keyof Payload>().toEqualTypeOf<keyof ApprovalPayload>();
  expectTypeOf<keyof NonNullable<Payload['resume_payload']['effects']>>().toEqualTypeOf<keyof Effects>();
});

type Parsed = z.output<typeof wire.ExecutionSchema>;
type WithoutSpills = z.ZodObject<Omit<(typeof wire.ExecutionSchema)['shape'], 'spills'>>;
type WithMore = z.ZodType<Parsed & { more?: string }>;
type WithOptionalId = z.ZodType<Omit<Parsed, 'id'> & { id?: string }>;
type WithOtherId = z.ZodType<Omit<Parsed, 'id'> & { id: string | null }>;
type WithFewerOutcomes = z.ZodType<Exclude<Outcome, { status: 'crashed' }>>;
type DeepChange = z.ZodType<Omit<Parsed, 'state'> & { state: Omit<Parsed['state'], 'reason'> }>;

test('every difference is seen', () => {
  // @ts-expect-error - an optional field is missing
  expectTypeOf<Answered<WithoutSpills>>().toEqualTypeOf<Plain<execution.Execution>>();
  // @ts-expect-error - an optional field is there that the interface lacks
  expectTypeOf<Answered<WithMore>>().toEqualTypeOf<Plain<execution.Execution>>();
  // @ts-expect-error - a field is optional that the interface requires
  expectTypeOf<Answered<WithOptionalId>>().toEqualTypeOf<Plain<execution.Execution>>();
  // @ts-expect-error - a field has a wider type
  expectTypeOf<Answered<WithOtherId>>().toEqualTypeOf<Plain<execution.Execution>>();
  // @ts-expect-error - a case of a union is missing
  expectTypeOf<Answered<WithFewerOutcomes>>().toEqualTypeOf<Plain<Outcome>>();
  // @ts-expect-error - an optional field is missing further inside
  expectTypeOf<Answered<DeepChange>>().toEqualTypeOf<Plain<execution.Execution>>();
  // @ts-expect-error - the schemas of the parts are told apart
  expectTypeOf<Answered<typeof artifact.ProducedFileSchema>>().toEqualTypeOf<Plain<SavedFigure>>();
});
