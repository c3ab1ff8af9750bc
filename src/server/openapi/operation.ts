import type { z } from 'zod';
import type { ErrorCode } from '../../errors.ts';

/** What is sent one way or the other, if it is not JSON: bytes of any type, or text of one. */
export interface OtherContent {
  readonly mime: string;
  readonly description: string;
}

/** One thing that the server can be asked for. */
export interface Operation {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** With parameters in braces. */
  readonly path: string;
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType | OtherContent;
  /** Whether there may be no body. */
  readonly isBodyOptional?: boolean;
  /** Request headers that it knows. */
  readonly headers?: readonly RequestHeader[];
  /** The status of its answer when all goes well, and what it holds. */
  readonly status: number;
  readonly answer?: z.ZodType | OtherContent;
  /** What comes instead, one by one, if the request accepts `text/event-stream`. */
  readonly events?: z.ZodType;
  /** Whether only a stream is answered. */
  readonly isStream?: boolean;
  /** Another answer, such as that of a request that does not wait. */
  readonly otherwise?: { readonly status: number; readonly answer: z.ZodType | OtherContent };
  /** The header that names what was begun. */
  readonly names?: string;
  /** Errors besides those that any request can meet. */
  readonly errors?: readonly ErrorCode[];
}

export type RequestHeader = 'Idempotency-Key' | 'Last-Event-ID' | 'Range';
