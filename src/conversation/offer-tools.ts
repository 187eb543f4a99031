import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
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

const record = statement<{ notified: unknown }>(
  'message.record_tools',
  `with recorded as (
     update conversation_message set tools = $4::text
      where organization_id = $1 and environment = $2 and id = $3 and tools is null
        and status in (${messageStates.sql('processing')})
     returning id)
   select case when $5::text is not null then pg_notify($5, $3::text) end as notified from recorded`,
);

/**
 * The tools that the model of a message is offered: asked for once, so that they are the same in each round.
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
  const sealed = sealedMessage(sealer, scope).seal(id, 'tools', offered);
  await scope.rows(record, id, sealed, messageEvents.remoteChannel(waiter));
  messageEvents.notifyChange(id);
  return offered;
}
