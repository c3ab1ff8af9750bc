import { VivariumError } from '../errors.ts';

const MAX_WORDS = 500;

/** Converts an error of a model or its endpoint, and adds its status and what to check. */
export function modelFailure(error: unknown): VivariumError {
  if (error instanceof VivariumError) return error;
  const status = statusOf(error);
  // LangChain appends a paragraph with a link.
  const words = [...causes(error)].map(({ message }) => message.split('\n\n')[0]?.trim()).filter(Boolean);
  const said = [...new Set(words)].join(': ').slice(0, MAX_WORDS).replace(/\.$/u, '');
  const how = status === undefined ? '' : ` with status ${status}`;
  return new VivariumError('LLM_FAILED', `The model failed${how}: ${said || 'no reason given'}. ${advise(status)}`, {
    cause: error,
  });
}

function statusOf(error: unknown): number | undefined {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined;
  return typeof status === 'number' ? status : undefined;
}

function* causes(error: unknown): Generator<Error> {
  const seen = new Set<unknown>();
  for (let next = error; next instanceof Error && !seen.has(next); next = next.cause) {
    seen.add(next);
    yield next;
  }
}

function advise(status: number | undefined): string {
  if (status === undefined) return 'Check that the endpoint is running and that the base URL is correct.';
  if (status === 401 || status === 403) return 'Check the API key and its permissions.';
  if (status === 404) return 'Check the base URL and the name of the model.';
  if (status === 429) return 'Wait, or raise the limits of the account. The request was already retried.';
  if (status >= 500) return 'The request was already retried. Try again later, or check the log of the endpoint.';
  return 'Check that the model supports tools and that the conversation is not too long for it.';
}
