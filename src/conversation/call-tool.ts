import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { auditParameters, auditSql } from '../platform/security/audit.ts';
import type { JobRef } from '../temporal/contracts/jobs.ts';
import { failedResult } from '../tools/core/tool-result.ts';
import { type CalledTool, executeCall, type Tools } from '../tools/index.ts';
import { messageDeadline } from './ask-open-message.ts';
import { messageStates } from './core/status.ts';
import { failPoint } from './fail-points.ts';
import type { MessageJobServices } from './job.ts';
import { findOpenMessage, readAnswer } from './open-message.ts';
import { sealedMessage } from './sealed-message.ts';

interface CallServices extends MessageJobServices {
  tools: Tools;
}

/** Which call of a message, by the round and the position in its answer, from 0. */
export interface CallRef {
  round: number;
  call: number;
}

// Committed before the tool is called: whatever crashes then, the next attempt knows of this one.
const begin = statement({
  name: 'message.begin_call',
  parameters: { messageId: 'uuid', round: 'smallint', position: 'smallint', channel: 'text?' },
  row: { attempts: 'smallint' },
  text: `with begun as (
     insert into conversation_entry as e (message_id, round, position, organization_id, environment, attempts)
     select id, :round, :position, :organizationId, :environment, 1 from conversation_message
      where organization_id = :organizationId and environment = :environment and id = :messageId and status in (${messageStates.sql('processing')})
     on conflict (message_id, round, position) do update set attempts = e.attempts + 1 where e.content is null
     returning attempts)
   select attempts, case when :channel is not null then pg_notify(:channel, :messageId::text) end as notified from begun`,
});

// The call is in the audit log, whatever the outcome of the message.
const record = statement({
  name: 'message.record_result',
  parameters: {
    messageId: 'uuid',
    round: 'smallint',
    position: 'smallint',
    content: 'text',
    channel: 'text?',
    ...auditParameters,
  },
  text: `with recorded as (
     update conversation_entry set content = :content
      where organization_id = :organizationId and environment = :environment and message_id = :messageId and round = :round and position = :position
        and content is null
     returning message_id)
   select ${auditSql} as audited,
          case when :channel is not null and exists (select from recorded) then pg_notify(:channel, :messageId::text) end as notified`,
});

const outOfTime = failedResult('The message timed out before the tool answered.');

/**
 * Executes a call that the model asked for, and records its result, as `executeCall` does. It ends with the message's time.
 * @throws errors of the database; the reason of `signal`
 */
export async function callTool(
  services: CallServices,
  scope: Scope,
  { id: messageId, waiter }: JobRef,
  { round, call }: CallRef,
  signal: AbortSignal,
): Promise<void> {
  const { sealer, messageEvents, tools, messagePolicy } = services;
  const columns = sealedMessage(sealer, scope);
  const open = await findOpenMessage(scope, columns, messageId);
  const asked = open && (await readAnswer(scope, columns, { messageId, round }))?.calls[call];
  const tool = asked && open.tools?.find(({ name }) => name === asked.name);
  if (!tool) return;
  const place = { messageId, round, position: call + 1 };
  const channel = messageEvents.remoteChannel(waiter);
  const row = {
    begin: async () => {
      const begun = await scope.one(begin, { ...place, channel });
      if (!begun) return undefined;
      messageEvents.notifyChange(messageId);
      failPoint('message.tool_begun');
      return begun.attempts;
    },
    record: async ({ result: { text, isError }, entry }: CalledTool) => {
      failPoint('message.tool_called');
      const content = columns.sealEntry(place, { text, isError });
      await scope.rows(record, { ...place, content, channel, ...scope.auditValues(entry) });
      failPoint('message.tool_recorded');
      messageEvents.notifyChange(messageId);
    },
  };
  const limit = { signal: messageDeadline(messagePolicy, open), result: outOfTime };
  await executeCall({ tools, scope }, { asked, tool, key: `${messageId}.${round}.${call}` }, row, signal, limit);
}
