/** How a capability of a larger graph hears of a decision that was made while it waited. */
import { ServiceConfigurationError } from '../failures.ts';

/** The part of a graph's state that carries a decision, in the spelling of the reference. */
export interface ApprovalState {
  readonly approval_approved?: boolean | null;
  readonly approved_payload?: Readonly<Record<string, unknown>> | null;
}

/** The name under which a capability asks: `capability` or `capability_operation`. */
export function createApprovalType(capabilityName: string, operationType?: string): string {
  const name = operationType === undefined ? capabilityName : `${capabilityName}_${operationType}`;
  if (/^\w+$/.test(name)) return name;
  throw new ServiceConfigurationError(
    `"${name}" cannot name an approval. Use letters, digits and "_" for the capability and its operation.`,
  );
}

export type ApprovalResume =
  | readonly [hasResume: false, payload: null]
  | readonly [hasResume: true, payload: Readonly<Record<string, unknown>> | null];

/**
 * Whether the graph goes on after a decision, and with what: `[false, null]` nothing was decided, `[true, payload]`
 * approved, `[true, null]` rejected. A payload that belongs to another approval is an error: code must never run on a
 * decision that was made about something else. The service itself asks as `python_executor`, whoever called it.
 */
export function getApprovalResumeData(state: ApprovalState, approvalType: string): ApprovalResume {
  const { approval_approved: approved = null, approved_payload: payload = null } = state;
  if (approved === null && payload === null) return [false, null];
  if (approved === false) return [true, null];
  if (approved !== true || payload === null || typeof payload !== 'object') {
    throw new ServiceConfigurationError(
      'The state says that something was approved, and not what: approval_approved must be true or false, with approved_payload when it is true. Set both from one answer to the interrupt, and clear both with clearApprovalState().',
    );
  }
  const found = payload['approval_type'];
  if (found === approvalType || found === SERVICE_APPROVAL_TYPE) return [true, payload];
  throw new ServiceConfigurationError(
    `The state carries an approval of type ${JSON.stringify(found)}, and ${JSON.stringify(approvalType)} is waited for. Clear the state with clearApprovalState() when an approval was used.`,
  );
}

/** What the service calls its approvals. */
export const SERVICE_APPROVAL_TYPE = 'python_executor';

/** The update that forgets a decision which has been used. */
export function clearApprovalState(): { readonly approval_approved: null; readonly approved_payload: null } {
  return { approval_approved: null, approved_payload: null };
}
