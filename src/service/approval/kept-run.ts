import { sha256Of, type Approval } from '../../storage/approvals/approval.ts';
import { ServiceConfigurationError } from '../api/failures.ts';
import type { PreviewedRun } from '../execution/job.ts';
import { readPayload } from './payload.ts';

/** Matches no text. */
const NO_HASH = 'none';

/** The hash of the run that approving commits, or null if approving runs the code. */
export function keptRunOf({ payload }: Pick<Approval, 'payload'>): string | null {
  const { effects, preview_sha256: hash } = readPayload(payload);
  // The reviewer was promised a run. Without its hash nobody can tell which one.
  return hash ?? (effects?.isComplete === true ? NO_HASH : null);
}

/** Reads a kept run. Only the run that the reviewer was shown counts: anybody who can write to the folder can change the file. */
export function readKeptRun(
  text: string | null,
  approved: { readonly run: string; readonly code: string },
): PreviewedRun {
  if (text === null) throw new ServiceConfigurationError(`The run that the reviewer was shown is gone. ${ADVICE}`);
  if (sha256Of(text) === approved.run) {
    const kept = JSON.parse(text) as PreviewedRun;
    if (kept.codeSha256 === sha256Of(approved.code)) return kept;
  }
  throw new ServiceConfigurationError(
    `The run in the record is not the one that the reviewer was shown: its file was changed. ${ADVICE}`,
  );
}

const ADVICE = 'Nothing was committed. Find out who can write to the record folder, and send the request again.';
