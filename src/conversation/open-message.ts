import type { Scope } from '../platform/database/scope.ts';
import { type RowOf, statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import type { DeclaredTool, Round, RoundAnswer } from '../tools/index.ts';
import { messageStates } from './core/status.ts';
import type { MessageKind } from './entities.ts';
import type { ExecutedCall, SealedMessage, StoredRequest } from './sealed-message.ts';

/** A message that has not ended. */
export interface OpenMessage {
  id: string;
  kind: MessageKind;
  model: string;
  hasTools: boolean;
  request: StoredRequest;
  /** The offered tools; undefined until the servers have been asked. */
  tools: DeclaredTool[] | undefined;
  /** The beginning of the reply that an interrupted attempt sent to a reader. */
  streamedText: string;
  ageMs: number;
  /**
   * How long the process that took the message can continue to ask by itself; not above 0 if it gave up. Null if it
   * never asked.
   */
  askedForMs: number | null;
}

const find = statement({
  name: 'message.open',
  parameters: { messageId: 'uuid' },
  row: {
    id: 'uuid',
    kind: typed<MessageKind>('text'),
    model: 'text',
    hasTools: 'boolean',
    request: 'text',
    tools: 'text?',
    streamedText: 'text?',
    ageMs: 'float8',
    askedForMs: 'float8?',
  },
  text: `select id, kind, model, has_tools as "hasTools", request, tools, streamed_text as "streamedText",
          extract(epoch from atelier_now() - created_at)::float8 * 1000 as "ageMs",
          extract(epoch from asked_until - atelier_now())::float8 * 1000 as "askedForMs"
     from conversation_message
    where organization_id = :organizationId and environment = :environment and id = :messageId and status in (${messageStates.sql('processing')})`,
});

/** @returns undefined when it has ended */
export async function findOpenMessage(
  scope: Scope,
  columns: SealedMessage,
  messageId: string,
): Promise<OpenMessage | undefined> {
  const row = await scope.one(find, { messageId });
  if (!row) return undefined;
  const tools = row.tools === null ? undefined : columns.open(messageId, 'tools', row.tools);
  const streamedText = row.streamedText === null ? '' : columns.openStreamedText(messageId, row.streamedText);
  return { ...row, request: columns.open(messageId, 'request', row.request), tools, streamedText };
}

/** The entries of a message from a place on, in order. */
export const findEntries = statement({
  name: 'message.entries',
  parameters: { messageId: 'uuid', round: 'smallint', position: 'smallint' },
  row: { round: 'smallint', position: 'smallint', content: 'text?' },
  text: `select round, position, content from conversation_entry
    where organization_id = :organizationId and environment = :environment and message_id = :messageId and (round, position) >= (:round, :position)
    order by round, position`,
});

export type EntryRow = RowOf<typeof findEntries>;

const findAnswer = statement({
  name: 'message.answer',
  parameters: { messageId: 'uuid', round: 'smallint' },
  row: { content: 'text' },
  text: `select content from conversation_entry
    where organization_id = :organizationId and environment = :environment and message_id = :messageId and round = :round and position = 0`,
});

/** The calls that the model asked for in one round. */
export async function readAnswer(
  scope: Scope,
  columns: SealedMessage,
  place: { messageId: string; round: number },
): Promise<RoundAnswer | undefined> {
  const row = await scope.one(findAnswer, { messageId: place.messageId, round: place.round });
  return row && columns.openAnswer(place, row.content);
}

/** The rounds of a message so far, in order. */
export async function readRounds(scope: Scope, columns: SealedMessage, messageId: string): Promise<Round[]> {
  const rounds: Round[] = [];
  for (const { round, position, content } of await scope.rows(findEntries, { messageId, round: 1, position: 0 })) {
    if (content === null) continue;
    if (position === 0)
      rounds.push({ round, ...columns.openAnswer({ messageId, round }, content), results: new Map() });
    else rounds.at(-1)!.results.set(position - 1, columns.openResult({ messageId, round, position }, content));
  }
  return rounds;
}

/** The calls that were executed, in order, for the caller. */
export const executedIn = (rounds: readonly Round[]): ExecutedCall[] =>
  rounds.flatMap(({ calls, results }) =>
    [...results].map(([position, { text, isError }]) => {
      const { name, args } = calls[position]!;
      return { name, args, result: text, isError };
    }),
  );
