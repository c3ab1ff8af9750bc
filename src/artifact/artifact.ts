/** A file that a run produced. It outlives its session until its time is over, and is found by its id. */
export interface Artifact {
  readonly id: string;
  /** Path in the workspace in which it was found. */
  readonly name: string;
  readonly sizeBytes: number;
  readonly mime: string;
  /** Of the content, in hexadecimal digits. */
  readonly sha256: string;
  readonly createdAt: Date;
  readonly sessionId: string;
  readonly executionId: string;
}
