import { VivariumError } from '../errors.ts';
import { refuse } from './call.ts';
import type { CallContext, CallOptions, Observation, Tool, ToolDefinition } from './tool.ts';

/** A call that waits for somebody's decision. */
export interface ToolApprovalRequest {
  readonly tool: string;
  /** What the model wants to call it with, such as `{ code: '…' }`. */
  readonly args: Readonly<Record<string, unknown>>;
  /** Who calls. */
  readonly context: CallContext;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal?: AbortSignal;
}

/** Only `true` and `{ approved: true }` approve. The reason for a rejection is told to the model. */
export type ToolDecision = boolean | { readonly approved: boolean; readonly reason?: string };

export interface ToolApprovalOptions {
  /** Asks somebody, and returns the decision. What it throws is thrown by the call. */
  readonly approve: (request: ToolApprovalRequest) => ToolDecision | Promise<ToolDecision>;
  /** Which calls are asked about. By default all of them. */
  readonly when?: (request: ToolApprovalRequest) => boolean;
}

/** The same tool, whose calls run only after somebody approved them. A rejected call is an observation, and runs nothing. */
export function withApproval(tool: Tool, { approve, when = () => true }: ToolApprovalOptions): Tool {
  if (typeof approve !== 'function' || typeof when !== 'function') {
    throw new VivariumError('CONFIG_INVALID', 'withApproval() needs `approve`, a function that returns a decision.');
  }
  return {
    name: tool.name,
    ...(tool.isEnabled !== undefined && { isEnabled: tool.isEnabled }),
    define: async (): Promise<ToolDefinition> => tool.define(),
    call: async (args, options: CallOptions = {}): Promise<Observation> => {
      const shown = structuredClone(args); // what is approved is what runs, whatever the asker does to its copy
      const { context = {}, signal } = options;
      const request: ToolApprovalRequest = { tool: tool.name, args: shown, context, ...(signal && { signal }) };
      const approved = structuredClone(args);
      if (!when(request)) return tool.call(approved, options);
      const decision = await approve(request);
      signal?.throwIfAborted();
      return isApproved(decision) ? tool.call(approved, options) : rejection(tool.name, decision);
    },
  };
}

/** Callers from JavaScript may return anything. */
function isApproved(decision: unknown): boolean {
  if (decision === true) return true;
  return typeof decision === 'object' && decision !== null && 'approved' in decision && decision.approved === true;
}

function rejection(name: string, decision: ToolDecision): Observation {
  const reason = typeof decision === 'object' && decision !== null ? decision.reason : undefined;
  const text = `This call of ${name} was rejected, so nothing ran${reason === undefined ? '' : `: ${reason}`}. Do not repeat it unchanged; ask the user what to do instead.`;
  return refuse(text, { success: false, error: text, rejected: true });
}
