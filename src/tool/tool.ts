import type { Json } from '../execution/execution.ts';

/** What a model is told about a tool. */
export interface ToolDefinition {
  readonly name: string;
  /** States only facts: the actual limits, libraries and network access. */
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
 * Who calls, so that two conversations never share an interpreter. Models neither see nor choose it. Each id has two
 * spellings; give one of them. Unknown names are refused.
 */
export interface CallContext {
  readonly clientId?: string;
  readonly chatId?: string;
  readonly sessionId?: string;
  readonly client_id?: string;
  readonly chat_id?: string;
  readonly session_id?: string;
  /** More data for the code. Only some tools pass it on. */
  readonly variables?: Readonly<Record<string, Json>>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly context?: CallContext;
}

/** The result of a call. */
export interface Observation {
  /** For the model: compact, without base64. */
  readonly text: string;
  /** For programs and pages: the result in the tool's own shape. */
  readonly payload: Json;
  readonly isError: boolean;
}

/** Something that a model can call. */
export interface Tool {
  readonly name: string;
  /** False if the tool is neither shown to models nor called for them; absent means true. */
  readonly isEnabled?: boolean;
  /** Ask again for each conversation: the definition describes the live session. */
  define(): Promise<ToolDefinition>;
  /** Program errors and invalid arguments are observations. Only faults of the host are thrown. */
  call(args: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<Observation>;
}
