import type { Foundation } from '../foundation.ts';
import { inBatches } from '../platform/batches.ts';
import { openWorkGauges } from '../platform/open-work.ts';
import type { Part } from '../platform/part.ts';
import type { ProviderServices } from '../providers/index.ts';
import { defaultMessagePolicy, type MessagePolicy } from '../temporal/contracts/conversation.ts';
import type { ToolServices } from '../tools/index.ts';
import { messageStates } from './core/status.ts';
import { startPendingMessage } from './create-message.ts';
import { conversationDeclarations } from './declarations.ts';
import { DirectCalls } from './direct-calls.ts';
import { ConversationEntry, ConversationMessage } from './entities.ts';
import { failPoint } from './fail-points.ts';
import { MessageEvents } from './message-events.ts';
import { endOverdueMessages, forgetMessages, watchStoppedTurns } from './overdue.ts';

export interface ConversationServices {
  messageEvents: MessageEvents;
  directCalls: DirectCalls;
  messagePolicy: MessagePolicy;
}

const overdueBatchSize = 50;
const forgetBatchSize = 1_000;

/** Messages to models and agents, and their replies. */
export const conversation: Part<Foundation & ProviderServices & ToolServices, ConversationServices> = {
  ...conversationDeclarations,
  states: { 'A message': messageStates },
  entities: [ConversationMessage, ConversationEntry],
  rowBounds: {
    conversation_message: { retention: { by: 'remove messages after a day', after: 'a day' } },
    conversation_entry: { removedWith: { table: 'conversation_message', by: ['message.forget'] } },
  },
  failPoints: failPoint.names,
  promptKinds: ['turn.start'],
  open({ database, sealer, notifications }) {
    const messageEvents = new MessageEvents(database, sealer);
    notifications.on(messageEvents.channel, (payload) => messageEvents.receive(payload));
    return { messageEvents, directCalls: new DirectCalls(), messagePolicy: defaultMessagePolicy };
  },
  outbox: (services) => ({
    'turn.start': (scope, id, hint?: Parameters<typeof startPendingMessage>[3]) =>
      startPendingMessage(services, scope, id, hint),
  }),
  gauges: ({ observer, directCalls }) => [
    ...openWorkGauges(observer, {
      name: 'messages',
      title: 'Messages to models',
      table: 'conversation_message',
      kinds: ['chat', 'agent'],
      isOpen: `status in (${messageStates.sql('processing')})`,
    }),
    {
      name: 'atelier_messages_asked_at_once',
      help: 'Messages whose model this process calls directly, before or while their workflow starts.',
      read: () => [{ value: directCalls.size }],
    },
  ],
  sweeps: (services) => [
    {
      name: 'end messages that were terminated in Temporal',
      everyMs: 5_000,
      run: watchStoppedTurns(services),
    },
    {
      name: 'end messages that nobody works on',
      everyMs: 60_000,
      run: () =>
        inBatches((limit) => endOverdueMessages(services, services.messagePolicy.deadlineMs, limit), overdueBatchSize),
    },
    {
      name: 'remove messages after a day',
      everyMs: 60_000,
      run: () => inBatches((limit) => forgetMessages(services.database, limit), forgetBatchSize),
    },
  ],
};
