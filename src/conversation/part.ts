import type { Foundation } from '../foundation.ts';
import { DirectWork } from '../jobs/index.ts';
import type { Part } from '../platform/parts/part.ts';
import type { ProviderServices } from '../providers/index.ts';
import { defaultMessagePolicy, type MessagePolicy } from '../temporal/contracts/conversation.ts';
import { scalePauses } from '../temporal/contracts/retry-profile.ts';
import type { ToolServices } from '../tools/index.ts';
import { messageStates } from './core/status.ts';
import { conversationDeclarations } from './declarations.ts';
import { ConversationEntry, ConversationMessage } from './entities.ts';
import { messageJob } from './job.ts';
import { MessageEvents } from './message-events.ts';

interface ConversationServices {
  messageEvents: MessageEvents;
  directCalls: DirectWork<never>;
  messagePolicy: MessagePolicy;
}

/** Messages to models and agents, and their replies. */
export const conversation: Part<Foundation & ProviderServices & ToolServices, ConversationServices> = {
  ...conversationDeclarations,
  states: { 'A message': messageStates },
  entities: [ConversationMessage, ConversationEntry],
  rowBounds: {
    conversation_message: { retention: { by: 'remove messages after a day', after: 'a day' } },
    conversation_entry: {
      removedWith: { table: 'conversation_message', by: ['message.forget'] },
      purge: { with: 'conversation_message', column: 'message_id' },
    },
  },
  ...messageJob.declarations,
  open({ env, database, sealer, notifications }) {
    const messageEvents = new MessageEvents(database, sealer);
    notifications.on(messageEvents.channel, (payload) => messageEvents.receive(payload));
    return {
      messageEvents,
      directCalls: new DirectWork(),
      messagePolicy: scalePauses(defaultMessagePolicy, env.ATTEMPT_TIME_SCALE),
    };
  },
  outbox: messageJob.outbox,
  gauges: (services) => [
    ...messageJob.gauges(services),
    {
      name: 'atelier_messages_asked_at_once',
      help: 'Messages whose model this process calls directly, before or while their workflow starts.',
      read: () => [{ value: services.directCalls.size }],
    },
  ],
  sweeps: messageJob.sweeps,
};
