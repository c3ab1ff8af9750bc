/** What a tool gave: its output, and what went wrong if something did. The output is complete in both cases. */
export class ToolResult {
  readonly output: string;
  readonly error: string | null;

  constructor(output: string, error: string | null = null) {
    this.output = output;
    this.error = error;
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
