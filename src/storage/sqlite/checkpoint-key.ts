/** Reads which checkpoint LangGraph means from the three untyped fields of a config. */
import type { RunnableConfig } from '@langchain/core/runnables';
import { z } from 'zod';
import { VivariumError } from '../../errors.ts';

const Configurable = z.object({
  thread_id: z.string().min(1).optional(),
  checkpoint_ns: z.string().optional(),
  checkpoint_id: z.string().optional(),
});

/** Identifies one checkpoint. */
export interface CheckpointKey {
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string;
}

type PartialKey = { readonly [Part in keyof CheckpointKey]?: string | undefined };

export function readKey({ configurable }: RunnableConfig): PartialKey {
  const parsed = Configurable.safeParse(configurable ?? {});
  if (!parsed.success) throw invalid(z.prettifyError(parsed.error), parsed.error);
  const { thread_id, checkpoint_ns, checkpoint_id } = parsed.data;
  return { threadId: thread_id, namespace: checkpoint_ns, checkpointId: checkpoint_id || undefined };
}

/** `name` is LangGraph's name for `part`, used in the message. */
export function requireId<Key extends PartialKey, Part extends keyof CheckpointKey>(
  name: string,
  key: Key,
  part: Part,
): Key & { readonly [Required in Part]: string } {
  const value = key[part];
  if (value === undefined) throw invalid(`"${name}" is missing`);
  return { ...key, [part]: value };
}

export function checkpointConfig(threadId: string, namespace: string, checkpointId: string): RunnableConfig {
  return { configurable: { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: checkpointId } };
}

function invalid(reason: string, cause?: unknown): VivariumError {
  return new VivariumError(
    'CONFIG_INVALID',
    `A checkpoint cannot be found or stored: ${reason}. Call the graph with { configurable: { thread_id: "…" } }.`,
    { cause },
  );
}
