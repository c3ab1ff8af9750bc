import type { Json } from '../execution/execution.ts';

/** What a model is told about a tool. */
export interface ToolDefinition {
  readonly name: string;
  /** States only facts: the actual limits, libraries and network access. */
  readonly description: string;
  /** JSON schema of the arguments. */
  readonly parameters: ParameterSchema;
}

/**
 * A JSON schema, in the form that the packages of all providers take: a type alias, since an interface has no index
 * signature, and with lists that are not readonly.
 */
export type ParameterSchema = {
  type: 'object';
  properties: Record<string, ParameterProperty>;
  required: string[];
};

/** The schema of one argument. Tools that are made of functions may have more keywords. */
export type ParameterProperty = {
  type: 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array' | 'null';
  description: string;
};

/**
 * Who calls, so that two conversations never share an interpreter. Models neither see nor choose it. Each id has two
 * spellings; give one of them. Unknown names are refused.
 */
export interface CallContext {
  /** The user or program that calls. Each has one session, and one more for each of its chats and sessions. */
  readonly clientId?: string;
  /** The conversation of the client. */
  readonly chatId?: string;
  /** A session of the client that you name yourself. */
  readonly sessionId?: string;
  /** Same as `clientId`. */
  readonly client_id?: string;
  /** Same as `chatId`. */
  readonly chat_id?: string;
  /** Same as `sessionId`. */
  readonly session_id?: string;
  /** More data for the code. Only some tools pass it on. */
  readonly variables?: Readonly<Record<string, Json>>;
}

/** The options of a call. */
export interface CallOptions {
  /** Aborting it stops the code. */
  readonly signal?: AbortSignal;
  /** Who calls. */
  readonly context?: CallContext;
}

/** A picture for a model that can see. */
export interface ToolImage {
  readonly mimeType: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';
  /** In base64. */
  readonly data: string;
}

/** The result of a call. */
export interface Observation {
  /** For the model: compact, without base64. */
  readonly text: string;
  /** For programs and pages: the result in the tool's own shape. */
  readonly payload: Json;
  readonly isError: boolean;
  /** The figures, for models that can see. The text names them too. */
  readonly images?: readonly ToolImage[];
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
