import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Scope } from '../platform/database/scope.ts';
import type { TenantAuditRecord } from '../platform/security/audit.ts';
import { unknownOutcome } from './core/rounds.ts';
import type { ToolResult } from './core/tool-result.ts';
import type { ToolCall } from './tool.ts';

/** A call and its result: the caller commits both together. */
export interface CalledTool {
  result: ToolResult;
  /** For the audit log. */
  entry: TenantAuditRecord;
}

/** The arguments in one form. */
export const argumentsOf = ({ args }: ToolCall): string => canonicalize(args) ?? '{}';

/** @param durationMs undefined where it is not known. @param given the arguments, where the caller has them in one form already */
export function calledTool(
  { tenant }: Scope,
  call: ToolCall,
  { result, durationMs }: { result: ToolResult; durationMs?: number },
  given = argumentsOf(call),
): CalledTool {
  const { server, tool, attempt } = call;
  const facts = {
    server,
    tool: tool.slice(0, 200),
    isError: result.isError,
    argsHash: createHash('sha256').update(given).digest('hex'),
    durationMs: durationMs === undefined ? null : Math.round(durationMs),
    // Attempts before this one have no entry: the process ended before it knew how they did.
    ...(attempt > 1 && { attempt }),
  };
  return { result, entry: { action: 'tool.call', subjectId: tenant.organizationId, facts } };
}

/** A call that an earlier attempt began, and that is not made again. */
export const lostCall = (scope: Scope, call: ToolCall): CalledTool =>
  calledTool(scope, call, { result: unknownOutcome });
