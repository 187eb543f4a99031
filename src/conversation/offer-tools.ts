import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import type { JobRef } from '../temporal/contracts/jobs.ts';
import { type DeclaredTool, ToolServerUnavailable, type Tools } from '../tools/index.ts';
import { messageStates } from './core/status.ts';
import type { MessageJobServices } from './job.ts';
import type { OpenMessage } from './open-message.ts';
import { sealedMessage } from './sealed-message.ts';

/** A server could not list its tools. The message may be shown to callers. */
export class ToolsUnavailable extends Error {
  override name = 'ToolsUnavailable';
}

const record = statement({
  name: 'message.record_tools',
  parameters: { messageId: 'uuid', tools: 'text', channel: 'text?' },
  text: `with recorded as (
     update conversation_message set tools = :tools
      where organization_id = :organizationId and environment = :environment and id = :messageId and tools is null
        and status in (${messageStates.sql('processing')})
     returning id)
   select case when :channel is not null then pg_notify(:channel, :messageId::text) end as notified from recorded`,
});

/**
 * The tools that the model of a message is offered. The servers are asked for them once, so that they are the same in
 * each round.
 * @throws ToolsUnavailable; the reason of `signal`; errors of the database
 */
export async function offerTools(
  { tools, sealer, messageEvents }: MessageJobServices & { tools: Pick<Tools, 'list'> },
  scope: Scope,
  { id, waiter }: JobRef,
  open: OpenMessage,
  signal: AbortSignal,
): Promise<DeclaredTool[]> {
  if (open.tools) return open.tools;
  let offered: DeclaredTool[];
  try {
    offered = await tools.list(scope, open.request.servers, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ToolServerUnavailable) throw new ToolsUnavailable(error.message);
    throw error;
  }
  const stored = sealedMessage(sealer, scope).seal(id, 'tools', offered);
  await scope.rows(record, { messageId: id, tools: stored, channel: messageEvents.remoteChannel(waiter) });
  messageEvents.notifyChange(id);
  return offered;
}
