/** A run took longer than it may. Thrown only to callers who asked for exceptions. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}
