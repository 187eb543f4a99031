import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../platform/database/database.ts';
import type { MessageError, MessageStatus } from './core/status.ts';

const tenant = { organizationId: p.uuid(), environment: p.string().length(4) };

/** A message of a chat, or to an agent. Each has a price and a reply of its own. */
export type MessageKind = 'chat' | 'agent';

/**
 * One message and its reply. Its texts are sealed. The row is removed when the Idempotency-Key of its request is forgotten.
 */
export const ConversationMessage = defineEntity({
  name: 'ConversationMessage',
  tableName: 'conversation_message',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    ...tenant,
    kind: p.string().length(5).$type<MessageKind>(),
    status: p.string().length(10).$type<MessageStatus>(),
    /** As the caller named it. */
    model: p.string().length(200),
    /** Whether the caller named tool servers. */
    hasTools: p.boolean(),
    /** A sealed `MessageRequest`. Forgotten when the message ends, as everything is that only its work needs. */
    request: p.text().nullable(),
    /** The sealed list of the tools that are offered to the model, once the servers have listed them. */
    tools: p.text().nullable(),
    /** Sealed: the beginning of the reply that was sent to a reader before the model was interrupted. */
    streamedText: p.text().nullable(),
    /**
     * Until this time the process that took the message asks its model, and no other process does. That process renews
     * it while it works. Null if the workflow asks from the start.
     */
    askedUntil: p.datetime().nullable(),
    /** Sealed facts that a read of the message by its id returns. Null if the message cannot be read by its id. */
    about: p.text().nullable(),
    /** A sealed `MessageReply`. */
    reply: p.text().nullable(),
    error: p.json<MessageError>().nullable(),
    /** The charged credits. */
    credits: p.smallint().nullable(),
    correlationId: p.string().length(128),
    /** The key that sent it; null where a person did. */
    keyId: p.uuid().nullable(),
    createdAt: p.datetime(),
    finishedAt: p.datetime().nullable(),
  },
  indexes: [
    { name: 'conversation_message_open_index', properties: ['createdAt'], where: `status = 'processing'` },
    {
      name: 'conversation_message_tenant_open_index',
      properties: ['organizationId', 'environment'],
      where: `status = 'processing'`,
    },
    { name: 'conversation_message_created_index', properties: ['createdAt'] },
  ],
});
export type ConversationMessage = InferEntity<typeof ConversationMessage>;

/** The parts of a message that is under way: answers of the model that ask for tools, and calls of tools. */
export const ConversationEntry = defineEntity({
  name: 'ConversationEntry',
  tableName: 'conversation_entry',
  filters: { tenant: tenantFilter },
  properties: {
    messageId: p.uuid().primary(),
    /** From 1. */
    round: p.smallint().primary(),
    /** 0: the model's answer. From 1: its calls of tools. */
    position: p.smallint().primary(),
    ...tenant,
    /** How often the call has begun: committed before each attempt. */
    attempts: p.smallint(),
    /** A sealed `RoundAnswer`, or a sealed `ToolResult` once there is one. */
    content: p.text().nullable(),
  },
});
