/** What may stand in the query of an address. */
import { z } from 'zod';
import { ClientId } from '../../config.ts';
import { STATUSES } from '../../storage/approvals/approval.ts';

export const InputQuery = z
  .strictObject({
    end: z.enum(['true', 'false']).exactOptional().describe('Whether the standard input ends after this.'),
  })
  .meta({ id: 'InputQuery' });

export const ArtifactQuery = z
  .strictObject({
    sessionId: z.string().describe('The session whose artifacts are listed.'),
    clientId: ClientId.exactOptional().describe('The client that they belong to.'),
  })
  .meta({ id: 'ArtifactQuery' });

export const ToolQuery = z
  .strictObject({
    format: z
      .enum(['openai', 'anthropic', 'mcp'])
      .exactOptional()
      .describe('The form of the definitions; by default that of Vivarium.'),
  })
  .meta({ id: 'ToolQuery' });

export const ApprovalQuery = z
  .strictObject({ status: z.enum(STATUSES).exactOptional().describe('Only those with this status.') })
  .meta({ id: 'ApprovalQuery' });

export const DecisionQuery = z
  .strictObject({
    background: z.enum(['true', 'false']).exactOptional().describe('Whether to answer before the task has gone on.'),
  })
  .meta({ id: 'DecisionQuery' });
