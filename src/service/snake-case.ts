/** Names as examples of the reference write them, for whoever copies these. */
import { handleServiceWithInterrupts } from './approval/nested.ts';
import { clearApprovalState, createApprovalType, getApprovalResumeData } from './approval/state-helpers.ts';
import { getFullConfiguration, getRegistry } from './registry.ts';

export const create_approval_type = createApprovalType;
export const get_approval_resume_data = getApprovalResumeData;
export const clear_approval_state = clearApprovalState;
export const handle_service_with_interrupts = handleServiceWithInterrupts;
export const get_registry = getRegistry;
export const get_full_configuration = getFullConfiguration;
