import type { ClaimedKey } from '../platform/database/idempotency.ts';
import type { TenantSql } from '../platform/database/sql.ts';
import type { Sealer } from '../platform/security/crypto.ts';
import { sealedColumns } from '../platform/security/sealed-columns.ts';
import type { JsonSchema, ToolDeclaration } from '../providers/index.ts';
import type { AskedCall } from '../tools/core/rounds.ts';
import type { ToolServerName } from '../tools/core/server-ids.ts';
import type { ToolResult } from '../tools/core/tool-result.ts';
import type { DeclaredTool, RoundAnswer } from '../tools/index.ts';

export interface Message {
  role: 'user' | 'assistant';
  content: string;
}

/** An earlier answer that called tools of the caller, with what these returned. */
export interface AnsweredCalls {
  role: 'calls';
  /** The answer in the form of its provider. */
  content: unknown;
  /** One for each call, in their order. */
  results: (ToolResult & { callId: string; name: string })[];
}

/** The request of a caller. */
export interface MessageRequest {
  /** The last one is the user's, or has the results of the caller's tools. */
  messages: (Message | AnsweredCalls)[];
  system?: string;
  /** 0 to 1. */
  temperature?: number;
  /** Ids of tool servers, each once, in the order in which their tools are offered. */
  servers: string[];
  /** Limit of the output, including thinking. */
  maxTokens?: number;
  /** Tools of the caller: a reply may call them, and the caller executes them. Never together with tools of servers. */
  tools?: ToolDeclaration[];
  /** Requests the reply as JSON that matches this schema. */
  outputSchema?: JsonSchema;
}

/** A request as it is stored, with its Idempotency-Key: a message that was refused gives the key free. */
export interface StoredRequest extends MessageRequest {
  servers: ToolServerName[];
  claim?: ClaimedKey;
}

/** A call that was executed. */
export interface ExecutedCall {
  name: string;
  args: Record<string, unknown>;
  result: string;
  isError: boolean;
}

/** Facts that a read of the message by its id returns, in the form of the interface that created it. */
export type MessageAbout = Record<string, unknown>;

export interface MessageReply {
  content: string;
  toolCalls: ExecutedCall[];
  /** The reply asks its caller to execute tools of its own. `content` is the answer in the form of its provider. */
  asked?: { calls: AskedCall[]; content: unknown };
  /** In tokens. Absent where the reply took several calls of the model. */
  usage?: { input: number; output: number };
  /** The text was cut off: by the token limit of the model, or by the time limit of the message. */
  truncated?: true;
}

type Sql = Pick<TenantSql, 'tenant'>;

const columns = sealedColumns<{
  request: StoredRequest;
  tools: DeclaredTool[];
  about: MessageAbout;
  reply: MessageReply;
}>('conversation_message');

/** The position of a part of a message. */
interface EntryPlace {
  messageId: string;
  round: number;
  position: number;
}

const placeOfEntry = ({ messageId, round, position }: EntryPlace, { tenant }: Sql) => ({
  table: 'conversation_entry',
  column: 'content',
  rowId: `${messageId}/${round}/${position}`,
  tenant,
});

/** The name is part of the seal, and version 0.2.0 sealed the column `streamed_text` under this one. */
const placeOfStreamedText = (messageId: string, { tenant }: Sql) => ({
  table: 'conversation_message',
  column: 'told',
  rowId: messageId,
  tenant,
});

/** Seals the texts of a message, and opens them again. Each text opens in its own row alone. @throws SealError */
export const sealedMessage = (sealer: Sealer, sql: Sql) => ({
  ...columns(sealer, sql),
  sealStreamedText: (messageId: string, text: string): string =>
    sealer.seal(JSON.stringify(text), placeOfStreamedText(messageId, sql)),
  openStreamedText: (messageId: string, sealed: string): string =>
    JSON.parse(sealer.open(sealed, placeOfStreamedText(messageId, sql))),
  sealEntry: (place: EntryPlace, value: RoundAnswer | ToolResult): string =>
    sealer.seal(JSON.stringify(value), placeOfEntry(place, sql)),
  openAnswer: (place: Omit<EntryPlace, 'position'>, sealed: string): RoundAnswer =>
    JSON.parse(sealer.open(sealed, placeOfEntry({ ...place, position: 0 }, sql))),
  openResult: (place: EntryPlace, sealed: string): ToolResult =>
    JSON.parse(sealer.open(sealed, placeOfEntry(place, sql))),
});

export type SealedMessage = ReturnType<typeof sealedMessage>;
