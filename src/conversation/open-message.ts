import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { DeclaredTool, Round, RoundAnswer } from '../tools/index.ts';
import { messageStates } from './core/status.ts';
import type { MessageKind } from './entities.ts';
import type { ExecutedCall, SealedMessage, StoredRequest } from './sealed-message.ts';

/** A turn that has not ended. */
export interface OpenMessage {
  id: string;
  kind: MessageKind;
  model: string;
  hasTools: boolean;
  request: StoredRequest;
  /** The tools that are offered; undefined while nobody has asked the servers. */
  tools: DeclaredTool[] | undefined;
  /** The beginning of the reply that an interrupted attempt sent to a reader. */
  told: string;
  ageMs: number;
  /** How long the process that took it may go on asking by itself; not above 0 when it gave up. Null: it never asked. */
  askedForMs: number | null;
}

type MessageRow = Omit<OpenMessage, 'request' | 'tools' | 'told'> & {
  request: string;
  tools: string | null;
  told: string | null;
};

const find = statement<MessageRow>(
  'turn.open',
  `select id, kind, model, has_tools as "hasTools", request, tools, streamed_text as told,
          extract(epoch from clock_timestamp() - created_at)::float8 * 1000 as "ageMs",
          extract(epoch from asked_until - clock_timestamp())::float8 * 1000 as "askedForMs"
     from conversation_message
    where organization_id = $1 and environment = $2 and id = $3 and status in (${messageStates.sql('processing')})`,
);

/** @returns undefined when it has ended */
export async function findOpenMessage(
  scope: Scope,
  contents: SealedMessage,
  turnId: string,
): Promise<OpenMessage | undefined> {
  const row = await scope.one(find, turnId);
  if (!row) return undefined;
  const tools = row.tools === null ? undefined : contents.open(turnId, 'tools', row.tools);
  const told = row.told === null ? '' : contents.open(turnId, 'told', row.told);
  return { ...row, request: contents.open(turnId, 'request', row.request), tools, told };
}

export interface EntryRow {
  round: number;
  position: number;
  content: string | null;
}

/** The entries of a turn from a place on, in order. */
export const findEntries = statement<EntryRow>(
  'turn.entries',
  `select round, position, content from conversation_entry
    where organization_id = $1 and environment = $2 and message_id = $3 and (round, position) >= ($4::smallint, $5::smallint)
    order by round, position`,
);

const findAnswer = statement<{ content: string }>(
  'turn.answer',
  `select content from conversation_entry
    where organization_id = $1 and environment = $2 and message_id = $3 and round = $4 and position = 0`,
);

/** What the model asked for in one round. */
export async function readAnswer(
  scope: Scope,
  contents: SealedMessage,
  place: { turnId: string; round: number },
): Promise<RoundAnswer | undefined> {
  const row = await scope.one(findAnswer, place.turnId, place.round);
  return row && contents.openAnswer(place, row.content);
}

/** The rounds of a turn so far, in order. */
export async function readRounds(scope: Scope, contents: SealedMessage, turnId: string): Promise<Round[]> {
  const rounds: Round[] = [];
  for (const { round, position, content } of await scope.rows(findEntries, turnId, 1, 0)) {
    if (content === null) continue;
    if (position === 0) rounds.push({ round, ...contents.openAnswer({ turnId, round }, content), results: new Map() });
    else rounds.at(-1)!.results.set(position - 1, contents.openResult({ turnId, round, position }, content));
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
