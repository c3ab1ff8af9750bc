export { ERROR_CODES, VivariumError } from './errors.ts';
export type { ErrorCode } from './errors.ts';
export { extractCode } from './text/code/extract-code.ts';
export { escapeAnsi } from './text/clean-text.ts';
export { forModel } from './text/for-model.ts';
export { createHost } from './create-host.ts';
export type { RemoteHostOptions } from './create-host.ts';
export { connect } from './remote/connect.ts';
export type { ConnectOptions } from './remote/connect.ts';
export type { Host, HostAccess } from './host/host.ts';
export type {
  FileContent,
  FileFacts,
  FileList,
  NotebookOptions,
  Session,
  SessionFiles,
  SessionInfo,
} from './host/session.ts';
export type {
  Cancellable,
  EngineChoice,
  ExecOptions,
  HostOptions,
  JupyterAccess,
  KeyOptions,
  OnceOptions,
  RunOptions,
  SessionOptions,
  SpawnOptions,
  StreamedRunOptions,
  TableOptions,
} from './host/options.ts';
export type { Artifact, Artifacts } from './artifact/artifact.ts';
export type { FileSource } from './workspace/workspace.ts';
export type {
  ClientOptions,
  ConfigInput,
  Level,
  Limits,
  LimitsInput,
  Mount,
  MountInput,
  NetworkInput,
  NetworkSetting,
  PackagePolicy,
  SecretInput,
  ServerAddress,
} from './config.ts';
export type { LogEntry, Logger } from './log.ts';
export type { NetworkList } from './network/list.ts';
export type { Completion, Echo, PackageInstallation, Rollback, TableFormat } from './engine/engine.ts';
export type { ExportOptions } from './notebook/export.ts';
export type { Notebook } from './notebook/nbformat.ts';
export type { Environment } from './environment/environment.ts';
export type { Command, CommandOutput, ExecResult } from './execution/command.ts';
export type { Event, Summary } from './execution/event.ts';
export type {
  DataFrameSummary,
  EarlierEvent,
  Execution,
  InstalledPackage,
  Json,
  NetworkConnection,
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
