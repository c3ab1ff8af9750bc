import { COMMAND_OPERATIONS, FILE_OPERATIONS } from './file-operations.ts';
import { FRONT_OPERATIONS, SERVER_OPERATIONS } from './front-operations.ts';
import type { Operation } from './operation.ts';
import { RUN_OPERATIONS, SESSION_OPERATIONS, STATE_OPERATIONS } from './session-operations.ts';

/** Every route of the server. The document and its page are made of this; a test compares it with the routes. */
export const OPERATIONS: readonly Operation[] = [
  ...SESSION_OPERATIONS,
  ...RUN_OPERATIONS,
  ...STATE_OPERATIONS,
  ...FILE_OPERATIONS,
  ...COMMAND_OPERATIONS,
  ...FRONT_OPERATIONS,
  ...SERVER_OPERATIONS,
];
