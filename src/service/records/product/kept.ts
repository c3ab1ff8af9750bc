import { VivariumError } from '../../../errors.ts';

/** Gives the content of a file that a run left, by its id. */
export type OpenArtifact = (id: string) => Promise<AsyncIterable<Uint8Array>>;

export type Content = { readonly content: AsyncIterable<Uint8Array> } | { readonly problem: string };

/** What waited too long for its approval may be gone. */
export async function openKept(id: string, openArtifact: OpenArtifact): Promise<Content> {
  try {
    return { content: await openArtifact(id) };
  } catch (error) {
    if (!(error instanceof VivariumError) || error.code !== 'ARTIFACT_NOT_FOUND') throw error;
    return { problem: 'its copy is gone' };
  }
}
