import type { Foundation } from '../foundation.ts';
import { inBatches } from '../platform/batches.ts';
import { openWorkGauges } from '../platform/open-work.ts';
import type { Part } from '../platform/part.ts';
import type { ProviderServices } from '../providers/part.ts';
import { defaultTurnPolicy, type TurnPolicy } from '../temporal/contracts/conversation.ts';
import type { ToolServices } from '../tools/part.ts';
import { conversationLimits } from './core/limits.ts';
import { turnStates } from './core/status.ts';
import { startPendingTurn } from './create-turn.ts';
import { DirectCalls } from './direct-calls.ts';
import { ConversationEntry, ConversationTurn } from './entities.ts';
import { failPoint } from './fail-points.ts';
import { findableMessages } from './findable.ts';
import { endOverdueTurns, forgetTurns, watchStoppedTurns } from './overdue.ts';
import { TurnSigns } from './turn-signs.ts';

export interface ConversationServices {
  turnSigns: TurnSigns;
  directCalls: DirectCalls;
  turnPolicy: TurnPolicy;
}

const overdueBatchSize = 50;
const forgetBatchSize = 1_000;

/** Messages to models and agents, and their replies. */
export const conversation: Part<Foundation & ProviderServices & ToolServices, ConversationServices> = {
  name: 'conversation',
  limits: conversationLimits,
  states: { 'A message': turnStates },
  entities: [ConversationTurn, ConversationEntry],
  findable: [findableMessages],
  failPoints: failPoint.names,
  promptKinds: ['turn.start'],
  open({ database, sealer, notifications }) {
    const turnSigns = new TurnSigns(database, sealer);
    notifications.on(turnSigns.channel, (payload) => turnSigns.receive(payload));
    return { turnSigns, directCalls: new DirectCalls(), turnPolicy: defaultTurnPolicy };
  },
  outbox: (services) => ({
    'turn.start': (scope, id, hint?: Parameters<typeof startPendingTurn>[3]) =>
      startPendingTurn(services, scope, id, hint),
  }),
  gauges: ({ observer, directCalls }) => [
    ...openWorkGauges(observer, {
      name: 'messages',
      title: 'Messages to models',
      table: 'conversation_turn',
      kinds: ['chat', 'agent'],
      isOpen: `status in (${turnStates.sql('processing')})`,
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
        inBatches((limit) => endOverdueTurns(services, services.turnPolicy.deadlineMs, limit), overdueBatchSize),
    },
    {
      name: 'remove messages after a day',
      everyMs: 60_000,
      run: () => inBatches((limit) => forgetTurns(services.database, limit), forgetBatchSize),
    },
  ],
};
