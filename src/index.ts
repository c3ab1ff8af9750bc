export { ERROR_CODES, VivariumError } from './errors.ts';
export type { ErrorCode } from './errors.ts';
export { extractCode } from './text/code/extract-code.ts';
export { escapeAnsi } from './text/clean-text.ts';
export { forModel } from './text/for-model.ts';
export { createHost } from './host/local/local-host.ts';
export type { Host, HostAccess } from './host/host.ts';
export type { FileFacts, FileList, NotebookOptions, Session, SessionFiles, SessionInfo } from './host/session.ts';
export type {
  Cancellable,
  EngineChoice,
  HostOptions,
  JupyterAccess,
  KeyOptions,
  OnceOptions,
  RunOptions,
  SessionOptions,
  TableOptions,
} from './host/options.ts';
export type { Artifact, Artifacts } from './artifact/artifact.ts';
export type { FileSource } from './workspace/workspace.ts';
export type { ClientOptions, Level, Limits, Mount } from './config.ts';
export type { Echo, Rollback, TableFormat } from './engine/engine.ts';
export type { ExportOptions } from './notebook/export.ts';
export type { Notebook } from './notebook/nbformat.ts';
export type { Environment } from './environment/environment.ts';
export type { Event, Summary } from './execution/event.ts';
export type {
  DataFrameSummary,
  EarlierEvent,
  Execution,
  Json,
  ProducedFigure,
  ProducedFile,
  Result,
  ResultTruncation,
  Spill,
  StateReceipt,
  StreamBytes,
  TranscriptEntry,
  Truncation,
  Variable,
  VariableChanges,
} from './execution/execution.ts';
export type { Isolation, Mechanism } from './execution/isolation.ts';
export type { Outcome, PythonError } from './execution/outcome.ts';
