import { askModel } from '../../src/conversation/ask-model.ts';
import { callTool } from '../../src/conversation/call-tool.ts';
import { createMessage } from '../../src/conversation/create-message.ts';
import { MessageEvents } from '../../src/conversation/message-events.ts';
import { findMessage } from '../../src/conversation/messages.ts';
import { DirectWork } from '../../src/jobs/index.ts';
import { Background } from '../../src/platform/concurrency/background.ts';
import type { Scope } from '../../src/platform/database/scope.ts';
import { newId } from '../../src/platform/ids.ts';
import type { Log } from '../../src/platform/observability/log.ts';
import { Sealer } from '../../src/platform/security/crypto.ts';
import type { ChatAnswer, ChatCall, ChatRequest } from '../../src/providers/text/chat-ports.ts';
import { defaultMessagePolicy } from '../../src/temporal/contracts/conversation.ts';
import type { DeclaredTool } from '../../src/tools/tool.ts';
import { secrets } from '../operator.ts';
import type { Product } from '../product.ts';

export const tool: DeclaredTool = {
  server: 'memory',
  tool: 'write',
  name: 'memory_write',
  description: 'Writes.',
  inputSchema: {},
  idempotent: false,
};
const log = { debug() {}, info() {}, warn() {}, error() {} } as unknown as Log;
export const directCalls = new DirectWork<never>({
  ofOrganization: 2,
  ofProcess: 3,
  // Longer than this process may stall on a busy machine: each of its ends is told.
  leaseMs: 30_000,
  renewEveryMs: 100,
  drainMs: 50,
});
/** A promise that settles only as the signal aborts, also if it has aborted already. */
export const never = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    const fail = () => reject(signal.reason);
    if (signal.aborted) fail();
    else signal.addEventListener('abort', fail);
  });
export const nothing = { inputTokens: 1, outputTokens: 1, content: {} };

export interface Scene {
  reply(request: ChatRequest, call: ChatCall): Promise<ChatAnswer>;
  use?(signal: AbortSignal): Promise<{ text: string; isError: boolean }>;
  /** Whether the process that takes the message asks its model. */
  asksFirst?: boolean;
  deadlineMs?: number;
}

/** A message that is under way, with a configured model and tool, that times out after 300 ms. */
export async function openMessage(
  product: Pick<Product, 'database'>,
  scope: Scope,
  { reply, use = never, asksFirst = false, deadlineMs = 300 }: Scene,
  servers: string[] = [],
) {
  const sealer = new Sealer(secrets.SEALING_KEYS);
  const { database } = product;
  const services = {
    sealer,
    database,
    messageEvents: new MessageEvents(database, sealer),
    messagePolicy: { ...defaultMessagePolicy, deadlineMs },
    background: new Background(log),
    draining: new AbortController(),
    log,
    directCalls,
    temporal: { startsEagerly: () => asksFirst },
    providers: { chatModel: () => ({ reply }), isChatModel: () => true, mayBeInstant: () => false },
    tools: {
      check: async () => servers as ['memory'],
      list: async () => [tool],
      call: (_: unknown, __: unknown, signal: AbortSignal) => use(signal),
    } as never,
  };
  const { id: messageId } = await createMessage(services, scope, {
    id: newId(),
    kind: 'chat',
    plan: 'team',
    model: 'gemini-2.0-flash',
    streams: true,
    waiter: 'somebody',
    request: { messages: [{ role: 'user', content: 'Hello' }], servers },
  });
  const ending = { id: messageId, waiter: null };
  const { signal } = new AbortController();
  return {
    services,
    messageId,
    ask: (round = 1, attempt = 1) => askModel(services, scope, ending, { round, streams: true, attempt, signal }),
    /** Until the process that took it does nothing more about it. */
    settled: () => services.background.settled(),
    starts: async () => {
      const { rows } = await database.pool.query('select 1 from outbox where subject_id = $1', [messageId]);
      return rows.length;
    },
    call: (round: number, call: number) => callTool(services, scope, ending, { round, call }, signal),
    find: async () => (await findMessage(sealer, scope, messageId))!,
  };
}

export const creditsIn = async (product: Pick<Product, 'database'>) => {
  const { rows } = await product.database.pool.query(
    `select coalesce(sum(spent), 0)::int as spent, coalesce(sum(held), 0)::int as held from credit_entry`,
  );
  return rows[0] as { spent: number; held: number };
};
