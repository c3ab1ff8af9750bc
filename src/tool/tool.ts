import type { Json } from '../execution/execution.ts';

/** What a model is told of a tool. */
export interface ToolDefinition {
  readonly name: string;
  /** Says only what holds: real limits, real libraries, network or not. */
  readonly description: string;
  /** JSON schema of the arguments. */
  readonly parameters: ParameterSchema;
}

export interface ParameterSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, { readonly type: string; readonly description: string }>>;
  readonly required: readonly string[];
}

/**
 * Who calls, so that two conversations never share an interpreter. A model neither sees nor chooses it. Each id has two
 * spellings, of which one is given; anything else is refused.
 */
export interface CallContext {
  readonly clientId?: string;
  readonly chatId?: string;
  readonly sessionId?: string;
  readonly client_id?: string;
  readonly chat_id?: string;
  readonly session_id?: string;
  /** Further facts for the code, where a tool hands them on. */
  readonly variables?: Readonly<Record<string, Json>>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly context?: CallContext;
}

/** What a call gave. */
export interface Observation {
  /** What the model sees: compact, without base64. */
  readonly text: string;
  /** The answer in the tool's own shape, for programs and pages. */
  readonly payload: Json;
  readonly isError: boolean;
}

/** Something that a model can call. */
export interface Tool {
  readonly name: string;
  /** False for one that is neither shown to a model nor carried out for it; absent means true. */
  readonly isEnabled?: boolean;
  /** Asked anew for each conversation: it is built from the live session. */
  define(): Promise<ToolDefinition>;
  /** What the program does, and arguments that do not fit, are observations; only our own fault is thrown. */
  call(args: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<Observation>;
}
