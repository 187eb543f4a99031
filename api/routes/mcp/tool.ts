import type { z } from '@hono/zod-openapi';
import type { CallToolResult, ToolAnnotations } from '@modelcontextprotocol/server';
import { fingerprintOf, type IdempotencyClaim } from '../../../src/platform/database/idempotency.ts';
import type { Scope } from '../../../src/platform/database/scope.ts';
import type { Services } from '../../../src/services.ts';
import type { Caller } from '../../../src/tenancy/caller.ts';
import type { ApiContext } from '../../context.ts';
import { readIdempotency } from '../../idempotency.ts';
import { checkScopes } from '../../middleware/authenticate.ts';

/** A message to the server. */
export interface Exchange {
  c: ApiContext;
  services: Services;
  scope: Scope;
  caller: Caller;
}

/** A call of a tool. */
export interface ToolCall extends Exchange {
  /** The name of the tool. */
  name: string;
  /** As they were sent. */
  args: Record<string, unknown>;
  /** Whether the client takes a task in place of a result. */
  takesTask: boolean;
  /** Aborted when the client has disconnected. */
  signal: AbortSignal;
  /** Reports progress to the client; undefined if it did not ask for reports. */
  progress: ((message: string) => void) | undefined;
}

/** The answer to a call whose work continues: `CreateTaskResult` of the tasks extension. */
export interface TaskHandle {
  resultType: 'task';
  [member: string]: unknown;
}

export type ToolAnswer = CallToolResult | TaskHandle;

/** A tool that every environment has. */
export interface Tool {
  name: string;
  title: string;
  description: string;
  /** The scope that a key needs to see it and to call it. */
  scope: string;
  args: z.ZodType;
  annotations: ToolAnnotations;
  /** @throws AppError, which the client gets as the result */
  perform(call: ToolCall, args: never): Promise<ToolAnswer>;
}

export const defineTool = <Args extends z.ZodType>(
  tool: Omit<Tool, 'args' | 'perform'> & {
    args: Args;
    perform(call: ToolCall, args: z.output<Args>): Promise<ToolAnswer>;
  },
): Tool => tool as unknown as Tool;

/** @throws AppError forbidden */
export const requireScope = ({ caller }: Exchange, scope: string): void => checkScopes(caller, { scopes: [scope] });

/** The claim of a call whose request has an Idempotency-Key: the same tool with the same arguments. */
export function claimOf({ c, name, args }: ToolCall): IdempotencyClaim | undefined {
  const claim = readIdempotency(c);
  return claim && { ...claim, path: `/mcp/${name}`, fingerprint: fingerprintOf(args) };
}
