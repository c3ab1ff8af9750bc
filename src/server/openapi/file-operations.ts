/** Files, artifacts and commands. */
import { z } from 'zod';
import { ClientOptions } from '../../config.ts';
import type { ErrorCode } from '../../errors.ts';
import { ArtifactSchema, FileFactsSchema, FileListSchema } from '../../wire/artifact.ts';
import {
  CommandEventSchema,
  CommandRequestSchema,
  CommandViewSchema,
  ExecResultSchema,
  SignalAnswerSchema,
  SignalRequestSchema,
} from '../../wire/http/command.ts';
import { ArtifactQuery, InputQuery } from '../../wire/http/query.ts';
import type { Operation, OtherContent } from './operation.ts';

/** The type is that of the file. */
const CONTENT: OtherContent = { mime: '*/*', description: 'The content.' };
const BYTES: OtherContent = { mime: 'application/octet-stream', description: 'Any bytes.' };
const NO_SESSION: readonly ErrorCode[] = ['SESSION_NOT_FOUND', 'SESSION_CLOSED'];

export const FILE_OPERATIONS: readonly Operation[] = [
  {
    method: 'get',
    path: '/v1/sessions/{id}/files',
    id: 'listFiles',
    tag: 'files',
    summary: 'The files of a session.',
    status: 200,
    answer: FileListSchema,
    errors: NO_SESSION,
  },
  {
    method: 'get',
    path: '/v1/sessions/{id}/files/{path}',
    id: 'downloadFile',
    tag: 'files',
    summary: 'The content of a file.',
    headers: ['Range'],
    status: 200,
    answer: CONTENT,
    otherwise: { status: 206, answer: CONTENT },
    errors: [...NO_SESSION, 'FILE_NOT_FOUND', 'FILE_REFUSED'],
  },
  {
    method: 'put',
    path: '/v1/sessions/{id}/files/{path}',
    id: 'uploadFile',
    tag: 'files',
    summary: 'Writes a file, replacing one of that name.',
    body: BYTES,
    status: 201,
    answer: FileFactsSchema,
    errors: [...NO_SESSION, 'FILE_REFUSED', 'FILE_TOO_LARGE'],
  },
  {
    method: 'delete',
    path: '/v1/sessions/{id}/files/{path}',
    id: 'removeFile',
    tag: 'files',
    summary: 'Removes a file, a link or an empty directory.',
    status: 204,
    errors: [...NO_SESSION, 'FILE_NOT_FOUND', 'FILE_REFUSED'],
  },
  {
    method: 'get',
    path: '/v1/artifacts',
    id: 'listArtifacts',
    tag: 'artifacts',
    summary: 'The artifacts of a session.',
    query: ArtifactQuery,
    status: 200,
    answer: z
      .object({ artifacts: z.array(ArtifactSchema) })
      .meta({ id: 'ArtifactList', description: 'Artifacts, oldest first.' }),
  },
  {
    method: 'get',
    path: '/v1/artifacts/{id}',
    id: 'getArtifact',
    tag: 'artifacts',
    summary: 'An artifact without its content.',
    query: ClientOptions,
    status: 200,
    answer: ArtifactSchema,
    errors: ['ARTIFACT_NOT_FOUND'],
  },
  {
    method: 'delete',
    path: '/v1/artifacts/{id}',
    id: 'removeArtifact',
    tag: 'artifacts',
    summary: 'Removes an artifact.',
    query: ClientOptions,
    status: 204,
    errors: ['ARTIFACT_NOT_FOUND'],
  },
  {
    method: 'get',
    path: '/v1/artifacts/{id}/content',
    id: 'downloadArtifact',
    tag: 'artifacts',
    summary: 'The content of an artifact.',
    query: ClientOptions,
    headers: ['Range'],
    status: 200,
    answer: CONTENT,
    otherwise: { status: 206, answer: CONTENT },
    errors: ['ARTIFACT_NOT_FOUND'],
  },
];

export const COMMAND_OPERATIONS: readonly Operation[] = [
  {
    method: 'post',
    path: '/v1/sessions/{id}/commands',
    id: 'runCommand',
    tag: 'commands',
    summary: 'Runs a command of the system in a session.',
    body: CommandRequestSchema,
    status: 200,
    answer: ExecResultSchema,
    events: CommandEventSchema,
    otherwise: { status: 201, answer: CommandViewSchema },
    names: 'Vivarium-Command',
    errors: NO_SESSION,
  },
  {
    method: 'get',
    path: '/v1/commands/{id}/events',
    id: 'followCommand',
    tag: 'commands',
    summary: 'The events of a command, from the start or after the last one that was seen.',
    headers: ['Last-Event-ID'],
    status: 200,
    events: CommandEventSchema,
    isStream: true,
    names: 'Vivarium-Command',
    errors: ['COMMAND_NOT_FOUND'],
  },
  {
    method: 'post',
    path: '/v1/commands/{id}/input',
    id: 'writeToCommand',
    tag: 'commands',
    summary: 'Writes to the standard input of a command.',
    query: InputQuery,
    body: BYTES,
    isBodyOptional: true,
    status: 204,
    errors: ['COMMAND_NOT_FOUND'],
  },
  {
    method: 'post',
    path: '/v1/commands/{id}/cancel',
    id: 'cancelCommand',
    tag: 'commands',
    summary: 'Ends a command: it may clean up, and is killed if it takes too long.',
    status: 204,
    errors: ['COMMAND_NOT_FOUND'],
  },
  {
    method: 'post',
    path: '/v1/commands/{id}/signal',
    id: 'signalCommand',
    tag: 'commands',
    summary: 'Sends a signal to a command.',
    body: SignalRequestSchema,
    isBodyOptional: true,
    status: 200,
    answer: SignalAnswerSchema,
    errors: ['COMMAND_NOT_FOUND'],
  },
];
