/** What a tool gave: its output, and what went wrong if something did. The output is complete in both cases. */
export class ToolResult {
  readonly output: string;
  readonly error: string | null;
  /** What is known of the run besides: which walls there were, where they are weaker than the usual ones. */
  readonly metadata: { readonly isolation?: string };

  constructor(output: string, error: string | null = null, metadata: ToolResult['metadata'] = {}) {
    this.output = output;
    this.error = error;
    this.metadata = metadata;
  }

  get isError(): boolean {
    return this.error !== null;
  }

  get is_error(): boolean {
    return this.isError;
  }

  /** What a model needs: the output also where there is an error. */
  toString(): string {
    return this.error === null ? this.output : `${this.output}\n${this.error}`;
  }
}
